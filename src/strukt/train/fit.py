"""Training of a model, from corpora to the saved model."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import logging
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from strukt.data import corpus
from strukt.data.batching import split_long, warn_about_long
from strukt.data.files.digests import digest
from strukt.data.sentence import Sentence
from strukt.errors import DataError, MissingExtraError, SettingError, StruktError
from strukt.tasks import TASKS
from strukt.tasks.common.config import TrainerConfig
from strukt.tasks.common.model import Model
from strukt.tasks.common.ranges import require_valid
from strukt.tasks.common.sentences import require_sentences
from strukt.tasks.common.unknown_labels import warn_of_unknown_labels
from strukt.train import checkpoints, saved_model
from strukt.train.default_type import float32_by_default
from strukt.train.examples import examples_of
from strukt.train.initial_model import begin_from, require_same_options
from strukt.train.memory import bound_primitive_cache, keep_freed_memory
from strukt.train.model_folder import WEIGHTS
from strukt.train.processes import Processes, training_processes
from strukt.train.records import read_metrics
from strukt.train.run_folder import RunFolder


def fit(
    task: str,
    config: Any,
    output: str | os.PathLike[str],
    resume: bool = False,
    train: Iterable[Sentence] | None = None,
    dev: Iterable[Sentence] | None = None,
    initial_model: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Train a model and save it as it was after the best epoch.

    Args:
        task: The name of the task, such as `tag`; `strukt.tasks.TASKS` lists all.
        config: The configuration of the task.
        output: The folder of the model; checkpoints and logs are written to its subfolder `training`.
        resume: Resume the interrupted run in that folder, with the same options and corpora; the result is that of
            an uninterrupted run.
        train: The training corpus, in place of the file `config.train`.
        dev: The development corpus, in place of the file `config.dev`.
        initial_model: A saved model to start from, as in `strukt.load`, with its weights and vocabularies. Options
            of `config` other than those of corpora, `trainer` and `optimizer` must be those of the model.

    Returns:
        The scores of the best epoch on the development corpus (`dev`), the training time (`minutes`), and the
        scores of all epochs (`history`); empty in processes of `torchrun` or `srun` other than the first.

    Raises:
        DataError: If a corpus, the initial model, or the checkpoint to resume from cannot be used; or if the disk
            is full.
        SettingError: If an option has an invalid value, has no effect with the other options, or differs from that
            of the initial model.
        StruktError: If the folder is in use, cannot be written, or holds a model or files that would be
            overwritten; if there is no run to resume, or it had other options or data; if a corpus is missing; if
            the initial model is of another task; or if training diverges.
        MissingExtraError: If Lightning, or a package that the model needs, is not installed.
        ValueError: If there is no such task, or the configuration is that of another task.
        SystemExit: After SIGTERM, once the step is finished, a checkpoint is written, and the handler of the
            program has returned. Without a handler, the signal itself ends the process at that point.

    Examples:
        >>> import strukt
        >>> from tempfile import TemporaryDirectory
        >>> from strukt.data import conllu
        >>> from strukt.tasks.tag.config import Config
        >>> corpus = [conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])] * 50
        >>> config = Config()
        >>> config.trainer.epochs, config.trainer.tokens, config.encoder.hidden = 2, 20, 16
        >>> with TemporaryDirectory() as folder:
        ...     metrics = fit("tag", config, folder, train=corpus, dev=corpus[:1])
        ...     [sentence] = strukt.load(folder).predict("Dogs bark")
        >>> metrics["dev"]["accuracy"], sentence.column("xpos")
        (100.0, ['NNS', 'VBP'])
    """
    _require_config(task, config)
    require_valid(config)
    if initial_model is not None:
        require_same_options(initial_model, task, config)
    if config.trainer.accelerator == "gpu" and not torch.cuda.is_available():
        raise SettingError("--trainer.accelerator is gpu, but PyTorch finds no GPU; omit the option, or give cpu")
    processes = training_processes(config.trainer.devices)
    model_class = TASKS[task].model_class()
    train_sentences = _corpus("train", config.train, train, config.readers)
    dev_sentences = _corpus("dev", config.dev, dev, config.readers)
    trainable = model_class.trainable(config, train_sentences)
    require_sentences(config, trainable)
    folder = RunFolder(Path(output))
    is_first = processes.rank == 0  # only this process claims and locks the folder
    with contextlib.ExitStack() as stack, torch.random.fork_rng(), float32_by_default():
        if is_first:
            if resume:
                folder.require_begun()
            order = {"task": task, "options": dataclasses.asdict(config), "processes": processes.count}
            data = {"sha256": _digest(trainable), "content": _content(config, dev_sentences, initial_model)}
            stack.enter_context(folder).claim(order | data, resume)
        if config.trainer.threads:
            torch.set_num_threads(config.trainer.threads)
        keep_freed_memory()
        bound_primitive_cache()
        model, usable = _begun(model_class, config, trainable, initial_model)
        for sentence in warn_about_long(dev_sentences):  # now, and not after the first epoch
            model.require_annotated(sentence)
        warn_of_unknown_labels(model, dev_sentences)
        model.examples = examples_of(model, dev_sentences)
        if any(True for _ in model.parameters()):
            _run(model, usable, dev_sentences, folder, processes)
        elif is_first:
            _count(model, usable, dev_sentences, folder)
    metrics: dict[str, Any] = read_metrics(folder.path) if is_first else {}
    return metrics


def _require_config(task: str, config: Any) -> None:
    """Raise ValueError unless there is such a task, and the configuration is one of it."""
    if task not in TASKS:
        raise ValueError(f"task is {task!r}; expected one of {', '.join(TASKS)}")
    expected = TASKS[task].config_class()
    if not isinstance(config, expected):
        raise ValueError(
            f"config is a {type(config).__module__}.{type(config).__name__}; the task {task} expects a "
            f"{expected.__module__}.{expected.__name__}"
        )


def _begun(
    model_class: type[Model],
    config: Any,
    sentences: Sequence[Sentence],
    initial_model: str | os.PathLike[str] | None,
) -> tuple[Model, Sequence[Sentence]]:
    """Load the initial model, or build one; return it with the training sentences that fit into a batch."""
    if initial_model is not None:
        model, sentences = begin_from(initial_model, config, sentences)
        return model, _usable(model, sentences)

    def built(known: Sequence[Sentence]) -> Model:
        torch.manual_seed(config.trainer.seed)
        return model_class.from_corpus(config, known)

    model = built(sentences)
    usable = _usable(model, sentences)
    return (built(usable) if len(usable) < len(sentences) else model), usable


def _usable(model: Model, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
    """Return the sentences that fit into a batch."""
    options: TrainerConfig = model.config.trainer
    usable, _ = split_long(sentences, options.tokens, model.sizes(sentences), model.unit)
    if not usable:
        raise DataError(
            f"holds no sentence of at most {options.tokens} {model.unit} (trainer.tokens) to train on",
            model.config.train or None,
        )
    return usable


def _run(
    model: Model, train: Sequence[Sentence], dev: Sequence[Sentence], folder: RunFolder, processes: Processes
) -> None:
    """Train a model with weights, or continue from its last checkpoint; save it as it was after the best epoch."""
    try:
        from lightning.pytorch import Trainer
        from lightning.pytorch.loggers import TensorBoardLogger
    except ImportError as error:
        raise MissingExtraError("lightning", "train") from error
    from strukt.train.callbacks import Checkpoints, Evaluation, FinalModel, TimeLimit, save_best
    from strukt.train.display import Display
    from strukt.train.termination import Termination
    from strukt.train.training import Training

    options: TrainerConfig = model.config.trainer
    training = Training(model, train, checkpoints.newest(folder.checkpoints))
    if training.is_finished:  # an earlier run was interrupted before it saved the model
        if processes.rank == 0:
            save_best(training, folder.path, folder.checkpoints)
        return
    termination = Termination()
    with _quiet_lightning():
        trainer = Trainer(
            accelerator=options.accelerator,
            **processes.trainer_options(),
            precision=_precision(options),
            max_epochs=-1,  # `Training` knows when it is finished
            callbacks=[
                TimeLimit(options.max_minutes),
                Evaluation(train, dev),
                termination,
                Checkpoints(folder.checkpoints, options.checkpoint_steps, termination),
                Display(),
                FinalModel(folder.path, folder.checkpoints),
            ],
            logger=TensorBoardLogger(folder.training, name="", version="log"),
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
        with termination.postponed(trainer), _full_disk_named(folder.training):
            trainer.fit(training)


@contextlib.contextmanager
def _full_disk_named(folder: Path) -> Iterator[None]:
    """Name the folder in errors about a full disk that the logger raises without the name of a file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(f"cannot be written: {error.strerror}", folder) from error
        raise


def _count(model: Model, train: Sequence[Sentence], dev: Sequence[Sentence], folder: RunFolder) -> None:
    """Train a model without weights, which learns from counts alone, and save it."""
    start = time.monotonic()
    model.calibrate(train)
    scores = model.evaluate(dev)
    minutes = round((time.monotonic() - start) / 60, 2)
    saved_model.save(model, folder.path, {"dev": scores, "minutes": minutes, "history": [scores]})


def _precision(options: TrainerConfig) -> Any:
    """Return the precision of the calculations, as Lightning names it."""
    chosen = options.precision
    if chosen == "auto":
        on_gpu = options.accelerator != "cpu" and torch.cuda.is_available()
        has_bfloat16 = torch.cuda.is_bf16_supported() if on_gpu else _cpu_has_bfloat16()
        chosen = "bf16" if has_bfloat16 else "32"
    return {"32": "32-true", "bf16": "bf16-mixed", "16": "16-mixed"}[chosen]


def _cpu_has_bfloat16() -> bool:
    """Return True if the processor has bfloat16 arithmetic; emulating it is slower than float32."""
    is_supported = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return is_supported is not None and bool(is_supported())


def _corpus(
    name: str, path: str, sentences: Iterable[Sentence] | None, readers: corpus.Readers
) -> list[Sentence]:
    """Return the sentences, or if None, those of the file; `name` is that of the option for the file."""
    if sentences is None and not path:
        raise StruktError(f"--{name} is missing; give a corpus, --{name} FILE")
    loaded = list(corpus.read_annotated(path, readers=readers) if sentences is None else sentences)
    if not loaded:
        raise DataError("holds no sentence", path or None)
    return loaded


def _digest(sentences: Sequence[Sentence]) -> str:
    """Return the SHA-256 sum of the text of sentences, in hexadecimal digits."""
    state = hashlib.sha256()
    for sentence in sentences:
        state.update(str(sentence).encode())
    return state.hexdigest()


def _content(config: Any, dev: Sequence[Sentence], initial_model: str | os.PathLike[str] | None) -> dict[str, str]:
    """Return digests of what a run reads besides the training corpus, by descriptions for messages."""
    files = {f"file of --{name}": getattr(config, name) for name in config.files}
    if initial_model is not None:
        files["model of --initial_model"] = saved_model.local_folder(initial_model) / WEIGHTS
    return {"development corpus": _digest(dev)} | {
        name: digest(path).sha256 for name, path in files.items() if path
    }


@contextlib.contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Silence Lightning's notes on unused accelerators, its hints, and advice that does not fit our batches."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning")
            yield
    finally:
        logger.setLevel(level)
