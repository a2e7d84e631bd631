"""Bugs of sparse inference: SparseMAP, mappings of vectors, factor graphs."""

from __future__ import annotations

from tests.mutations.mutation import GRAPHS, SPARSE, VECTORS, mutations

OPTIMA = mutations(
    {
        SPARSE: {
            "kernels/sparsemap/active_set": [
                ("state.main[i] - state.point[i]", "state.main[i] + state.point[i]"),
                ("shift = (1.0 - best", "shift = (0.9 - best"),
            ],
            "kernels/sparsemap/factor": [
                ("row[j] = common + 1.0", "row[j] = common + 1.1"),
                ("factor[row, i + 1] = cosine * y - sine * x", "factor[row, i + 1] = cosine * y"),
            ],
            "kernels/sparsemap/products": [
                ("inverse - ones.unsqueeze(-1)", "inverse + ones.unsqueeze(-1)"),
            ],
            "kernels/sparsemap/completion": [
                (
                    "    _set_query(state, ABOVE, max_calls)\n\n\n",
                    "    state.counters[PHASE] = CONVERGED\n\n\n",
                ),
            ],
            "structures/matching/cpu_hungarian": [
                ("- prices.rows[owner]", ""),
            ],
        },
        VECTORS: {
            "kernels/sparsemax_entmax/cpu": [
                ("following = s + _excess(total, scale) / slope", "following = s + total / slope"),
                ("values[kept], places[kept] = value, place", "values[kept] = value"),
                ("if scale <= 1.0:", "if scale <= 9.0:"),
            ],
            "kernels/sparsemax_entmax/cpu_backward": [
                ("difference(difference(move, shift), mean)", "difference(move, shift)"),
                ("pieces[count] = first", "pieces[count] = 0"),
            ],
            "kernels/sparsemax_entmax/cpu_gain": [
                ("(np.sqrt(p) - 1.0) / 0.75", "(np.sqrt(p) - 1.0) / 0.5"),
                ("scale * (points[row, place] - one)", "-scale"),
            ],
            "kernels/sparsemax_entmax/gain": [
                ("change = scale.unsqueeze(-1) * direction", "change = direction"),
            ],
            "kernels/sparsemax_entmax/derivatives": [
                ("-phi(u) * logs**2", "-(logs**2)"),
                ("threshold = -(", "threshold = ("),
                ("(probabilities * direction).sum(", "direction.sum("),
            ],
            "kernels/capped_simplex/cpu": [
                ("total += min(max(above, 0.0), 1.0)", "total += max(above, 0.0)"),
            ],
            "kernels/capped_simplex/__init__": [
                ("return free * (direction - mean)", "return free * direction"),
            ],
            "kernels/fusedmax_oscarmax/prox": [
                ("slope, intercept + weight\n", "slope, intercept\n"),
                ("* sizes[blocks - 1] / total", "/ 2"),
            ],
            "kernels/fusedmax_oscarmax/cpu": [
                ("values[last] == value", "values[last] != value"),
            ],
            "kernels/fusedmax_oscarmax/derivatives": [
                ("ranks + 1 -", "0 * ranks + 1 -"),
            ],
            "mappings/ksubset_budget": [
                ("torch.where(total <= k.unsqueeze(-1), free,", "torch.where(total > k.unsqueeze(-1), free,"),
            ],
            "losses/fenchel_young": [
                ("None, None, grad * slope", "None, None, None"),
                ("- extra(prediction.detach(), each)", ""),
                ("None, grad * slope, None", "None, None, None"),
                ("value + extra(target, each)", "value - extra(target, each)"),
            ],
        },
        GRAPHS: {
            "kernels/lp_sparsemap/band": [
                ("rest = (total - target) / slope if slope > 0.0 else 0.0", "rest = 0.0"),
            ],
            "kernels/lp_sparsemap/or_out": [
                ("if total >= top:", "if total >= 0.0:"),
            ],
            "kernels/lp_sparsemap/pair": [
                ("        return 1.0, 1.0\n", "        return 0.0, 0.0\n"),
            ],
            "kernels/lp_sparsemap/faces": [
                ("pooled += graph.signs[j] * values[j]", "pooled += values[j]"),
            ],
            "kernels/lp_sparsemap/polish": [
                ("curvature * y[j] - faces.tilts[j]", "curvature * y[j]"),
            ],
            "kernels/lp_sparsemap/sweep": [
                ("multipliers[j] += step * (marginals", "multipliers[j] += (marginals"),
                ("lacking: float = state.curvature[item] * moved", "lacking: float = 0.0"),
            ],
            "inference/lp_sparsemap/start": [
                ("np.where(possible, start.marginals, 0.0)", "start.marginals"),
            ],
            "inference/lp_sparsemap/faces": [
                ("vertices - vertices.mean(1, keepdim=True)", "vertices"),
            ],
            "inference/lp_sparsemap/oracles": [
                ("main = state.multipliers[:, part] * signs", "main = state.multipliers[:, part]"),
            ],
            "factor_graph/logic": [
                ("__init__(~_with_output(inputs, output))", "__init__(_with_output(inputs, output))"),
            ],
            "factor_graph/compile": [
                ("e.pair + first[id(factor)] if", "e.pair if"),
            ],
            "factor_graph/belief_propagation": [
                ("variables, -edges]", "variables, edges]"),
            ],
            "factor_graph/counting": [
                ("_backward(rest, costs[i], saturating)", "_backward(rest, costs[i], False)"),
            ],
            "factor_graph/mean_field": [
                ("torch.where(negated, -field, field)", "field"),
            ],
            "factor_graph/enumeration": [
                ("patterns = patterns ^ torch", "patterns = patterns | torch"),
            ],
        },
    }
)
