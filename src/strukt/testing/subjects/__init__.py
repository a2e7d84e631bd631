"""strukt's own structures, as subjects of the conformance suite: a new structure is entered here."""

from strukt.testing.subjects import binary, chains, constituency, dependency, matchings, spanning

STRUCTURES = (
    *chains.SUBJECTS,
    *dependency.SUBJECTS,
    *constituency.SUBJECTS,
    *binary.SUBJECTS,
    *matchings.SUBJECTS,
    *spanning.SUBJECTS,
)
