"""strukt's own structures, as subjects of the conformance suite: a new structure is entered here."""

from strukt.testing.subjects import alignments, chains, constituency, dependency

STRUCTURES = (*chains.SUBJECTS, *dependency.SUBJECTS, *constituency.SUBJECTS, *alignments.SUBJECTS)
