"""The best structure in ONNX graphs, for your own models; for those of tasks see `strukt.onnx.export`."""

from strukt.onnx.modes import mode

__all__ = ["mode"]
