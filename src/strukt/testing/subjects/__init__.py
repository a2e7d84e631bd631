"""strukt's own structures, as subjects of the conformance suite: a new structure is entered here."""

from strukt.testing.subjects import chains, constituency, dependency, grammars

STRUCTURES = (*chains.SUBJECTS, *dependency.SUBJECTS, *constituency.SUBJECTS, *grammars.SUBJECTS)
