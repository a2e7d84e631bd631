"""Saved models on the Hugging Face Hub: load them, push them, and write their model cards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from typing_extensions import override

from strukt.errors import DataError, MissingExtraError
from strukt.tasks.common.model import Model
from strukt.train import saved_model
from strukt.train.hub_download import CARD, FAILURES, FILES, one_line
from strukt.train.model_card import Facts, model_card
from strukt.train.model_folder import WEIGHTS
from strukt.train.records import read_environment, read_metrics

try:
    from huggingface_hub import ModelCard, PyTorchModelHubMixin, snapshot_download
except ImportError as error:
    raise MissingExtraError("huggingface_hub", "hub") from error


class HubModel(PyTorchModelHubMixin, library_name="strukt", tags=["structured-prediction"]):
    """A model with its records and its card, which can be saved, pushed to the hub, and loaded from there.

    The files are those that `saved_model.save` writes, and the card. The methods `save_pretrained`, `push_to_hub`
    and `from_pretrained` are those of `huggingface_hub.PyTorchModelHubMixin`. In a folder that has a card already,
    `README.md`, `save_pretrained` keeps that card.

    Args:
        model: The model, with its weights.
        metrics: The scores, as `fit` returns them; none by default.
        environment: Versions and machine of the training run; those of this process by default.
        card: The text of the card; generated from the model, scores and environment by default.

    Attributes:
        model: The model, with its weights.
        metrics: The scores, as `fit` returns them; empty if there are none.
        environment: Versions and machine of the training run; empty for those of this process.
        card: The text of the card; None if it is to be generated.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag import Config
        >>> from strukt.tasks.tag.model import Tagger
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> model = HubModel(Tagger.from_corpus(Config(), [sentence]))
        >>> with TemporaryDirectory() as folder:
        ...     _ = model.save_pretrained(folder)
        ...     HubModel.from_pretrained(folder).model.task
        'tag'
    """

    def __init__(
        self,
        model: Model,
        metrics: dict[str, Any] | None = None,
        environment: dict[str, Any] | None = None,
        card: str | None = None,
    ) -> None:
        self.model = model
        self.metrics = metrics or {}
        self.environment = environment or {}
        self.card = card

    @classmethod
    def of_folder(cls, folder: str | os.PathLike[str]) -> HubModel:
        """Load a saved model from a folder.

        Args:
            folder: The folder of the model, or `hf://user/name`, as for `strukt.load`.

        Raises:
            DataError: If the folder holds no model, an unfinished or exported model, a model in a newer format, or
                a damaged file; or if the hub has no such model or cannot be reached.
            MissingExtraError: If a package that the model needs is not installed.
        """
        path = saved_model.local_folder(folder)
        card, model = path / CARD, saved_model.load(path)
        if not (path / WEIGHTS).exists():
            raise DataError("has no weights; share the model that it was exported from", path)
        return cls(
            model,
            read_metrics(path),
            read_environment(path),
            card.read_text(encoding="utf-8") if card.exists() else None,
        )

    def generate_model_card(self, name: str = "strukt model", facts: Facts | None = None) -> ModelCard:
        """Return the saved card or, if there is none, a generated one.

        Args:
            name: The title of a generated card.
            facts: Further facts for the card; if given, a saved card is ignored. None for no further facts.

        Raises:
            DataError: If a card is generated, and a file of the training data still exists, but cannot be read.
        """
        if self.card is not None and facts is None:
            return ModelCard(self.card)
        return model_card(self.model, self.metrics, self.environment, facts or Facts(), name)

    @override
    def _save_pretrained(self, save_directory: Path) -> None:
        saved_model.save(self.model, save_directory, self.metrics, environment=self.environment)

    @classmethod
    @override
    def _from_pretrained(cls, *, model_id: str, **options: Any) -> HubModel:
        folder = (
            model_id
            if os.path.isdir(model_id)
            else snapshot_download(model_id, allow_patterns=list(FILES), **options)
        )
        return cls.of_folder(folder)


def push(folder: str | os.PathLike[str], repository: str, private: bool = False) -> str:
    """Push a saved model and its card to the hub; create the repository if it does not exist.

    Args:
        folder: The folder of the model.
        repository: The repository on the hub, as `user/name`.
        private: Whether a new repository is private; an existing one stays as it is.

    Returns:
        The web address (URL) of the commit.

    Raises:
        DataError: If the folder holds no model with weights that can be loaded, or if the model cannot be pushed.
        MissingExtraError: If a package that the model needs is not installed.

    Examples:
        >>> push("parser", "user/parser", private=True)  # needs a login: hf auth login  # doctest: +SKIP
        'https://huggingface.co/user/parser/commit/...'
    """
    model = HubModel.of_folder(folder)
    facts = {"name": repository.rpartition("/")[2]}
    try:
        return str(model.push_to_hub(repository, private=private or None, model_card_kwargs=facts))
    except FAILURES as error:
        raise DataError(
            f"cannot be pushed to {repository} ({one_line(error)}); "
            "check the network, and log in with: hf auth login",
            folder,
        ) from error
