"""Pictures that `strukt show` draws: of a sentence, of an output step, or of the model itself."""

from __future__ import annotations

import io
import itertools
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, get_args

from strukt.cli import console, corpora
from strukt.data import brackets, text
from strukt.data.batching import warn_about_long
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
"""A function that draws pictures, from a model and the options of the command."""


def pictures(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    """Return the requested pictures.

    Raises:
        UsageError: If the model has no such pictures, or cannot read the sentence.
    """
    kind = chosen(options)
    if kind is not None and kind in INSTEAD:
        return INSTEAD[kind](model, options)
    make = _prediction if kind is None else OF_SENTENCES[kind]
    try:
        return make(model, options)
    except DataError as error:  # without its file and line, which do not exist here
        raise console.UsageError(error.message) from None


def chosen(options: Namespace) -> str | None:
    """Return the name of the option that requests a picture other than the prediction, or None.

    Raises:
        UsageError: If several pictures are requested, if a sentence is given with an option that takes none, if
            `--against` is given without `--structures`, or if the sentence has no words.
    """
    requested = [name for name in (*INSTEAD, *OF_SENTENCES) if _is_set(getattr(options, name))]
    has_words = bool(text.tokenize(" ".join(options.sentence)))
    if "against" in requested:
        if "structures" not in requested:
            raise console.UsageError(
                "--against compares structures with those of a corpus; give --structures, too"
            )
        requested.remove("structures")
    alone = bool(requested) and requested[0] in INSTEAD
    if len(requested) > 1 or (has_words and alone):
        raise console.UsageError(
            "more than one kind of picture is requested; expected one: a sentence, its --channels, --lattice or "
            "--structures, a step of its output, --ambiguous sentences, --codes, --states, or a --history"
        )
    if options.sentence and not has_words and not alone:
        raise console.UsageError(EMPTY)
    return requested[0] if requested else None


def _is_set(value: object) -> bool:
    """Return True if an option was given; a step of 0 counts as given, so that a later check rejects it."""
    return value is not None and value is not False


def _sentence(model: Model, options: Namespace) -> Sentence:
    """Return the sentence or the pair of sentences to draw; by default, the first example of the model."""
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
            'SENTENCE is a tree; give its words only, for example: strukt show MODEL "Dogs bark."'
        )
    (sentence,) = warn_about_long(reader(io.StringIO(line)))
    return sentence


def _example(model: Model) -> list[str]:
    """Return the first example that is saved with the model: a text, or the two texts of a pair."""
    if not model.examples:
        raise console.UsageError(EMPTY)
    parts = [printable(part) for part in model.examples[0]]
    console.message(f"no sentence was given; using an example of the model: {' | '.join(parts)}")
    return parts


def _prediction(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    return list(model.diagrams([_sentence(model, options)], options.probabilities))


def _step(name: str, model: Model, options: Namespace) -> Sequence[svg.Picture]:
    """Draw a step of the output; `name` is the kind of picture, one of `OF_STEPS`."""
    spanning = options.spanning or SPANNING[0]
    steps = model.step_pictures(_sentence(model, options), getattr(options, name), spanning)
    lack = f"{name} to show; models of the tasks sort, count and lm with mean-field attention do"
    return _only(steps.get(name), lack)


def _channels(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    channels = model.channels(_sentence(model, options))
    if not channels:
        raise console.UsageError("the model has no channels; models trained with --encoder.kind pt do")
    return channels


def _structures(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    return _structured(model).structures(_sentence(model, options))


def _structured(model: Model) -> StructuredModel:
    """Return the model; raise `UsageError` if it is of a kind that has no sparse distribution over structures."""
    from strukt.tasks.common.structured_model import StructuredModel

    if not isinstance(model, StructuredModel):
        raise console.UsageError(
            f"the model has no sparse distribution over structures; {StructuredModel.few_hint}"
        )
    return model


def _ambiguous(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    """Draw the structures of the most ambiguous sentences of a file."""
    structured, corpus = _structured(model), corpora.read([options.ambiguous], None, model.readers())
    return [
        replace(picture, title=f"line {sentence.line}")
        for sentence in structured.ambiguous(corpus, options.number)
        for picture in structured.structures(sentence)
    ]


def _against(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    """Draw the structures of the first sentences of a file; report the mean probability of all gold structures."""
    structured, corpus = _structured(model), corpora.read([options.against], None, model.readers())
    drawn: list[svg.Picture] = []
    weights: list[float] = []
    for sentence in corpus:
        gold_weights = structured.given_weights(sentence)
        weights += gold_weights
        if len(drawn) < options.number:
            drawn += [
                replace(picture, title=f"line {sentence.line}: the gold structure has {weight:.1%}")
                for picture, weight in zip(structured.structures(sentence), gold_weights, strict=True)
            ]
    mean, positive = sum(weights) / len(weights), sum(weight > 0 for weight in weights) / len(weights)
    console.message(
        f"{len(weights)} gold structures have an average probability of {mean:.1%}; {positive:.1%} of them have "
        "a positive probability"
    )
    return drawn


def _lattice(model: Model, options: Namespace) -> Sequence[svg.Picture]:
    return _only(model.lattice(_sentence(model, options)), "lattice of tags; models of the task tag do")


def _codes(model: Model, _: Namespace) -> Sequence[svg.Picture]:
    return _only(model.code_distances(), "codes; models trained with --criterion bits do")


def _states(model: Model, _: Namespace) -> Sequence[svg.Picture]:
    return _only(
        model.state_graph(), "hidden states; models of the task lm with --model hmm or lowrank-hmm do"
    )


def _only(picture: svg.Picture | None, lack: str) -> Sequence[svg.Picture]:
    """Return the only picture; if there is none, raise `UsageError`, which says what the model lacks."""
    if picture is None:
        raise console.UsageError(f"the model has no {lack}")
    return [picture]


def _history(_: Model, options: Namespace) -> Sequence[svg.Picture]:
    """Draw a score on the development corpus as a curve over the steps of training."""
    from strukt.train import saved_model
    from strukt.train.records import read_metrics

    history = read_metrics(saved_model.local_folder(options.model)).get("history", [])
    epochs = [epoch for epoch in history if "step" in epoch]  # models without weights have a single entry
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
"""Functions that draw pictures without a sentence, by the names of the options."""

OF_STEPS = {
    "interactions": "draw how words support and inhibit each other in a model with mean-field attention",
    "tree": "draw a spanning tree of the interactions",
    "graph": "draw the interactions together with their spanning tree",
    "sweeps": "draw the attention after each sweep of mean field",
}
"""Pictures of an output step, by the names of the options, with texts for the help."""

SPANNING: Sequence[Spanning] = get_args(Spanning)
"""Kinds of spanning trees of interactions; the first is the default."""

OF_SENTENCES: Mapping[str, Make] = {
    "channels": _channels, "lattice": _lattice, "structures": _structures,
    **{name: partial(_step, name) for name in OF_STEPS},
}  # fmt: skip
"""Functions that draw pictures of a sentence other than its prediction, by the names of the options."""
