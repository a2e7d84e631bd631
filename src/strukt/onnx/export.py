"""Export of models: their networks become ONNX graphs, which `strukt.train.onnx_model` loads."""

from __future__ import annotations

import contextlib
import copy
import inspect
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import nn

from strukt.data import conllu
from strukt.data.files.digests import explained
from strukt.data.sentence import Sentence
from strukt.errors import DataError, SettingError
from strukt.onnx.operators import use_operators
from strukt.tasks.common.model import Model
from strukt.tasks.common.sentence_model import SentenceModel
from strukt.train import model_folder
from strukt.train.model_folder import GRAPHS
from strukt.train.onnx_graph import named, prepared, require
from strukt.train.onnx_model import FORM_VECTORS, network_names, network_place

KINDS = ("bilstm", "lstm", "convolution", "transformer", "none", "pretrained")
"""The kinds of encoders that can be exported."""

TASKS = ("tag", "dependency", "constituency", "ner", "pipeline", "classify", "dictionary")
"""The tasks whose models can be exported."""

REFUSED = (("criterion", "bits"), ("criterion", "bits-published"), ("model", "latent-tree"))
"""Options of models that cannot be exported: they need counts of codes, or find latent trees between networks."""

EXAMPLES = (((5, 2), 9), ((8, 2, 1), 13))
"""Two example batches: the lengths of their sentences, and of their words in characters.

Axes whose sizes differ between them become dynamic.
"""

Precision = Literal["float32", "int8"]
"""The precisions of the weights of exported networks."""

ROUNDED = ["MatMul", "Gemm", "LSTM", "Gather"]
"""The ONNX operators whose matrices are rounded to eight bits; rounded convolutions would be slower."""

Networks = dict[str, tuple[Any, ...]]
"""The arguments of each network of a model in prediction, by its name: tensors, and dictionaries of tensors."""


def export(
    model: Model,
    folder: str | os.PathLike[str],
    metrics: dict[str, Any] | None = None,
    environment: dict[str, Any] | None = None,
    precision: Precision = "float32",
) -> None:
    """Save a model with ONNX graphs in place of weights, which `strukt.load` reads with onnxruntime.

    Args:
        model: A model of the task tag, dependency, constituency, ner, pipeline, classify or dictionary; it is not
            changed. Its encoder is of any kind but pt.
        folder: The output folder; created if it does not exist.
        metrics: The scores of the model; none by default.
        environment: Versions and machine of the training run; those of this process by default.
        precision: The precision of the weights. With ``int8``, matrices are rounded to 256 steps, and their inputs
            are rounded while the model runs: graphs are a quarter as large and faster on CPUs, and predictions
            change a little. They also depend a little on the batch, because its inputs are rounded together.

    Raises:
        SettingError: If the precision is unknown; or if the model cannot be exported: because of its task or its
            encoder, because it uses binary codes or latent trees, because its Transformer has relative positions,
            because PyTorch cannot export a network, or because it is itself an exported model.
        DataError: If the folder holds a model already, holds files that would be replaced, or cannot be written.
        MissingExtraError: If onnx, onnxscript or, for ``int8``, onnxruntime is not installed.

    Examples:
        >>> import os
        >>> from tempfile import TemporaryDirectory
        >>> from strukt.data import conllu
        >>> from strukt.tasks import tag
        >>> from strukt.tasks.tag.model import Tagger
        >>> from strukt.train.saved_model import load
        >>> sentence = conllu.from_forms(["Dogs", "bark"]).annotated(xpos=["NNS", "VBP"])
        >>> tagger = Tagger.from_corpus(tag.Config(), [sentence])
        >>> with TemporaryDirectory() as folder:  # takes some seconds  # doctest: +SKIP
        ...     export(tagger, folder)
        ...     print(sorted(os.listdir(folder + "/onnx")), list(load(folder).predict([sentence])))
        ['encoder.form_vectors.onnx', 'scores.onnx'] [<conllu sentence of 2 words>]
    """
    if precision not in get_args(Precision):
        raise SettingError(f"precision is {precision!r}; expected {' or '.join(get_args(Precision))}")
    exportable = _exportable(model)
    if (Path(folder) / "format.json").exists():
        raise DataError("holds a model already; choose another folder or remove it", folder)
    model_folder.require_no_others(folder)
    require("onnx", "onnxscript", *(["onnxruntime"] if precision == "int8" else []))
    networks = copy.deepcopy(exportable).cpu().float().eval()
    examples = [_calls(networks, lengths, longest) for lengths, longest in EXAMPLES]
    use_operators(networks)
    try:
        with explained(folder, "written"), model_folder.writing(model, folder, metrics, environment) as path:
            (path / GRAPHS).mkdir(exist_ok=True)
            for name in network_names(exportable):
                _write(networks, name, [calls[name] for calls in examples], path / GRAPHS)
                if precision == "int8":
                    _round(path / GRAPHS / f"{name}.onnx", ["Gather"] if name == FORM_VECTORS else ROUNDED)
    except BaseException:
        with contextlib.suppress(OSError):
            model_folder.clear(Path(folder))  # it held no such files before
        raise


class _Network(nn.Module):
    """A module whose forward pass is a method of a model, given by its dotted name."""

    def __init__(self, model: Model, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def forward(self, *arguments: Any) -> Any:
        return attrgetter(self.name)(self.model)(*arguments)


def _exportable(model: Model) -> SentenceModel:
    """Return the model itself; raise SettingError if it cannot be exported."""
    if not (isinstance(model, SentenceModel) and model.networks):
        raise SettingError(
            f"a model of the task {model.task} cannot be exported; those of {', '.join(TASKS)} can"
        )
    for option, value in REFUSED:
        if getattr(model.config, option, None) == value:
            raise SettingError(f"a model that was trained with --{option} {value} cannot be exported")
    encoder = model.config.encoder
    if encoder.kind not in KINDS:
        raise SettingError(
            f"an encoder of kind {encoder.kind} cannot be exported; "
            f"train a model with --encoder.kind {' or '.join(KINDS)}"
        )
    if encoder.kind == "transformer" and encoder.transformer.positions == "relative":
        raise SettingError(
            "a Transformer with relative positions cannot be exported; "
            "train a model with --encoder.transformer.positions absolute"
        )
    model.state_dict()  # which an exported model refuses, as it has no weights
    return model


@torch.no_grad()
def _calls(model: SentenceModel, lengths: Sequence[int], longest: int) -> Networks:
    """Record the arguments with which prediction calls each network, for words and sentences of these lengths."""
    calls: Networks = {}
    words = iter([str(number).zfill(longest) for number in range(sum(lengths))])
    sentences: list[Sentence] = [conllu.from_forms([next(words) for _ in range(n)]) for n in lengths]

    def recorded(name: str) -> Any:
        """Return a function that calls a network and keeps its arguments in `calls`."""
        network = attrgetter(name)(model)

        def call(*arguments: Any) -> Any:
            calls[name] = tuple(prepared(arguments, model.encoder.with_vectors))
            return network(*calls[name])

        return call

    for name in network_names(model):
        owner, method = network_place(model, name)
        setattr(owner, method, recorded(name))
    try:
        model.predict_batch(model.collate(sentences, with_targets=False))
    finally:
        for name in network_names(model):
            delattr(*network_place(model, name))
    return calls


def _write(model: Model, name: str, examples: Sequence[tuple[Any, ...]], folder: Path) -> None:
    """Write one network of a model as `NAME.onnx`; `examples` are its arguments for two batches.

    Raises:
        SettingError: If PyTorch cannot export the network.
    """
    signature = inspect.signature(attrgetter(name)(model))
    try:
        with _quiet():
            program = torch.onnx.export(
                _Network(model, name),
                examples[0],
                input_names=list(named(signature, examples[0])),
                dynamic_shapes=(tuple(map(_free_axes, *examples)),),
                dynamo=True,
                verbose=False,
            )
    except torch.onnx.errors.OnnxExporterError as error:  # raised for some kinds of pretrained models
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise SettingError(f"PyTorch cannot export the network {name} of this model: {reason}") from error
    assert program is not None
    _strip(program.model)
    program.save(folder / f"{name}.onnx", external_data=False)


def _strip(model: Any) -> None:
    """Remove the stack traces that PyTorch notes at every node: they hold paths of this machine."""
    from onnx_ir.traversal import RecursiveGraphIterator

    for graph in (model.graph, *model.functions.values()):
        for node in RecursiveGraphIterator(graph):
            node.metadata_props.clear()


def _round(path: Path, operators: list[str]) -> None:
    """Round the matrices of some operators of a graph file to eight bits (dynamic quantisation).

    First, onnxruntime folds all constant expressions, because only matrices that the file holds are rounded.
    """
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    kind = QuantType.QUInt8  # sums of signed products overflow on CPUs without VNNI
    with _quiet():
        quantize_dynamic(path, path, op_types_to_quantize=operators, weight_type=kind)


def _free_axes(one: Any, other: Any) -> Any:
    """Return the dynamic axes of an argument: those whose sizes differ between two examples."""
    if isinstance(one, Mapping):
        return {name: _free_axes(part, other[name]) for name, part in one.items()}
    sizes = enumerate(zip(one.shape, other.shape, strict=True))
    return {axis: torch.export.Dim.DYNAMIC for axis, (size, size_of_other) in sizes if size != size_of_other}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Return a context that silences warnings of future changes in PyTorch, and notes on unused operators."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir", None)]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
