"""The service: the served models, and the threads in which they compute."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import partial

from strukt.data.sentence import Sentence
from strukt.errors import StruktError
from strukt.kernels import dispatch
from strukt.serve import files
from strukt.serve.layers import RequestError
from strukt.serve.limits import Limits
from strukt.serve.messages import (
    AnnotateRequest,
    AnnotateResponse,
    ModelCard,
    PredictRequest,
    PredictResponse,
    TextResult,
)
from strukt.serve.served_model import ServedModel, serve
from strukt.serve.workers import Deadline, LateError, OverloadError, Result, Workers
from strukt.tasks.common.model import Model

SPECIMEN = "The old man saw 3 of 4 birds .\nThey sang ."
"""The text that each model reads to warm up."""


class Service:
    """A service that answers requests with one or more models.

    Args:
        models: The models by name, ready to predict.
        limits: Limits on requests.

    Attributes:
        models: The served models by name.
        warm: True once all kernels are compiled. Until then, requests use the slower reference, which needs no
            compilation.
        workers: The threads that compute.
    """

    def __init__(self, models: Mapping[str, Model], limits: Limits) -> None:
        self.models = {name: serve(name, model, limits.words) for name, model in models.items()}
        self.warm = False
        self._closing = False
        self.workers = Workers(limits)

    @property
    def cards(self) -> list[ModelCard]:
        """The descriptions of the models for clients."""
        return [served.card for served in self.models.values()]

    def warm_up(self, when_ready: Callable[[], None]) -> None:
        """Compute each view of each model once, so that no request waits for a compiler.

        Failures are logged, not raised.

        Args:
            when_ready: Called at the end, unless the service is closed before.
        """
        for served in self.models.values():
            for view in served.card.views:
                if self._closing:
                    return
                try:
                    _warm_up(served, PredictRequest(texts=[SPECIMEN], view=view, pictures=True))
                except Exception:
                    logging.getLogger(__name__).exception(
                        "the view %s of the model %s failed", view, served.card.name
                    )
        when_ready()
        self.warm = True

    async def predict(self, served: ServedModel, request: PredictRequest) -> PredictResponse:
        """Predict the structures of the texts of a request with a model.

        Raises:
            StruktError: If the request has no answer.
            OverloadError: If too many other requests wait, or if there is no answer in time during the warm-up.
            LateError: If there is no answer in time after the warm-up.
        """
        sentences = served.sentences(request)

        def predicted(deadline: Deadline) -> list[TextResult]:
            results = []
            for sentence in sentences:
                deadline.check()
                results.append(served.predict(sentence, request, deadline))
            return results

        return PredictResponse(model=served.card.name, answers=await self._computed(predicted))

    async def annotate(self, served: ServedModel, file: AnnotateRequest) -> AnnotateResponse:
        """Annotate a file with a model, in batches between which the threads compute other requests.

        Raises:
            FileError: If the file cannot be read, a sentence has too many words, or the format of the file cannot
                hold the predictions.
            OverloadError: If too many other requests wait, or if a batch is not ready in time during the warm-up.
            LateError: If a batch is not ready in time after the warm-up.
        """
        sentences, notes = await self._computed(
            lambda _: files.sentences_of(served.model, file, served.words)
        )
        predicted: list[Sentence] = []
        for batch in files.batches(sentences):
            annotate = partial(files.annotated, served.model, file, batch)
            predicted += await self._computed(annotate)
        return files.response(file, predicted, notes)

    async def _computed(self, compute: Callable[[Deadline], Result]) -> Result:
        """Call a function in one of the threads, during the warm-up without compilation; return its result."""
        compiled = self.warm

        def run(deadline: Deadline) -> Result:
            with nullcontext() if compiled else dispatch.uncompiled():
                return compute(deadline)

        try:
            return await self.workers.run(run)
        except LateError as error:
            if compiled:
                raise
            raise OverloadError(f"{error}; kernels are being compiled, which slows answers down") from None

    def close(self) -> None:
        """Stop the threads, and the warm-up if it has not ended."""
        self._closing = True
        self.workers.close()

    def served(self, name: str | None) -> ServedModel:
        """Return the model with this name; if the name is None, the only model.

        Raises:
            RequestError: If there is no such model, or if the name is None and there are several models.
        """
        if name is None and len(self.models) > 1:
            raise RequestError(f"model is missing; expected one of {', '.join(self.models)}")
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise RequestError(f"model is {name!r}; expected one of {', '.join(self.models)}")
        return self.models[name]


def _warm_up(served: ServedModel, request: PredictRequest) -> None:
    """Compute the result of a request once, without a time limit."""
    with suppress(StruktError):  # the model may read inputs other than sentences, such as lists of numbers
        for sentence in served.sentences(request):
            served.predict(sentence, request, Deadline())
