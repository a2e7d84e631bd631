"""The models that are served, and the threads in which they compute."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress

from strukt.errors import StruktError
from strukt.kernels import dispatch
from strukt.serve import files
from strukt.serve.limits import Limits
from strukt.serve.messages import Answer, Answers, FileAnswer, FileQuestion, ModelCard, Question
from strukt.serve.served import QuestionError, Served, serve
from strukt.serve.workers import Deadline, LateError, OverloadError, Result, Workers
from strukt.tasks.common.model import Model

SPECIMEN = "The old man saw 3 of 4 birds .\nThey sang ."
"""What every model reads once before it is ready."""


class Service:
    """Answers questions.

    Args:
        models: The models by name, ready to predict.
        limits: How much is taken on.

    Attributes:
        models: The models.
        warm: Whether everything that is compiled on first use is compiled. Until then nothing is, for a question:
            the reference answers, slower and at once.
        workers: The threads.
    """

    def __init__(self, models: Mapping[str, Model], limits: Limits) -> None:
        self.models = {name: serve(name, model, limits.words) for name, model in models.items()}
        self.warm = False
        self._closing = False
        self.workers = Workers(limits)

    @property
    def cards(self) -> list[ModelCard]:
        """What clients are told of the models."""
        return [served.card for served in self.models.values()]

    def warm_up(self, when_ready: Callable[[], None]) -> None:
        """Answers a question to each view of each model, so that nobody waits for a compiler.

        Args:
            when_ready: What is done at the end.
        """
        for served in self.models.values():
            for view in served.card.views:
                if self._closing:
                    return
                try:
                    _warm_up(served, Question(texts=[SPECIMEN], view=view, pictures=True))
                except Exception:
                    logging.getLogger(__name__).exception(
                        "the view %s of the model %s failed", view, served.card.name
                    )
        when_ready()
        self.warm = True

    async def answer(self, served: Served, question: Question) -> Answers:
        """The answers of a model to a question.

        Raises:
            StruktError: The question cannot be answered.
            OverloadError: Too many others wait.
            LateError: It took too long.
        """
        sentences = served.sentences(question)

        def answers(deadline: Deadline) -> list[Answer]:
            found = []
            for sentence in sentences:
                deadline.check()
                found.append(served.answer(sentence, question, deadline))
            return found

        return Answers(model=served.card.name, answers=await self._computed(answers))

    async def annotate(self, served: Served, file: FileQuestion) -> FileAnswer:
        """A file with the annotation of a model.

        Raises:
            FileError: The file cannot be annotated.
            OverloadError: Too many others wait.
            LateError: It took too long.
        """
        sentences, notes = files.sentences_of(served.model, file, served.words)
        return await self._computed(
            lambda deadline: files.annotated(served.model, file, sentences, notes, deadline)
        )

    async def _computed(self, compute: Callable[[Deadline], Result]) -> Result:
        """Return what a function returns, computed by one of the threads."""
        compiled = self.warm

        def run(deadline: Deadline) -> Result:
            with nullcontext() if compiled else dispatch.uncompiled():
                return compute(deadline)

        try:
            return await self.workers.run(run)
        except LateError as error:
            if compiled:
                raise
            raise OverloadError(f"{error}; kernels are being compiled, which makes it slow") from None

    def close(self) -> None:
        """Ends the threads, and the warming up if it has not ended."""
        self._closing = True
        self.workers.close()

    def served(self, name: str | None) -> Served:
        """The model of this name; the only one if None.

        Raises:
            QuestionError: There is none, or there are several.
        """
        if name is None and len(self.models) > 1:
            raise QuestionError(f"model: there are several; name one of {', '.join(self.models)}")
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise QuestionError(f"model: there is no {name!r}; known are {', '.join(self.models)}")
        return self.models[name]


def _warm_up(served: Served, question: Question) -> None:
    with suppress(StruktError):  # it reads other things than sentences, such as lists of numbers
        for sentence in served.sentences(question):
            served.answer(sentence, question, Deadline())
