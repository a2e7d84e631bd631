"""Pipelines: tags, dependency trees and entities, read by one encoder."""

from strukt.tasks.pipeline.config import Config

__all__ = ["Config"]
