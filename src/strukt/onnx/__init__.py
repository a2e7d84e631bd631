"""Structures in graphs of ONNX, for models of one's own; `strukt export` writes those of strukt's tasks."""

from strukt.onnx.modes import mode

__all__ = ["mode"]
