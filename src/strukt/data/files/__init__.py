"""Files of text: their lines and blocks, problems in them, and digests."""

from strukt.data.files.atomic_writing import atomic_write
from strukt.data.files.streams import LONGEST_LINE, Source, lines, name_of

__all__ = ["LONGEST_LINE", "Source", "atomic_write", "lines", "name_of"]
