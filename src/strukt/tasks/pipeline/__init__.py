"""Pipelines: tags, dependency trees and entities, from one encoder."""

from strukt.tasks.pipeline.config import Config

__all__ = ["Config"]
