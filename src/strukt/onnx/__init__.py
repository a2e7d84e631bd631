"""The best structure in ONNX graphs, for models of your own; `strukt.onnx.export` exports models of tasks."""

from strukt.onnx.modes import mode

__all__ = ["mode"]
