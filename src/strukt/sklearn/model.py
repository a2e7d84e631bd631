"""A trained chain: its labels, attributes and weights, its predictions, and its files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

from strukt.data.files import atomic_write
from strukt.data.files.digests import explained
from strukt.distributions import LinearChain
from strukt.errors import DataError
from strukt.kernels.arrays import Array
from strukt.sklearn.features import Features, of_keys
from strukt.sklearn.ftrl import Stream
from strukt.sklearn.likelihood import batches, scores
from strukt.sklearn.tokens import Rows
from strukt.train.storage import dump_json, read_json, read_tensors, write_tensors

FORMAT = 1
MODEL, WEIGHTS = "model.json", "weights.safetensors"


@dataclass
class ChainModel:
    """A trained chain.

    Attributes:
        classes: The labels, sorted.
        columns: The index of each attribute; None if tokens are vectors.
        features: The features that have a weight.
        weights: The weights, in the layout of the features.
        stream: The state of online learning.
    """

    classes: list[Any]
    columns: dict[str, int] | None
    features: Features
    weights: Array
    stream: Stream

    @property
    def names(self) -> list[str]:
        """The names of the attributes, by index; `x0`, `x1`, ... for vectors, as in scikit-learn."""
        if self.columns is not None:
            return list(self.columns)
        return [f"x{number}" for number in range(len(self.features.starts) - 1)]

    def results(self, rows: Rows, member: str) -> list[Array]:
        """Return for each sequence the `member` of its chain: the `mode` `(n,)` or the `marginals` `(n, c)`."""
        results: list[Array] = [np.empty(0)] * len(rows.lengths)
        for batch in batches(rows.tokens, rows.lengths, len(self.classes)):
            chain = LinearChain(
                *scores(batch, self.features, self.weights), batch.lengths, validate_args=False
            )
            values = getattr(chain, member).numpy()
            for number, length, value in zip(batch.sequences, batch.lengths.tolist(), values, strict=True):
                results[number] = value[:length]
        return results

    def state_features(self) -> Iterator[tuple[tuple[str, Any], float]]:
        """Yield `(attribute, label), weight` for all state features with non-zero weights."""
        names, weights = self.names, self.features.parts(self.weights)[0]
        for place in np.flatnonzero(weights):
            attribute, label = divmod(int(self.features.states[place]), self.features.classes)
            yield (names[attribute], self.classes[label]), float(weights[place])

    def transition_features(self) -> Iterator[tuple[tuple[Any, Any], float]]:
        """Yield `(first label, second label), weight` for all transitions with non-zero weights."""
        weights = self.features.parts(self.weights)[1]
        for first, second in zip(*np.nonzero(weights), strict=True):
            yield (self.classes[first], self.classes[second]), float(weights[first, second])

    def pruned(self) -> ChainModel:
        """Return the model without features of weight 0 and unused attributes; a model of vectors is unchanged."""
        if self.columns is None:
            return self
        kept = self.features._replace(used=self.weights != 0.0)
        count, states = kept.classes, kept.states[kept.parts(kept.used)[0]]
        attributes, places = np.unique(states // count, return_inverse=True)
        features = of_keys(places * count + states % count, kept.parts(kept.used)[1], len(attributes))
        names = self.names
        columns = {names[attribute]: number for number, attribute in enumerate(attributes)}
        values = [_placed(old[kept.used], features) for old in (self.weights, *self.stream)]
        return ChainModel(self.classes, columns, features, values[0], Stream(*values[1:]))

    def save(self, folder: str | PathLike[str], description: dict[str, Any]) -> None:
        """Write model.json and weights.safetensors to a folder; `description` has more entries of the JSON.

        If the folder holds a model, and a file cannot be written, that model is left unchanged.

        Raises:
            DataError: If the folder cannot be created, or a file cannot be written.
        """
        path = Path(folder)
        with explained(path, "written"):
            path.mkdir(parents=True, exist_ok=True)
        states, transitions = self.features.parts(self.features.used)
        tensors = {
            "states": self.features.states[states],
            "transitions": transitions,
            "weights": self.weights[self.features.used],
            "sums": self.stream.sums[self.features.used],
            "squares": self.stream.squares[self.features.used],
        }
        attributes = len(self.features.starts) - 1 if self.columns is None else list(self.columns)
        content = {"format": FORMAT, "classes": self.classes, "attributes": attributes}
        with atomic_write(path / MODEL) as stream:  # takes its place after the weights
            dump_json(content | description, stream, np.generic.item)  # grid searches set NumPy scalars
            stream.flush()
            write_tensors(
                path / WEIGHTS, {name: torch.from_numpy(array.copy()) for name, array in tensors.items()}
            )

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> tuple[ChainModel, dict[str, Any]]:
        """Read a model written by `save`; return it with the content of model.json.

        Raises:
            DataError: If a file is missing or damaged, or if the files do not match.
        """
        path = Path(folder)
        content, tensors = read_json(path / MODEL), read_tensors(path / WEIGHTS)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise DataError(f"is not a ChainClassifier of format {FORMAT}", path / MODEL)
        try:
            classes, attributes = list(content["classes"]), content["attributes"]
            count, columns = (
                (attributes, None)
                if isinstance(attributes, int)
                else (len(attributes), {name: number for number, name in enumerate(attributes)})
            )
            if columns is not None and len(columns) < count:
                raise ValueError("a repeated attribute")
            arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
            states, transitions = arrays["states"], arrays["transitions"]
            if (
                transitions.shape != (len(classes),) * 2
                or (np.diff(states, append=count * len(classes)) <= 0).any()
            ):
                raise ValueError(f"no weights of {len(classes)} labels and {count} attributes")
            if states.size and states[0] < 0:
                raise ValueError("a negative number of an attribute")
            features = of_keys(states, transitions, count)
            weights, *stream = (_placed(arrays[name], features) for name in ("weights", "sums", "squares"))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"does not fit {MODEL} ({error}); save the model again", path / WEIGHTS
            ) from error
        return cls(classes, columns, features, weights, Stream(*stream)), content


def _placed(values: Array, features: Features) -> Array:
    """Return an array in the layout of the features: `values` at used features, in order, and 0 elsewhere."""
    result = np.zeros(len(features.used))
    result[features.used] = values
    return result


def without_zeros(tokens: Any) -> Any:
    """Remove attributes of value 0 from sparse tokens, in place, because they add nothing to scores."""
    if isinstance(tokens, csr_array):
        tokens.eliminate_zeros()
    return tokens
