"""Names that users look for in `strukt` and `strukt.nn` in vain: the error says what to use."""

from __future__ import annotations

from importlib import import_module

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
    "SparseMAP": "the method sparsemap of every structure, and the layer strukt.nn.LatentStructure",
    "SpanningTreeCRF": "strukt.NonProjectiveTree",
    "StructDistribution": "strukt.StructuredDistribution",
    "TreeCRF": "strukt.SpanTree",
    "TreeLSTM": "strukt.nn.ChildSumTreeLSTM",
}


def missing_name(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module lacks; it tells where strukt has a class of this name.

    Examples:
        >>> print(missing_name("strukt", "CRF"))
        module 'strukt' has no attribute 'CRF'; use strukt.nn.CRF
        >>> print(missing_name("strukt.nn", "SemiMarkovCRF"))
        module 'strukt.nn' has no attribute 'SemiMarkovCRF'; use strukt.SemiMarkov
    """
    place = _CLASSES.get(name)
    if not place and name[:1].isupper():  # as of a class: others are often looked up to see if they exist
        homes = (home for home in ("strukt", "strukt.nn") if name in import_module(home).__all__)
        place = next((f"{home}.{name}" for home in homes), None)
    remedy = f"; use {place}" if place else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{remedy}", name=name)
