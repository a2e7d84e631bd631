"""Pictures of results for notebooks, which display the value of a cell."""

from __future__ import annotations

from collections.abc import Sequence

from strukt.data.sentence import Sentence
from strukt.inference.sparsemap import SparseMAP
from strukt.kernels.engine.program import Program
from strukt.viz import sentences, structures, svg
from strukt.viz.pictures import recursion
from strukt.viz.pictures.base import Picture


def svg_of(result: object) -> str | None:
    """Draw a result as a complete SVG document, for `strukt.shown.Shown`; None if its content cannot be drawn.

    Args:
        result: A picture, an annotated sentence, a program, or a result of `StructuredDistribution.sparsemap`.

    Raises:
        TypeError: If it is something else.
    """
    try:
        drawable = pictures(result)
    except ValueError:  # for example entities that cross: the notebook shows the text of a faulty sentence
        return None
    return svg.document(*drawable) if drawable else None


def pictures(result: object) -> Sequence[Picture]:
    """Return the pictures of a result that `svg_of` draws.

    Args:
        result: A picture, an annotated sentence, a program, or a result of `StructuredDistribution.sparsemap`.

    Raises:
        TypeError: If it is something else.
        ValueError: If its content cannot be drawn.

    Examples:
        >>> from strukt.data import conllu
        >>> [picture] = pictures(conllu.from_forms(["Dogs", "bark"]).annotated(head=[2, 0]))
        >>> picture.description()
        'Dogs bark. Heads: Dogs below bark, bark root.'
    """
    if isinstance(result, Picture):
        return [result]
    if isinstance(result, Sentence):
        return [sentences.picture(result)]
    if isinstance(result, SparseMAP):
        return structures.of_sparsemap(result)
    if isinstance(result, Program):
        return [recursion.of_program(result)]
    raise TypeError(
        f"result is of type {type(result).__name__}; expected a picture, a sentence, a program or a SparseMAP"
    )
