"""Checks of arguments: shapes, types and devices, with errors that name the remedy."""

from strukt.checks.arguments.events import event as event
from strukt.checks.arguments.events import sample_shape as sample_shape
from strukt.checks.arguments.events import several as several
from strukt.checks.arguments.integer_tensors import blank as blank
from strukt.checks.arguments.integer_tensors import boolean as boolean
from strukt.checks.arguments.integer_tensors import integers as integers
from strukt.checks.arguments.integer_tensors import is_integer as is_integer
from strukt.checks.arguments.integer_tensors import lengths as lengths
from strukt.checks.arguments.integer_tensors import mask as mask
from strukt.checks.arguments.integer_tensors import positive_integer as positive_integer
from strukt.checks.arguments.score_tensors import are_ordinary as are_ordinary
from strukt.checks.arguments.score_tensors import batched as batched
from strukt.checks.arguments.score_tensors import common_dtype as common_dtype
from strukt.checks.arguments.score_tensors import not_lengths as not_lengths
from strukt.checks.arguments.score_tensors import scores as scores
from strukt.checks.arguments.score_tensors import without_extremes as without_extremes
from strukt.checks.arguments.shapes import any_of as any_of
from strukt.checks.arguments.shapes import broadcast_shapes as broadcast_shapes
from strukt.checks.arguments.shapes import fitting as fitting
