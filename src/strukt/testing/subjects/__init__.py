"""strukt's own structures, as subjects of the conformance suite: a new structure is entered here."""

from strukt.testing.subjects import chains, constituency, dependency, segmentation

STRUCTURES = (*chains.SUBJECTS, *constituency.SUBJECTS, *dependency.SUBJECTS, *segmentation.SUBJECTS)
