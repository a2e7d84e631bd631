"""Tagging schemes of spans (BIO, IOB1, BIOES, BILOU, BMES), and the column files of shared tasks that use them."""

from strukt.data.tag_schemes.bio_schemes import (
    OUTSIDE,
    SCHEMES,
    Scheme,
    converted,
    scheme_of,
    sequence_faults,
    tag_fault,
)
from strukt.data.tag_schemes.partial_sequences import partial_sequence_faults

__all__ = [
    "OUTSIDE",
    "SCHEMES",
    "Scheme",
    "converted",
    "partial_sequence_faults",
    "scheme_of",
    "sequence_faults",
    "tag_fault",
]
