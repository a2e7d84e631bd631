"""Names that other libraries use for members of distributions: the error for each gives the name in strukt."""

from __future__ import annotations

from typing import Any

_STRUCTURES = {
    "argmax": "mode",
    "argmax_and_max": "mode, and max_score",
    "best": "mode",
    "count": "log_count",
    "decode": "mode",
    "differentiable_sample": "rsample_relaxed(temperature), or rsample_implicit(step)",
    "from_event": "to_parts(event), and to_event is from_parts(parts)",
    "gumbel_crf": "rsample_relaxed(temperature)",
    "kbest": "topk(k)",
    "kl": "torch.distributions.kl_divergence(p, q)",
    "kl_divergence": "torch.distributions.kl_divergence(p, q)",
    "kmax": "topk(k)",
    "log_likelihood": "log_prob(event)",
    "log_marginals": "marginals.log()",
    "log_partition_function": "log_partition",
    "log_prob_labels": "score(event)",
    "log_probs": "log_prob(event), and topk(k).log_probs",
    "logZ": "log_partition",
    "map": "mode",
    "max": "max_score",
    "nbest": "topk(k)",
    "neg_log_likelihood": "-log_prob(event)",
    "partition": "log_partition",
    "partition_function": "log_partition",
    "sample_k": "sample((k,))",
    "to_event": "from_parts(parts), and from_event is to_parts(event)",
    "top_k": "topk(k)",
    "unnormalized_log_prob": "score(event)",
    "unnormalized_log_probs": "score(event)",
    "viterbi": "mode",
    "viterbi_decode": "mode",
    "viterbi_tags": "mode",
}
"""The names in torch-struct, SynJax, supar, pytorch-crf, AllenNLP and similar libraries."""

_HMMS = {
    "argmax": "viterbi(x), or posterior(x).mode",
    "decode": "viterbi(x), or posterior(x).mode",
    "fit_em": "fit(x)",
    "log_likelihood": "log_prob(x)",
    "log_partition": "log_prob(x)",
    "marginals": "smooth(x), or posterior(x).marginals",
    "mode": "viterbi(x), or posterior(x).mode",
    "partition": "log_prob(x)",
    "predict_proba": "smooth(x)",
    "rsample": "sample(sample_shape, n), whose words have no gradient, or posterior(x).rsample_relaxed for states",
    "score": "log_prob(x)",
    "smoother": "smooth(x)",
    "topk": "posterior(x).topk(k)",
    "viterbi_decode": "viterbi(x)",
}
"""The names in libraries of hidden Markov models, and names of members of structures."""


_FACTOR_GRAPHS = {
    "decode": "lp_map(scores, exact=True).marginals",
    "fit": "lp_sparsemap(scores)",
    "log_partition": "enumerate(scores).log_partition, or an estimate: belief_propagation(scores)",
    "map": "lp_map(scores, exact=True).marginals",
    "marginals": (
        "lp_sparsemap(scores).marginals, belief_propagation(scores).marginals or mean_field(scores).marginals"
    ),
    "mode": "lp_map(scores, exact=True).marginals",
    "solve": "lp_sparsemap(scores)",
    "solve_map": "lp_map(scores)",
    "solve_qp": "lp_sparsemap(scores)",
    "variable_from": "variables(*scores.shape), and the scores are given to lp_sparsemap",
}
"""The names in lp-sparsemap and AD3, and names of members of structures; a graph's solvers take the scores."""


class _PeerNames:
    """A mix-in that translates names of other libraries in the error for a missing attribute.

    Python calls ``__getattr__`` only for missing attributes, so that others cost nothing.
    """

    _ours: dict[str, str]
    """For each name of another library, the name in strukt."""

    def __getattr__(self, name: str) -> Any:
        kind = type(self)
        if name in kind._ours:
            raise AttributeError(
                f"{kind.__name__} has no attribute {name!r}; in strukt, use {kind._ours[name]}",
                name=name,
                obj=self,
            )
        return super().__getattribute__(name)  # raises the original error, also one from a property of this name


class StructurePeerNames(_PeerNames):
    """A mix-in whose errors translate the names that other libraries of structures use."""

    _ours = _STRUCTURES


class HMMPeerNames(_PeerNames):
    """A mix-in whose errors translate the names that libraries of hidden Markov models use."""

    _ours = _HMMS


class FactorGraphPeerNames(_PeerNames):
    """A mix-in whose errors translate the names that libraries of factor graphs use."""

    _ours = _FACTOR_GRAPHS
