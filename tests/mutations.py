"""Bugs to seed: each replaces a line of the package by one that is wrong.

What stands on the left must occur in the file exactly as often as `count` says, and every occurrence is replaced.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """A replacement in a file below ``src/strukt``, and the structure whose tests must notice it."""

    file: str
    right: str
    wrong: str
    structure: str
    backend: str = "cpu"
    count: int = 1

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.right.split())} -> {' '.join(self.wrong.split())}"


CHAIN, PLANAR, FREE = "LinearChain", "ProjectiveTree", "NonProjectiveTree"
SPANS, CODES = "SpanTree", "BitSpanTree"
SEGMENTS = "SemiMarkov"
BINARY, MATCHING, SPANNING = "BinaryCRF", "Matching", "SpanningTree"
GRID, FRAMES = "MonotoneAlignment", "CTC"
GRAMMAR, SUBSETS = "PCFG", "KSubset"
VECTORS = "mappings"
SPARSE = "SparseMAP"
GRAPHS = "FactorGraph"


def chain_kernel(right: str, wrong: str, file: str, count: int = 1) -> Mutation:
    return Mutation(f"kernels/chain/{file}.py", right, wrong, CHAIN, count=count)


def candidates(right: str, wrong: str) -> Mutation:
    return Mutation("kernels/cpu_candidates.py", right, wrong, CHAIN)


def draws(right: str, wrong: str, structure: str = CHAIN) -> Mutation:
    return Mutation("kernels/cpu_draw.py", right, wrong, structure)


def eisner_kernel(right: str, wrong: str, file: str = "eisner/cpu") -> Mutation:
    return Mutation(f"kernels/{file}.py", right, wrong, PLANAR)


def matrix_tree_kernel(right: str, wrong: str, file: str = "cpu") -> Mutation:
    return Mutation(f"kernels/matrix_tree/{file}.py", right, wrong, FREE)


def inside_kernel(right: str, wrong: str, file: str = "inside/cpu") -> Mutation:
    return Mutation(f"kernels/{file}.py", right, wrong, SPANS)


def code_kernel(right: str, wrong: str) -> Mutation:
    return Mutation("kernels/codes/cpu.py", right, wrong, CODES)


def mapping(file: str, right: str, wrong: str) -> Mutation:
    return Mutation(f"{file}.py", right, wrong, VECTORS)


def consensus(file: str, right: str, wrong: str) -> Mutation:
    return Mutation(f"kernels/consensus/{file}.py", right, wrong, GRAPHS)


def graph(file: str, right: str, wrong: str) -> Mutation:
    return Mutation(f"{file}.py", right, wrong, GRAPHS)


def subset_kernel(right: str, wrong: str, file: str = "cpu_kbest", count: int = 1) -> Mutation:
    return Mutation(f"kernels/subset/{file}.py", right, wrong, SUBSETS, count=count)


def pcfg_kernel(right: str, wrong: str, file: str) -> Mutation:
    return Mutation(f"kernels/{file}.py", right, wrong, GRAMMAR)


def semi_markov_kernel(right: str, wrong: str, file: str) -> Mutation:
    return Mutation(f"kernels/semi_markov/{file}.py", right, wrong, SEGMENTS)


def alignment_kernel(right: str, wrong: str, file: str, count: int = 1) -> Mutation:
    return Mutation(f"kernels/alignment/{file}.py", right, wrong, GRID, count=count)


def ctc_kernel(right: str, wrong: str, file: str = "cpu", count: int = 1) -> Mutation:
    return Mutation(f"kernels/ctc/{file}.py", right, wrong, FRAMES, count=count)


def reference(file: str, right: str, wrong: str, structure: str) -> Mutation:
    return Mutation(f"kernels/{file}.py", right, wrong, structure, "reference")


def distribution(file: str, right: str, wrong: str, structure: str = CHAIN) -> Mutation:
    return Mutation(f"distributions/{file}.py", right, wrong, structure)


MUTATIONS = [
    reference("semiring", "return (log_total + top)", "return (log_total - top)", CHAIN),
    reference(
        "semiring", "top = torch.where(top == NEG_INF, torch.zeros_like(top), top)", "top = 1 * top", CHAIN
    ),
    reference("semiring", "return shifted - torch.where(", "return shifted + torch.where(", CHAIN),
    reference("semiring", "return values.max(dim).values", "return values.min(dim).values", CHAIN),
    reference("semiring", "values.detach() + noise", "values.detach() - noise", CHAIN),
    reference("semiring", "(self.k - 1, *scores.shape), NEG_INF", "(self.k - 1, *scores.shape), 0.0", CHAIN),
    reference("semiring", "entropies + _surprise(", "entropies - _surprise(", CHAIN),
    reference("semiring", "crosses - log_q", "crosses + log_q", CHAIN),
    reference("chain/reference", "(position >= lengths[:, None])", "(position > lengths[:, None])", CHAIN),
    reference("chain/reference", "following, alphas[-1])", "following, alphas[0])", CHAIN),
    reference("chain/reference", "min(t, transition.shape[-3]) - 1", "-1", CHAIN),
    reference("chain/reference", "_step(transition, t)), -2)", "_step(transition, t)), -1)", CHAIN),
    reference("chain/reference", "found.append(forward[t] + beta)", "found.append(forward[t])", CHAIN),
    reference("eisner/reference", "arcs.diagonal(-width, -2, -1)", "arcs.diagonal(width, -2, -1)", PLANAR),
    reference("eisner/reference", "n - width, shift=1", "n - width, shift=0", PLANAR),
    reference("eisner/reference", "[0] if single_root", "[last] if single_root", PLANAR),
    reference("matrix_tree/reference", "weights[:, :k, k + 1, None]", "weights[:, :k, k, None]", FREE),
    reference("matrix_tree/reference", "order == wanted", "order >= wanted", FREE),
    reference("matrix_tree/reference", "total - expected)", "total + expected)", FREE),
    chain_kernel("TINY = 1e-100", "TINY = 0.0", "cpu_probability"),
    chain_kernel("z * matrix[i + 7, j]", "z * matrix[i + 6, j]", "cpu_probability"),
    chain_kernel("        i += 8", "        i += 9", "cpu_probability"),
    chain_kernel(
        "for j in range(left, min(left + 8, i)):",
        "for j in range(left, min(left + 7, i)):",
        "cpu_probability",
    ),
    chain_kernel("logs[q] += top if safe", "logs[q] += 0.0 if safe", "cpu_forward"),
    chain_kernel("logs[q] += np.log(factors[q])", "logs[q] = np.log(factors[q])", "cpu_forward"),
    chain_kernel("< 1.0 / TINY or t == lengths[q] - 1", "< 1.0 / TINY", "cpu_forward"),
    chain_kernel("entered[q, j] * weight[j] * scale", "entered[q, j] * scale", "cpu_forward"),
    chain_kernel("if t >= lengths[q] or not logs", "if t > lengths[q] or not logs", "cpu_forward"),
    chain_kernel("log_partition[q] += top", "log_partition[q] -= top", "cpu_forward"),
    chain_kernel("tops[group] = top if safe else np.nan", "tops[group] = top", "cpu_probability"),
    chain_kernel("weight[j] * beta[j] * scale", "weight[j] * beta[j]", "cpu_backward"),
    chain_kernel("weight[j] * beta[q, j] * scale", "weight[j] * beta[q, j]", "cpu_backward"),
    chain_kernel("* scale if chart[b, t, j] > 0.0 else 0.0", "* scale", "cpu_backward"),
    chain_kernel("if mass < TINY:", "if mass < 0.0:", "cpu_forward"),
    chain_kernel("if t < lengths[q] - 1:", "if t < lengths[q]:", "cpu_backward"),
    chain_kernel("for t in range(n - n % 4, n):", "for t in range(n - n % 4 + 1, n):", "cpu_backward"),
    chain_kernel(
        "range(block, min(block + 8, c))", "range(block, min(block + 7, c))", "cpu_backward", count=2
    ),
    chain_kernel("        if transposed:\n", "        if not transposed:\n", "cpu_probability"),
    chain_kernel(
        "end = min(t + WINDOW, lengths[q] - 1)", "end = min(t + WINDOW, lengths[q])", "cpu_backward"
    ),
    chain_kernel("if t % WINDOW == 0 and t < end", "if t == 0 and t < end", "cpu_backward"),
    chain_kernel("tags[b, used[b - first] :] = 0.0", "pass", "cpu_backward"),
    chain_kernel("expected[0, group, i, j] * weight", "expected[0, group, i, j]", "cpu_backward"),
    chain_kernel("alpha = weights[b] * chart[b, t, i]", "alpha = chart[b, t, i]", "cpu_backward"),
    chain_kernel("scores[j] -= top", "scores[j] += top", "cpu_log"),
    chain_kernel("total += shift", "total = shift", "cpu_log"),
    chain_kernel("entered[i] != top", "entered[i] == top", "cpu_best"),
    chain_kernel("range(lengths[b] - 2, -1, -1)", "range(lengths[b] - 2, 0, -1)", "cpu_log"),
    chain_kernel("alpha = chart[b, t, i] - log_mass", "alpha = chart[b, t, i]", "cpu_log"),
    chain_kernel(
        "best[t, i] + transition[s, i, following]", "best[t, i] + transition[s, following, i]", "cpu_best"
    ),
    chain_kernel("ways[i] += transition[s, i, following]", "ways[i] += 0.0", "cpu_best"),
    chain_kernel("tags[parent, place + 1 :]", "tags[rank - 1, place + 1 :]", "cpu_best"),
    chain_kernel("for t in range(place):", "for t in range(tags.shape[0]):", "cpu_best"),
    chain_kernel("tags[rank, : place + 1]", "tags[rank, :place]", "cpu_best"),
    candidates("scores[i - 1] < score", "scores[i - 1] > score"),
    candidates("i = count - 1", "i = count - 2"),
    candidates("np.float64(ways[choice]) - ways[chosen]", "ways[choice]"),
    candidates(" and choice != chosen", ""),
    candidates("if other > least", "if other < least"),
    candidates("for i in range(1, count):", "for i in range(1, count - 1):"),
    draws("weights[i] += weights[i - 1]", "weights[i] += 0.0"),
    draws("weights[i] / whole", "weights[i]", FRAMES),
    draws("low += half * int", "low += (half - 1) * int"),
    draws("int(sums[k] <= wanted)", "int(sums[k] < wanted)"),
    chain_kernel("pairs[:, following]", "pairs[following]", "cpu_sample"),
    chain_kernel("table[i] *= alpha[i]", "table[i] *= 1.0", "cpu_sample"),
    chain_kernel("(alpha[i] if in_log_space else 0.0)", "0.0", "cpu_sample"),
    chain_kernel("made[:] = False", "pass", "cpu_sample"),
    eisner_kernel(
        "left, j, i, j, 1)\n            open_", "left, j, i, j, 0)\n            open_", "eisner/cpu_inside"
    ),
    eisner_kernel(
        "open_[j, i] = weigh(semiring, joined, weights[i, j",
        "open_[j, i] = weigh(semiring, joined, weights[j, i",
        "eisner/cpu_inside",
    ),
    eisner_kernel("range(n - 1, 0, -1)", "range(n - 1, 1, -1)"),
    eisner_kernel("weights[b] * mass[2, h, m]", "weights[b] * mass[2, m, h]"),
    eisner_kernel("weights[b] * root_mass[0, m]", "root_mass[0, m]"),
    eisner_kernel("return top + np.log(mass)", "return top", "eisner/cpu_weights"),
    eisner_kernel("rate = mass / total", "rate = mass", "cpu_semiring"),
    eisner_kernel(
        "total += exp(left[i, k] + right[j, k + shift] - top)\n    return",
        "total += exp(left[i, k] - top)\n    return",
        "cpu_semiring",
    ),
    eisner_kernel("right[j, k + shift] > top", "right[j, k + shift] >= -np.inf", "cpu_semiring"),
    eisner_kernel("remaining -= share", "remaining -= 0.0", "cpu_draw"),
    eisner_kernel("remaining *= total", "remaining *= 1.0", "cpu_draw"),
    eisner_kernel("below = left[last, 0]", "below = left[last, last]", "eisner/cpu_tree"),
    eisner_kernel("heads[word] = head + 1", "heads[word] = head", "eisner/cpu_sample"),
    eisner_kernel("end = first", "end = 0", "eisner/cpu_sample"),
    eisner_kernel("RIGHT, child, last)", "RIGHT, first, last)", "eisner/cpu_tree"),
    eisner_kernel("place += 2", "place += 1", "eisner/cpu_kbest"),
    eisner_kernel("low, high, 1)\n", "low, high, 0)\n", "eisner/cpu_kbest"),
    eisner_kernel(
        "rank, given, scores[rank], heads", "rank, given - 1, scores[rank], heads", "eisner/cpu_kbest"
    ),
    matrix_tree_kernel(
        "for j in range(1, k + 1):\n            pivot", "for j in range(1, k):\n            pivot"
    ),
    matrix_tree_kernel("log_total += np.log(pivot)", "log_total = np.log(pivot)"),
    matrix_tree_kernel("(1.0 - through if in_pivot else 0.0)", "(1.0 if in_pivot else 0.0)"),
    matrix_tree_kernel(
        "weights[m, likeliest + 1], weights[m, 1]", "weights[m, 1], weights[m, likeliest + 1]"
    ),
    matrix_tree_kernel("return shift + root_top", "return shift"),
    matrix_tree_kernel("orders[m, h] = 1 if h == 0", "orders[m, h] = 0 if h == 0", "cpu_log"),
    matrix_tree_kernel("path = into + weights[k, j]", "path = weights[k, j]", "cpu_log"),
    matrix_tree_kernel("rest = 1.0 - through.sum()", "rest = 1.0", "cpu_log"),
    matrix_tree_kernel("out[h] = exp(scores[h] - top)", "out[h] = 1.0", "cpu_sample"),
    matrix_tree_kernel("in_tree[first + 1] = True", "in_tree[first] = True", "cpu_sample"),
    matrix_tree_kernel("top[h] = joined", "top[h] = head", "cpu_sample"),
    matrix_tree_kernel(
        "scores[h] = nodes.scores[node, h] - lost if", "scores[h] = nodes.scores[node, h] if", "edmonds"
    ),
    matrix_tree_kernel("range(int(single_root), scores", "range(0, scores", "edmonds"),
    matrix_tree_kernel("if roots == 1 or not single_root", "if roots >= 1 or not single_root", "edmonds"),
    matrix_tree_kernel("range(count - 1, heads.shape[0], -1)", "range(heads.shape[0] + 1, count)", "edmonds"),
    matrix_tree_kernel("allowed[new] = allowed[part]", "pass", "arborescence"),
    matrix_tree_kernel("allowed[part, word] = False", "pass", "arborescence"),
    matrix_tree_kernel("if h != head and not below[word, h]", "if h != head", "arborescence"),
    matrix_tree_kernel("if owner[entered] == node and entered != word", "if False", "arborescence"),
    matrix_tree_kernel("displaced[word] += ", "displaced[word] = ", "arborescence"),
    reference("inside/reference", "values = semiring.sum(values, -1)", "values = values[..., 0]", SPANS),
    reference("inside/reference", "part : part + count] for", ": count] for", SPANS),
    inside_kernel("tops[j] + np.log(totals[j])", "tops[j]", "inside/cpu_chart"),
    inside_kernel("(2 * n - 1) * shift", "2 * n * shift", "inside/cpu_chart"),
    inside_kernel("logs[j, i] = sums[j]", "logs[j, i] = value", "inside/cpu_chart"),
    inside_kernel("weights[b] * (mass[i, j] + mass[j, i])", "mass[i, j] + mass[j, i]"),
    inside_kernel("range(size - 1, 1, -1)", "range(size - 1, 2, -1)"),
    code_kernel("product *= 1.0 + rests[t]", "product *= rests[t]"),
    code_kernel("+= np.log(products[j])", "+= products[j]"),
    code_kernel("better if above else other", "better"),
    code_kernel("weights[b] * (mass[i, j] + mass[j, i])", "mass[i, j] + mass[j, i]"),
    inside_kernel("stack[depth + 1, 1] = split, j", "stack[depth + 1, 1] = split, j - 1", "inside/cpu_kbest"),
    inside_kernel("logs[i, j] += np.float64(top)", "logs[i, j] = top + 1.0", "inside/cpu_kbest"),
    inside_kernel(
        "rank, given, scores[rank], labels", "rank, given - 1, scores[rank], labels", "inside/cpu_kbest"
    ),
    inside_kernel(
        "stack[depth + 1, 1] = split, j", "stack[depth + 1, 1] = split, j - 1", "inside/cpu_sample"
    ),
    inside_kernel("n + feature * alternatives,", "feature * alternatives,", "inside/cpu_sample"),
    inside_kernel("i * (n + 1) + j)", "i + j)", "inside/cpu_sample"),
    inside_kernel("number * sums[first + count - 1]", "number", "cpu_draw"),
    candidates("candidates.scores[wanted - 1]", "candidates.scores[0]"),
    candidates("min(candidates.waiting[0] + 1, len(scores) - 1 - rank)", "candidates.waiting[0] + 1"),
    inside_kernel("search.choices[rank] = search.choices[parent]", "pass", "cpu_search"),
    inside_kernel("values, best, score)", "values, 0, score)", "cpu_search"),
    subset_kernel(
        "gain[i] - tilt\n        e = exp(-abs(z))\n        many",
        "gain[i]\n        e = exp(-abs(z))\n        many",
        "cpu_coins",
    ),
    subset_kernel("required += int(left", "required += int(taken", "cpu_coins"),
    subset_kernel("tilt * (anchor(tilt, bounds) - heads)", "tilt * anchor(tilt, bounds)", "cpu_coins"),
    subset_kernel("taken * rows[source, c]", "taken * rows[source, c + 1]", "cpu_coins"),
    subset_kernel("taken * back[source, c + 2]", "taken * back[source, c + 1]", "cpu"),
    subset_kernel("exp(tilt * (c - anchor(tilt, bounds)))", "1.0", "cpu", count=2),
    subset_kernel("size -= event[t - 1]", "size -= 1", "cpu"),
    subset_kernel("rows[0, 1] = 0.0", "rows[0, 0] = 0.0"),
    subset_kernel("rows[t - 1, size] + scores", "rows[t - 1, size + 1] + scores"),
    subset_kernel("size -= event[t - 1]", "size -= 1"),
    subset_kernel("size = smallest +", "size ="),
    pcfg_kernel("if choice != search.choices[rank, place]:", "if True:", "pcfg/cpu_kbest"),
    pcfg_kernel("score - top_below)", "score)", "pcfg/cpu_kbest"),
    pcfg_kernel("code // labels % labels", "code % labels", "pcfg/cpu_kbest"),
    pcfg_kernel("column[c] + below[c] > top:", "column[c] > top:", "pcfg/cpu_best"),
    pcfg_kernel("+ spans[b, i, i + width, label]", "", "pcfg/cpu_best"),
    pcfg_kernel("range(2, width - 1)", "range(2, width - 2)", "pcfg/cpu_best"),
    pcfg_kernel("total += shares[part] *", "total +=", "pcfg/cpu_sample"),
    pcfg_kernel("weights[k] *= below[k - start]", "pass", "pcfg/cpu_sample"),
    pcfg_kernel("weights[left] = rules[left, right] *", "weights[left] =", "pcfg/cpu_sample"),
    pcfg_kernel("rule_tops[g] + top + np.log(peak)", "rule_tops[g] + np.log(peak)", "pcfg/cpu_inside"),
    pcfg_kernel("left += room.before[i,", "left += room.before[last,", "pcfg/cpu_inside"),
    pcfg_kernel("chart[i, width, label] /= peak", "pass", "pcfg/cpu_inside"),
    pcfg_kernel("found *= grammar.rules", "pass", "pcfg/cpu"),
    reference("pcfg/reference", "narrower[..., 1:, None, :]", "narrower[..., :count, None, :]", GRAMMAR),
    distribution("grammar", "& (self.lengths != 1)", "", GRAMMAR),
    distribution("grammar", "+ tops + emitted", "+ emitted", GRAMMAR),
    distribution("grammar", "(parent * self._labels + left)", "(parent * self._labels + right)", GRAMMAR),
    reference("semi_markov/reference", "min(k, end)", "min(k, end - 1) or 1", SEGMENTS),
    reference("semi_markov/reference", "(lengths - 1).clamp(min=0)", "(lengths - 2).clamp(min=0)", SEGMENTS),
    reference(
        "semi_markov/reference",
        "torch.maximum(following, at_end",
        "torch.minimum(following, at_end",
        SEGMENTS,
    ),
    semi_markov_kernel("mass < TINY", "mass < 0.0", "cpu_probability"),
    semi_markov_kernel("int((values[j] < TINY) &", "int((values[j] < 0.0) &", "cpu_probability"),
    semi_markov_kernel(
        "log if entered[start, j] > 0.0 else -np.inf\n            logs[d * c + j] = log\n",
        "log\n            logs[d * c + j] = log\n",
        "cpu_probability",
    ),
    semi_markov_kernel("base += shift + _normalise", "base += _normalise", "cpu_probability"),
    semi_markov_kernel("marginals[start, d, j] = weight *", "marginals[start, d, j] =", "cpu_probability"),
    semi_markov_kernel(
        "products[i, j] * transposed[j, i]", "products[i, j] * transposed[i, j]", "cpu_probability"
    ),
    semi_markov_kernel("range(max(length - k + 1, 0), n)", "range(length, n)", "cpu_probability"),
    semi_markov_kernel("1.0 / _sum(ended[length])", "1.0", "cpu_probability"),
    semi_markov_kernel("ended[end, j] -= top", "ended[end, j] -= 0.0", "cpu_log"),
    semi_markov_kernel("onward[length, :] = -log_sum", "onward[length, :] = log_sum", "cpu_log"),
    semi_markov_kernel(
        "pairs[0, 0] += weight * exp(ended[i] + onward[i])",
        "pairs[0, 0] += weight * exp(onward[i])",
        "cpu_log",
    ),
    semi_markov_kernel("ended[end].max() + transition[0, 0]", "ended[end].max()", "cpu_best"),
    semi_markov_kernel(
        "transition[min(i, last), min(labels[end], last)]",
        "transition[min(labels[end], last), min(i, last)]",
        "cpu_best",
    ),
    semi_markov_kernel("if 2 * end < place:", "if True:", "cpu_best"),
    semi_markov_kernel("if 2 * end - 1 < place:", "if 2 * end < place:", "cpu_best"),
    semi_markov_kernel("labels[start] < 0", "False", "cpu_best"),
    semi_markov_kernel("entered[t, j] += scales[t]", "entered[t, j] += 0.0", "cpu_sample"),
    semi_markov_kernel("onward, state = following[q]", "onward, state = c", "cpu_sample"),
    semi_markov_kernel("min(table.shape[0], end)", "1", "cpu_sample"),
    semi_markov_kernel("matrices *= np.exp(tops - whole)[:, None, None]", "pass", "cpu"),
    distribution("segmentation", "(known & (event >= 0)).cumsum(-1)", "known.cumsum(-1)", SEGMENTS),
    distribution("segmentation", "before = last.cumsum(-1) - last", "before = last.cumsum(-1)", SEGMENTS),
    distribution(
        "segmentation", "(self._durations(event) <= k)", "(self._durations(event) <= k + 1)", SEGMENTS
    ),
    Mutation("kernels/extended.py", "(DOWN if rank == top - 1.0 else 0.0)", "1.0", FRAMES),
    Mutation(
        "kernels/extended.py", "return mantissa * factor, rank + change", "return mantissa, rank", FRAMES
    ),
    Mutation("kernels/extended.py", "rank if log > -np.inf else -np.inf", "rank", FRAMES),
    reference("alignment/reference", "transition[..., MIRRORED, :][..., MIRRORED]", "transition", GRID),
    reference("alignment/reference", "transition + torch.stack(onward, -1)", "torch.stack(onward, -1)", GRID),
    reference("alignment/reference", "rows[:, :, None] | columns[:, None, :]", "rows[:, :, None]", GRID),
    reference("alignment/reference", "torch.where(neither, 0, 1)", "torch.where(neither, 1, 1)", GRID),
    alignment_kernel("max(first, down), min(end, d - right + 1)", "max(first, down), end", "cpu_forward"),
    alignment_kernel("0.0 if n == m else -np.inf", "0.0", "cpu_forward"),
    alignment_kernel("before - cut * (cut + 1) // 2", "before - cut * cut // 2", "cpu_forward"),
    alignment_kernel("out[3:] = -np.inf", "out[3:] = 0.0", "cpu_forward"),
    alignment_kernel("pairs[a, move] += weight * expected", "pairs[a, move] += expected", "cpu_backward"),
    alignment_kernel("0.0 if d == n + m - 2 else -np.inf", "0.0", "cpu_backward"),
    alignment_kernel("entered[move, j] * mantissa,", "entered[move, j],", "cpu_backward"),
    alignment_kernel("i - int(move != INSERT)", "i - 1", "cpu_best"),
    alignment_kernel("values[a] + transition[a, move]", "values[a]", "cpu_best"),
    alignment_kernel("if i + j < place:", "if True:", "cpu_best"),
    alignment_kernel("make_candidates(k), n + m - 1", "make_candidates(k), n + m - 2", "cpu_best"),
    alignment_kernel("copy[i, j] = path[i, j]", "pass", "cpu_best"),
    alignment_kernel("numbers[:, :, onward]", "equal", "cpu_sample"),
    alignment_kernel("table[a] = at_rank(table[a], ranks[a], top)", "pass", "cpu_sample"),
    alignment_kernel(".view(groups, batch // max(groups, 1), 3, 3)", ".view(-1, groups, 3, 3).mT", "cpu"),
    reference("ctc/reference", "& (place > 1)", "| (place > 1)", FRAMES),
    reference(
        "ctc/reference", "[2 * target_lengths, 2 * target_lengths + 1]", "[2 * target_lengths] * 2", FRAMES
    ),
    ctc_kernel("0.0 if differs else -np.inf", "0.0"),
    ctc_kernel("label_rank[k - 1] + skips[k]", "label_rank[k - 1]"),
    ctc_kernel("ahead[1, places - 1] = ahead[3, places - 1] = 0.0", "ahead[1, places - 1] = 0.0"),
    ctc_kernel("_retreat(entered, skips[1:], ahead)", "_retreat(entered, skips[:-1], ahead)"),
    ctc_kernel("out[states[0]] += weight *", "out[states[0]] +="),
    ctc_kernel("shares[0].sum()", "shares[0, 0]"),
    ctc_kernel("and states[s] != states[s - 2]", "", "cpu_best"),
    ctc_kernel("before[s - 2] + skips[s]", "-np.inf", "cpu_best"),
    ctc_kernel("for t in range(place):", "for t in range(len(values)):", "cpu_best"),
    ctc_kernel("paths[rank, place + 1] - way", "paths[parent, place] - way", "cpu_best"),
    ctc_kernel("(1, k - 1 if may_skip(states, s) else 0)", "(1, k - 1)", "cpu_sample"),
    ctc_kernel("_weigh_ways(chart[b, t], states", "_weigh_ways(chart[b, t - 1], states", "cpu_sample"),
    distribution("ctc", "& (event != before)", "", FRAMES),
    distribution("alignment", "(visited & ~last)", "visited", GRID),
    distribution("alignment", "inside & begun & complete", "inside & complete", GRID),
    distribution("alignment", "visited & ~first, following", "visited, following", GRID),
    distribution("alignment", "others | passing", "others", GRID),
    distribution("alignment", "shifted(below_left, 1, -1)", "shifted(below_left, 0, -1)", GRID),
    distribution("distribution", "numerator - torch.where(", "numerator + torch.where("),
    distribution("distribution", "marginals * values", "values"),
    distribution("distribution", "main.masked_fill(forbidden, NEG_INF)", "main.masked_fill(forbidden, 0.0)"),
    distribution("distribution", "return ranked, events", "return ranked.exp(), events"),
    distribution("positional", "device=self.lengths.device) < self", "device=self.lengths.device) <= self"),
    distribution("positional", "(~required | (", "(required | ("),
    distribution("positional", "(known & self._positions)", "(self._positions)"),
    distribution("dependency", "(roots == 1)", "(roots >= 1)", FREE),
    distribution("dependency", "& ~crossing", "", PLANAR),
    distribution("dependency", "range(heads.shape[-1].bit_length())", "range(1)", FREE),
    reference("binary/reference", "0.5 * (pairwise + pairwise.mT)", "0.5 * pairwise", BINARY),
    reference("binary/reference", "linear - always.to(unary.dtype)", "linear", BINARY),
    reference("binary/reference", "by_value[:, :, 1]", "by_value[:, :, 0]", BINARY),
    reference("binary/reference", "[:, :half, half:] @ right.T", "[:, :half, half:] @ right.T * 0.5", BINARY),
    reference("matching/reference", "(m - lengths + 1)", "(m - lengths)", MATCHING),
    reference("matching/reference", "matched - (1 << row)", "matched", MATCHING),
    reference("matching/reference", "descending=True", "descending=False", MATCHING),
    reference("matching/assignment", "(-(score + gain)", "(-gain", MATCHING),
    reference("matching/assignment", "(*closed, columns[row]) if", "(columns[row],) if", MATCHING),
    reference("matching/assignment", "range(len(columns), -1, -1)", "range(len(columns) + 1)", MATCHING),
    reference("matching/assignment", "[owner, :n].T", "[owner, :n].T * 0", MATCHING),
    reference("spanning/reference", "(1 - required)", "(0 * required)", SPANNING),
    reference("spanning/reference", "lengths - _count(required)", "lengths", SPANNING),
    reference("spanning/arcs", "(upper + upper.mT)[:, 1:]", "upper.mT[:, 1:]", SPANNING),
    reference("spanning/trees", "fixed[rank, :place] = True", "pass", SPANNING),
    reference("spanning/trees", "closed[rank] = closed[source]", "pass", SPANNING),
    reference("spanning/trees", "if required[u, v] != required[x, y]:", "if False:", SPANNING),
    reference("spanning/trees", "min(lowest[u, old], own)", "own", SPANNING),
    Mutation("kernels/spanning/cpu.py", "from_arcs(found, ", "from_arcs(2 * found, ", SPANNING),
    Mutation(
        "distributions/indicator.py",
        "forbidden=known & (event != 1)",
        "forbidden=event != 1",
        BINARY,
        "reference",
    ),
    Mutation("distributions/spanning.py", "& complete & self", "& self", SPANNING, "reference"),
    Mutation("distributions/matching.py", "& alone", "", MATCHING, "reference"),
    Mutation(
        "kernels/sparsemap/active_set.py",
        "state.main[i] - state.point[i]",
        "state.main[i] + state.point[i]",
        SPARSE,
    ),
    Mutation("kernels/sparsemap/active_set.py", "shift = (1.0 - best", "shift = (0.9 - best", SPARSE),
    Mutation("kernels/sparsemap/factor.py", "row[j] = common + 1.0", "row[j] = common + 1.1", SPARSE),
    Mutation(
        "kernels/sparsemap/factor.py",
        "factor[row, i + 1] = cosine * y - sine * x",
        "factor[row, i + 1] = cosine * y",
        SPARSE,
    ),
    Mutation(
        "kernels/sparsemap/products.py",
        "inverse - ones.unsqueeze(-1)",
        "inverse + ones.unsqueeze(-1)",
        SPARSE,
    ),
    Mutation(
        "kernels/sparsemap/completion.py",
        "    _ask(state, ABOVE, max_calls)\n\n\n",
        "    state.counters[PHASE] = CONVERGED\n\n\n",
        SPARSE,
    ),
    Mutation("kernels/matching/cpu.py", "- prices.rows[owner]", "", SPARSE),
    Mutation("inference/systematic.py", "bounds[:, :-1]).detach()", "bounds[:, 1:]).detach()", SUBSETS),
    Mutation("distributions/subset.py", "box.subset(gains, low)", "box.subset(gains, high)", SUBSETS),
    mapping("kernels/simplex/cpu", "following = s + (total - 1.0) / slope", "following = s + total / slope"),
    mapping("kernels/simplex/cpu", "values[kept], places[kept] = value, place", "values[kept] = value"),
    mapping("kernels/simplex/cpu", "if powers[row] >= 1.0:", "if powers[row] >= 0.0:"),
    mapping(
        "kernels/simplex/cpu_backward", "difference(difference(move, shift), mean)", "difference(move, shift)"
    ),
    mapping("kernels/simplex/cpu_backward", "pieces[count] = first", "pieces[count] = 0"),
    mapping("kernels/simplex/cpu_gain", "(np.sqrt(p) - 1.0) / 0.75", "(np.sqrt(p) - 1.0) / 0.5"),
    mapping("kernels/simplex/cpu_gain", "scale * (points[row, place] - one)", "-scale"),
    mapping("kernels/simplex/gain", "change = scale.unsqueeze(-1) * direction", "change = direction"),
    mapping("kernels/simplex/derivatives", "-_phi(u) * logs**2", "-(logs**2)"),
    mapping("kernels/simplex/derivatives", "threshold = -(", "threshold = ("),
    mapping("kernels/simplex/derivatives", "(probabilities * direction).sum(", "direction.sum("),
    mapping("kernels/box/cpu", "total += min(max(above, 0.0), 1.0)", "total += max(above, 0.0)"),
    mapping("kernels/box/__init__", "return free * (direction - mean)", "return free * direction"),
    mapping("kernels/fused/prox", "slope, intercept + weight\n", "slope, intercept\n"),
    mapping("kernels/fused/prox", "* sizes[blocks - 1] / total", "/ 2"),
    mapping("kernels/fused/cpu", "values[last] == value", "values[last] != value"),
    mapping("kernels/fused/derivatives", "ranks + 1 -", "0 * ranks + 1 -"),
    mapping("mappings/subsets", "torch.where(fits, free,", "torch.where(~fits, free,"),
    mapping("losses/fenchel_young", "None, None, grad * slope", "None, None, None"),
    mapping("losses/fenchel_young", "- extra(prediction.detach(), each)", ""),
    mapping("losses/fenchel_young", "None, grad * slope, None", "None, None, None"),
    mapping("losses/fenchel_young", "value + extra(target, each)", "value - extra(target, each)"),
    consensus("band", "rest = (total - target) / slope if slope > 0.0 else 0.0", "rest = 0.0"),
    consensus("or_out", "if total >= top:", "if total >= 0.0:"),
    consensus("pair", "        return 1.0, 1.0\n", "        return 0.0, 0.0\n"),
    consensus("faces", "pooled += graph.signs[j] * values[j]", "pooled += values[j]"),
    consensus("polish", "curvature * y[j] - faces.tilts[j]", "curvature * y[j]"),
    consensus("sweep", "multipliers[j] += step * (marginals", "multipliers[j] += (marginals"),
    consensus("sweep", "lacking: float = state.curvature[item] * moved", "lacking: float = 0.0"),
    graph("inference/lp_sparsemap", "state.marginals[~possible] = 0.0", "pass"),
    graph("inference/consensus_faces", "vertices - vertices.mean(1, keepdim=True)", "vertices"),
    graph(
        "inference/consensus_oracles",
        "main = state.multipliers[:, part] * signs",
        "main = state.multipliers[:, part]",
    ),
    graph(
        "factor_graph/logic",
        "__init__(~_with_output(inputs, output))",
        "__init__(_with_output(inputs, output))",
    ),
    graph("factor_graph/compile", "e.own + first[id(factor)] if", "e.own if"),
    graph("factor_graph/belief_propagation", "variables, -edges]", "variables, edges]"),
    graph(
        "factor_graph/counting", "_backward(rest, costs[i], saturating)", "_backward(rest, costs[i], False)"
    ),
    graph("factor_graph/mean_field", "torch.where(negated, -field, field)", "field"),
    graph("factor_graph/enumeration", "patterns = patterns ^ torch", "patterns = patterns | torch"),
]
