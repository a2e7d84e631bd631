"""Which picture of a model `strukt show` draws: of a sentence, of a step of its output, of the model itself."""

from __future__ import annotations

import io
import itertools
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from strukt.cli import console, corpora
from strukt.data import brackets, text
from strukt.data.batching import warned_of_long
from strukt.data.classes import pairs
from strukt.data.sentence import Sentence
from strukt.errors import DataError
from strukt.viz import Curves, svg
from strukt.viz.canvas.width import printable
from strukt.viz.pictures.interactions import Spanning

if TYPE_CHECKING:
    from strukt.tasks.common.model import Model
    from strukt.tasks.common.structured_model import StructuredModel

EMPTY = 'the sentence is empty; give one, for example: strukt show MODEL "Dogs bark."'

Make = Callable[["Model", Namespace], Sequence[svg.Picture]]


def pictures(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    """The pictures that were asked for.

    Raises:
        UsageError: The model has no such pictures, or the sentence is not what it reads.
    """
    kind = chosen(options)
    if kind is not None and kind in INSTEAD:
        return INSTEAD[kind](model, options)
    make = _prediction if kind is None else OF_SENTENCES[kind]
    try:
        return make(model, options)
    except DataError as error:  # which names a file and a line, where there are none
        raise console.UsageError(error.message) from None


def chosen(options: Namespace) -> str | None:
    """The option that asks for something else than the prediction, if one does.

    Raises:
        UsageError: Several do, one that goes with no sentence has one, or the sentence has no words.
    """
    asked = [name for name in (*INSTEAD, *OF_SENTENCES) if _is_given(getattr(options, name))]
    has_words = bool(text.tokenize(" ".join(options.sentence)))
    if "against" in asked:
        if "structures" not in asked:
            raise console.UsageError(
                "--against compares structures with those of a corpus; give --structures, too"
            )
        asked.remove("structures")
    alone = bool(asked) and asked[0] in INSTEAD
    if len(asked) > 1 or (has_words and alone):
        raise console.UsageError(
            "there is one kind of picture at a time: of a sentence, of its --channels, --lattice or --structures, "
            "of a step of its output, of --ambiguous sentences, of --codes, --states, or the --history of a score"
        )
    if options.sentence and not has_words and not alone:
        raise console.UsageError(EMPTY)
    return asked[0] if asked else None


def _is_given(value: object) -> bool:
    """Whether an option was; a step of 0 is, though it is wrong."""
    return value is not None and value is not False


def _sentence(model: Model, options: Namespace) -> Sentence:
    if not options.sentence:
        options.sentence = _example(model)
    reader = model.readers()["text"]
    parts = [" ".join(text.tokenize(part)) for part in options.sentence]
    if reader is pairs.read and len(parts) != 2:
        raise console.UsageError(
            "the model compares two sentences; give each in quotes, for example: strukt show MODEL "
            '"Dogs bark." "Animals make noise."'
        )
    line = ("\t" if reader is pairs.read else " ").join(parts)
    if reader is brackets.read_text and brackets.is_tree(line):
        raise console.UsageError(
            'SENTENCE is a tree; give its words alone, for example: strukt show MODEL "Dogs bark."'
        )
    (sentence,) = warned_of_long(reader(io.StringIO(line)))
    return sentence


def _example(model: Model) -> list[str]:
    """The first input that the model carries."""
    if not model.examples:
        raise console.UsageError(EMPTY)
    parts = [printable(part) for part in model.examples[0]]
    console.message(f"no sentence was given; the model carries this one: {' | '.join(parts)}")
    return parts


def _prediction(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    return list(model.diagrams([_sentence(model, options)], options.probabilities))


def _step(name: str, model: Model, options: Namespace) -> Sequence[svg.Picture]:
    spanning = options.spanning or SPANNING[0]
    found = model.step_pictures(_sentence(model, options), getattr(options, name), spanning)
    if name not in found:
        raise console.UsageError(
            f"the model has no {name} to show; one with mean-field attention has, of the tasks sort, count and lm"
        )
    return [found[name]]


def _channels(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    channels = model.channels(_sentence(model, options))
    if not channels:
        raise console.UsageError("the model has no channels; one that is trained with --encoder.kind pt has")
    return channels


def _structures(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    return _structured(model).structures(_sentence(model, options))


def _structured(model: Model) -> StructuredModel:
    from strukt.tasks.common.structured_model import StructuredModel

    if not isinstance(model, StructuredModel):
        raise console.UsageError(
            f"the model has no few weighted structures; {StructuredModel.few_are_had_by}"
        )
    return model


def _ambiguous(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    """The structures of the sentences of a file whose weights are most even."""
    structured, corpus = _structured(model), corpora.read([options.ambiguous], None, model.readers())
    return [
        replace(picture, title=f"line {sentence.line}")
        for sentence in structured.ambiguous(corpus, options.number)
        for picture in structured.structures(sentence)
    ]


def _against(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    """The structures of the first sentences of a file, and how probable those are that the file gives."""
    structured, corpus = _structured(model), corpora.read([options.against], None, model.readers())
    drawn: list[svg.Picture] = []
    weights: list[float] = []
    for sentence in corpus:
        found = structured.given_weights(sentence)
        weights += found
        if len(drawn) < options.number:
            drawn += [
                replace(picture, title=f"line {sentence.line}: the given structure has {weight:.1%}")
                for picture, weight in zip(structured.structures(sentence), found, strict=True)
            ]
    mean, read = sum(weights) / len(weights), sum(weight > 0 for weight in weights) / len(weights)
    console.message(
        f"{len(weights)} given structures have a probability of {mean:.1%} on average; {read:.1%} of them have "
        "one above 0"
    )
    return drawn


def _lattice(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    lattice = model.lattice(_sentence(model, options))
    if lattice is None:
        raise console.UsageError("the model has no lattice of tags; one of the task tag has")
    return [lattice]


def _codes(model: Model, _: Namespace) -> Sequence[svg.Picture]:
    distances = model.code_distances()
    if distances is None:
        raise console.UsageError("the model has no codes; one that is trained with --criterion bits has")
    return [distances]


def _states(model: Model, _: Namespace) -> Sequence[svg.Picture]:
    graph = model.state_graph()
    if graph is None:
        raise console.UsageError(
            "the model has no hidden states; --model hmm or lowrank-hmm of the task lm has"
        )
    return [graph]


def _history(_: Model, options: Namespace) -> Sequence[svg.Picture]:
    """A score on the development corpus as training went on."""
    from strukt.train.records import read_metrics

    history = read_metrics(Path(options.model)).get("history", [])
    epochs = [epoch for epoch in history if "step" in epoch]  # models without weights are counted in one go
    known = [name for name in dict.fromkeys(itertools.chain(*epochs)) if name not in ("epoch", "step")]
    if options.history not in known:
        has = f"it has {', '.join(known)}" if known else "it was not trained in steps on a development corpus"
        raise console.UsageError(f"the training of the model has no score {options.history!r}; {has}")
    measured = [epoch for epoch in epochs if options.history in epoch]
    values = [epoch[options.history] for epoch in measured]
    steps = [str(epoch["step"]) for epoch in measured]
    return [Curves(f"{options.history} by step of training", steps, {options.history: values})]


INSTEAD: Mapping[str, Make] = {
    "against": _against, "codes": _codes, "states": _states, "ambiguous": _ambiguous, "history": _history,
}  # fmt: skip
"""What is shown in place of a sentence, by the names of the options."""

OF_STEPS = {
    "interactions": "of a model with mean-field attention, how words speak for and against each other",
    "tree": "a spanning tree of their interactions",
    "graph": "both in one, the tree among the interactions",
    "sweeps": "the attention after each sweep of mean field",
}
"""What is shown of one step of the output, by the names of the options."""

SPANNING: Sequence[Spanning] = get_args(Spanning)
"""Spanning trees of interactions, the first of which is drawn if none is named."""

OF_SENTENCES: Mapping[str, Make] = {
    "channels": _channels, "lattice": _lattice, "structures": _structures,
    **{name: partial(_step, name) for name in OF_STEPS},
}  # fmt: skip
"""What is shown of a sentence in place of the prediction, by the names of the options."""
