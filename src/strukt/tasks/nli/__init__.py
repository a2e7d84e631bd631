"""Natural language inference: whether a premise entails a hypothesis, contradicts it, or does neither."""

from strukt.tasks.nli.config import Config

__all__ = ["Config"]
