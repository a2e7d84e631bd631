"""What a process says on standard error, but for the line that it may say where the cache of kernels is cold."""

from strukt.kernels.compiling import KEPT, NOT_KEPT


def without_notice(said: str | bytes) -> str:
    text = said.decode() if isinstance(said, bytes) else said
    return "".join(line for line in text.splitlines(True) if line.strip() not in (KEPT, NOT_KEPT))
