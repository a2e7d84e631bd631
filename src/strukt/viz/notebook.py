"""What notebooks draw where a result is the value of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from strukt.data.sentence import Sentence
from strukt.inference.sparsemap import SparseMAP
from strukt.kernels.engine.program import Program
from strukt.viz import sentences, structures, svg
from strukt.viz.pictures import recursion


def svg_of(result: object) -> str | None:
    """The pictures of a result as a file by itself, for `strukt.shown.Shown`; None if there is none.

    Args:
        result: A picture, an annotated sentence, a program, or what `StructuredDistribution.sparsemap` gave.
    """
    try:
        found = pictures(result)
    except ValueError:  # such as entities that cross: a sentence that is wrong is shown as its text
        return None
    return svg.document(*found) if found else None


def pictures(result: object) -> Sequence[svg.Picture]:
    """The pictures of a result, as `svg_of` has them.

    Raises:
        TypeError: There is no drawing of such a thing.
        ValueError: What is in it cannot be drawn.

    Examples:
        >>> from strukt.data import conllu
        >>> [picture] = pictures(conllu.from_forms(["Dogs", "bark"]).annotated(head=[2, 0]))
        >>> picture.description()
        'Dogs bark. Heads: Dogs below bark, bark root.'
    """
    if isinstance(result, get_args(svg.Picture)):
        return [result]
    if isinstance(result, Sentence):
        return [sentences.picture(result)]
    if isinstance(result, SparseMAP):
        return structures.of_sparsemap(result)
    if isinstance(result, Program):
        return [recursion.of_program(result)]
    raise TypeError(
        f"result: got a {type(result).__name__}, expected a picture, a sentence, a program or a SparseMAP"
    )
