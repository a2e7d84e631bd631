"""strukt's structures as subjects of the conformance suite; register new structures here."""

from strukt.testing.subjects import (
    alignments,
    binary,
    chains,
    constituency,
    dependency,
    grammars,
    matchings,
    segmentation,
    spanning,
    subsets,
    tables,
)

STRUCTURES = (
    *alignments.SUBJECTS,
    *binary.SUBJECTS,
    *chains.SUBJECTS,
    *constituency.SUBJECTS,
    *dependency.SUBJECTS,
    *grammars.SUBJECTS,
    *matchings.SUBJECTS,
    *segmentation.SUBJECTS,
    *spanning.SUBJECTS,
    *subsets.SUBJECTS,
    *tables.SUBJECTS,
)
