"""Errors for names that `strukt` and `strukt.nn` lack: they say what to use instead."""

from __future__ import annotations

import strukt

_LAYERS = (
    "BiLSTM",
    "Biaffine",
    "CRF",
    "CompoundPCFG",
    "Entmax",
    "Entmax15",
    "KneserNey",
    "LatentStructure",
    "MeanFieldAttention",
    "MeanFieldEncoder",
    "NeuralHMM",
    "NeuralPCFG",
    "ProbabilisticTransformer",
    "Sparsemax",
    "StructuredAttention",
    "Transformer",
    "TreeGCN",
)
"""Layers of `strukt.nn`, listed so that looking up a missing name, as `hasattr` does, does not load PyTorch."""

_PACKAGES_WITH_EXTRAS = ("hf", "onnx", "scale", "serve", "sklearn", "spacy")
"""Packages that are not imported with `strukt`, as they need an extra."""

_CLASSES = {
    "Alignment": "strukt.MonotoneAlignment",
    "AlignmentCRF": "strukt.MonotoneAlignment",
    "BiLexicalizedConstituencyCRF": "strukt.LexicalisedTree",
    "ConditionalRandomField": "strukt.nn.CRF",
    "ConstituencyCRF": "strukt.SpanTree",
    "ConstituencyTree": "strukt.SpanTree",
    "Dependency2oCRF": "strukt.SecondOrderTree",
    "DependencyCRF": "strukt.ProjectiveTree",
    "DependencyTree": "strukt.ProjectiveTree or strukt.NonProjectiveTree",
    "LinearChainCRF": "strukt.LinearChain, or the layer strukt.nn.CRF",
    "MatrixTree": "strukt.NonProjectiveTree",
    "NonProjectiveDependencyCRF": "strukt.NonProjectiveTree",
    "SemiCRF": "strukt.SemiMarkov",
    "SemiMarkovCRF": "strukt.SemiMarkov",
    "SentCFG": "strukt.PCFG",
    "SparseMAP": "the method sparsemap of a structure, or the layer strukt.nn.LatentStructure",
    "SpanningTreeCRF": "strukt.NonProjectiveTree",
    "StructDistribution": "strukt.StructuredDistribution",
    "TreeCRF": "strukt.SpanTree",
    "TreeLSTM": "strukt.nn.ChildSumTreeLSTM",
}
"""Names that strukt lacks, most of them of classes in other libraries, and what to use instead."""


def missing_name(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module lacks; it says what to use instead, if that is known.

    Args:
        module: The module, such as `strukt.nn`.
        name: The name.

    Examples:
        >>> print(missing_name("strukt", "CRF"))
        module 'strukt' has no attribute 'CRF'; use strukt.nn.CRF
        >>> print(missing_name("strukt.nn", "SemiMarkovCRF"))
        module 'strukt.nn' has no attribute 'SemiMarkovCRF'; use strukt.SemiMarkov
    """
    place = _CLASSES.get(name)
    if name in strukt.__all__:
        place = f"strukt.{name}"
    elif name in _LAYERS:
        place = f"strukt.nn.{name}"
    remedy = f"; use {place}" if place else ""
    if module == "strukt" and name in _PACKAGES_WITH_EXTRAS:
        remedy = f"; write `import strukt.{name}` first"
    return AttributeError(f"module {module!r} has no attribute {name!r}{remedy}", name=name)
