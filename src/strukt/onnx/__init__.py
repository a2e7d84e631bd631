"""The best structure in ONNX graphs, for your own models; `strukt export` exports the models of tasks."""

from strukt.onnx.modes import mode

__all__ = ["mode"]
