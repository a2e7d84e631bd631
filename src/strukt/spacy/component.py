"""The spaCy component, which runs a saved model in a pipeline."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import srsly
import torch
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from typing_extensions import Self

from strukt.errors import DataError, SettingError
from strukt.spacy import attributes, model_files
from strukt.spacy.analysis import (
    Supported,
    analyses,
    empty_analysis,
    has_entities,
    labels_of,
    require_supported,
    tag_attribute,
)
from strukt.spacy.k_best import empty_best, k_best
from strukt.spacy.prediction import SentencePrediction, joined
from strukt.spacy.scores import scores
from strukt.spacy.tokens import sentence_tokens
from strukt.tasks.constituency.model import ConstituencyParser
from strukt.tasks.pipeline.model import Pipeline
from strukt.train.model_folder import HUB
from strukt.train.saved_model import load


class StruktComponent(Pipe):
    """A component of spaCy pipelines that sets the predictions of a saved model on each `Doc`.

    - Task `tag`: ``token.tag_``, or ``token.pos_`` if the model learned the column upos; if tags such as `B-PER`
      mark entities, ``doc.ents`` and the same spans in ``doc.spans[name]`` instead.
    - Task `dependency`: ``token.head`` and ``token.dep_``, and with them ``doc.sents``.
    - Task `ner`: ``doc.ents``, and all entities, nested ones too, in ``doc.spans[name]``.
    - Task `constituency`: constituents in ``doc.spans[name]``, ``token.tag_``, and trees as text.
    - Task `pipeline`: the same as the tasks of its components.

    The model reads each sentence of a `Doc` on its own, without tokens of white space; a `Doc` without sentence
    boundaries is one sentence. Further results are in the dictionary ``doc._.strukt[name]``:

    - ``probabilities``: of the tag or arc of each token, None for white space; not for `ner` and `constituency`.
      ``label_probabilities``: of the label of each arc, given its head; ``tag_probabilities``: of the tags, for a
      pipeline that also predicts arcs; ``span_probabilities``: of each span in ``doc.spans[name]``, but not for
      the task `tag`.
    - ``best``: for each sentence, a list of at most k structures, the best first. A structure is a dictionary with
      ``probability`` and, depending on the task, ``tags``, ``heads`` and ``deps``, or ``spans``. Heads are indices
      in the `Doc`; a span is a list of its first token, the token after its last, and its label. For a model of
      the task `pipeline`, each sentence has a dictionary of such lists: those of ``tag``, ``dependency`` and
      ``ner`` that the model predicts.
    - ``trees``: for each sentence, its constituency tree in brackets.

    Args:
        name: Name of the component in the pipeline.
        model: The folder of a saved model, or `hf://user/name` on the Hugging Face Hub. A folder is loaded at
            once. A model on the hub, or whose folder is missing, is only loaded when it is needed, because a saved
            pipeline brings its own copy.
        probabilities: Whether to compute probabilities.
        k: Maximum number of best structures to store; 0 for none. Structures that are equal in spaCy are merged.

    Raises:
        SettingError: If k is negative, or the model is for a task that is not listed above.
        DataError: If the folder contains no model, or a damaged one.
        MissingExtraError: If a package that the model needs is not installed.

    Examples:
        >>> import spacy
        >>> from tempfile import TemporaryDirectory
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> from strukt.train.saved_model import save
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> nlp = spacy.blank("en")
        >>> with TemporaryDirectory() as folder:
        ...     save(Tagger.from_corpus(Config(), [sentence]), folder)
        ...     tagger = nlp.add_pipe("strukt", name="tagger", config={"model": folder, "probabilities": True})
        >>> doc = nlp("Dogs bark")
        >>> doc[0].tag_ in tagger.labels, list(doc._.strukt), list(doc._.strukt["tagger"])
        (True, ['tagger'], ['probabilities'])
    """

    def __init__(self, name: str, model: str, probabilities: bool = False, k: int = 0) -> None:
        if k < 0:
            raise SettingError(f"k is {k}; expected 0 or more")
        self.name = name
        self.folder = model
        self.probabilities = probabilities
        self.k = k
        self._model: Supported | None = None
        self._process = os.getpid()
        if os.path.isdir(model):
            self._load(model)

    @property
    def model(self) -> Supported:
        """The model, a PyTorch module; ``component.model.to("cuda")`` moves it to a GPU.

        Raises:
            AttributeError: If it is not loaded yet: a model on the hub is loaded with the first document.
        """
        if self._model is None:  # spaCy asks for attributes of a component before `from_disk` brings the model
            raise AttributeError(
                f"the model of {self.folder!r} is loaded with the first document; annotate one first"
            )
        return self._model

    @property
    def labels(self) -> tuple[str, ...]:
        """The tags, relations or labels of spans that the model may predict; empty before it is loaded.

        They are spelled as in the training corpus: the relation `root` becomes `ROOT` in a `Doc`. For the task
        `constituency`, they are the labels of spans, without the tags.
        """
        return () if self._model is None else labels_of(self._model)

    def __call__(self, doc: Doc) -> Doc:
        """Annotate a document in place, and return it.

        Raises:
            DataError: If the model is loaded only now, and the folder holds no model, or the hub has none.
            SettingError: If the model is loaded only now, and its task is not supported.
            MissingExtraError: If a package that the model needs is not installed.
            ScoresError: If the scores of the model cannot be used, because they are NaN for example.
        """
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents in place, and yield them in order.

        Args:
            stream: Any number of documents.
            batch_size: Number of documents read ahead; their sentences form batches of similar length, as large as
                `trainer.tokens` of the model allows.

        Errors go to the error handler of the component, which raises them by default; see `__call__`.
        """
        handle = self.get_error_handler()
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            try:
                self._annotate(docs)
                yield from docs
            except Exception as error:
                handle(self.name, self, docs, error)

    def score(self, examples: Iterable[Example], **_: Any) -> dict[str, Any]:
        """Return the scores of annotated documents; ``nlp.evaluate`` and ``spacy evaluate`` call this.

        Args:
            examples: Documents with predicted and gold annotation.

        Returns:
            ``tag_acc`` or ``pos_acc``, ``dep_uas`` and ``dep_las``, ``ents_f`` and others, as spaCy's components
            return them: shares, not per cent.
        """
        return scores(self._loaded(), examples, self.name)

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:  # noqa: ARG002
        """Copy the files of the model into a folder; ``nlp.to_disk`` calls this.

        Args:
            path: The folder; created if it does not exist.
            exclude: Ignored.

        Raises:
            DataError: If the folder of the model is gone, or a file cannot be written.
        """
        model_files.copy(self._files(), Path(path))

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> Self:  # noqa: ARG002
        """Load the model from a folder that `to_disk` wrote.

        Args:
            path: The folder with the copied model.
            exclude: Ignored.

        Returns:
            The component itself.

        Raises:
            DataError: If a file is missing or damaged.
            SettingError: If the task of the model is not supported.
            MissingExtraError: If a package that the model needs is not installed.
        """
        self._load(os.fspath(path))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:  # noqa: ARG002
        """Pack the files of the model into bytes; ``nlp.to_bytes`` calls this.

        Args:
            exclude: Ignored.

        Raises:
            DataError: If the folder of the model is gone.
        """
        packed: bytes = srsly.msgpack_dumps(model_files.read(self._files()))
        return packed

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:  # noqa: ARG002
        """Load the model from bytes, through a temporary folder that lasts as long as the component.

        Args:
            data: The bytes that `to_bytes` returned.
            exclude: Ignored.

        Returns:
            The component itself.

        Raises:
            DataError: If the bytes are damaged, or a file is missing, damaged, or not a file of a model.
            SettingError: If the task of the model is not supported.
            MissingExtraError: If a package that the model needs is not installed.
        """
        try:
            files = srsly.msgpack_loads(data)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the bytes cannot be unpacked ({error}); expected the result of to_bytes") from error
        folder = tempfile.mkdtemp(prefix="strukt-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        model_files.write(files, Path(folder))
        self._load(folder)
        return self

    def _files(self) -> Path:
        """Return the folder of the model, fetching it from the hub if necessary."""
        self._loaded()
        return Path(self.folder)

    def _loaded(self) -> Supported:
        """Return the model, loading it if necessary."""
        if self._model is None:
            self._load(self.folder)
        assert self._model is not None
        return self._model

    def _load(self, folder: str) -> None:
        if folder.startswith(HUB):
            from strukt.train.hub_download import download

            folder = download(folder)
        self._model, self.folder = require_supported(load(folder)), folder

    def _annotate(self, docs: Sequence[Doc]) -> None:
        """Set the predictions of the model on documents, in place."""
        if os.getpid() != self._process:
            torch.set_num_threads(1)  # a forked worker has none of the threads that OpenMP would wait for
        model = self._loaded()
        attribute, are_entities = tag_attribute(model), has_entities(model)
        for doc, predictions in zip(docs, self._predictions(docs), strict=True):
            structure = joined([prediction.structure(attribute) for prediction in predictions])
            attributes.write(doc, self.name, structure, attribute, are_entities)
            details: dict[str, Any] = {}
            if self.probabilities:
                details |= joined([prediction.probabilities() for prediction in predictions])
            if isinstance(model, ConstituencyParser):
                details["trees"] = [prediction.analysis.bracketed for prediction in predictions]
            if self.k:
                ranked = [prediction.ranked(attribute) for prediction in predictions]
                details["best"] = (
                    ranked if isinstance(model, Pipeline) else [best[model.task] for best in ranked]
                )
            if details:
                doc._.strukt[self.name] = details

    def _predictions(self, docs: Sequence[Doc]) -> Iterator[list[SentencePrediction]]:
        """Yield the predictions for the sentences of each document, which has at least one, in order."""
        model, of_docs = self._loaded(), [sentence_tokens(doc) for doc in docs]
        read = [
            tokens.sentence(doc)
            for doc, sentences in zip(docs, of_docs, strict=True)
            for tokens in sentences
            if tokens.words
        ]
        predicted = iter(analyses(model, read, self.probabilities))
        empty, no_best = empty_analysis(model), empty_best(model)
        best = iter(k_best(model, read, self.k) if self.k else [no_best] * len(read))
        for sentences in of_docs:
            yield [
                SentencePrediction(tokens, next(predicted), next(best))
                if tokens.words
                else SentencePrediction(tokens, empty, no_best)
                for tokens in sentences
            ]
