"""Bugs of trees: of words, of spans, of a grammar, of a graph."""

from __future__ import annotations

from tests.mutations.mutation import (
    CODES,
    FREE,
    GRAMMAR,
    HEADS,
    LOW_RANK,
    PLANAR,
    SIBLINGS,
    SPANNING,
    SPANS,
    TABLE,
    mutations,
)

TREES = [
    *mutations(
        {
            SIBLINGS: {
                "structures/second_order_tree/second_order_eisner": [
                    ("each=pair[h, m - 1, s - 1]", "each=pair[h, m - 1, s]"),
                    ("count=1 + far", "count=1"),
                    ("((m < s) & (s < h))", "((m < s) & (s > h))"),
                    ("np.where(right, head + 1, head - 1)", "head + 1"),
                ],
                "kernels/engine/chosen": [
                    ("extra += weights.top_of(scores, place)", "extra += 0.0"),
                ],
                "kernels/engine/choices": [
                    ("if position < events.shape[0]:", "if position < 2:"),
                ],
                "structures/second_order_tree/distribution": [
                    ("torch.where(m > head, k, n + 1 - k)", "k"),
                ],
            },
            HEADS: {
                "structures/lexicalised_tree/eisner_satta": [
                    ("first + h + 1))", "first + h))"),
                    ("before[h, i, i + 1][right]", "before[h, i, i][right]"),
                    ("count=(j - h - 1)[left]", "count=1"),
                ],
                "structures/lexicalised_tree/distribution": [
                    ("> widest.unsqueeze(-2))", ">= widest.unsqueeze(-2))"),
                    ("(below == headed)", "(below | ~headed)"),
                ],
            },
            TABLE: {
                "kernels/engine/rings": [
                    ("if top == -np.inf and times[g] > 0:", "if top == -np.inf:"),
                ],
                "kernels/engine/max_inside_outside": [
                    ("if times[g] == 0:", "if False:"),
                ],
                "structures/table_structure/programs": [
                    ("used = needed < n", "used = needed < n - 1"),
                ],
                "kernels/engine/program": [
                    ("sums[alone, right] = ones[0]", "pass"),
                ],
                "structures/table_structure/distribution": [
                    ("(most == events.sum(-1))", "(most > NEG_INF)"),
                ],
            },
            PLANAR: {
                "structures/projective_tree/eisner": [
                    ("left[j, i + 1], count=width", "left[j, i], count=width"),
                    ("weight=arc[i, j + 1]", "weight=arc[j, i + 1]"),
                    ("rooted[0], right[word, 0], count=word + 1", "rooted[0], right[word, 0], count=1"),
                    ("left[word, 0], count=word + 1", "left[word, 0], count=1"),
                ],
                "kernels/engine/rings": [
                    ("weights /= total", "weights /= 1.0"),
                    ("rate * scale(powers[k] - top)", "scale(powers[k] - top)"),
                    ("workspace[k] * scale(powers[k] - top)", "workspace[k]"),
                    ("logs[i] += exponent[i] * LOG_TWO", "logs[i] += 0.0"),
                    ("        add_run(workspace, weights, each, count)", "        pass"),
                ],
                "kernels/engine/inside_outside": [
                    ("value[np.uint64(rows[s, MIRROR])] = total", "pass"),
                    ("total += mass[mirror]", "total += 0.0"),
                    ("parts[whole] += total", "parts[whole] += 0.0"),
                    ("mass[b + k] += share", "mass[b + k] += 0.0"),
                ],
                "kernels/engine/growth": [
                    ("mean += direction[whole]", "mean += 0.0"),
                    ("(moves[k] - expected)", "moves[k]"),
                    ("moving += changes[mirror]", "moving += 0.0"),
                ],
                "kernels/engine/entropy": [
                    ("surprises[dominant] = -np.log1p(-rest)", "surprises[dominant] = 0.0"),
                    ("(surprises[k] - mean)", "surprises[k]"),
                    ("log = logs[out] - weight_logs[whole]", "log = logs[out]"),
                    ("if workspace[k] > 0.0:  #", "if True:  #"),
                ],
                "kernels/engine/max_inside_outside": [
                    ("rest += weight_scores[whole]", "rest += 0.0"),
                    ("_raise_run(workspace, around, origins, right, count, 2 * s + 1)", "pass"),
                    ("top += weight_scores[np.uint64(rows[s, WEIGHT])]", "top += 0.0"),
                ],
                "kernels/engine/max_inside_outside_gradient": [
                    ("within[out] -= total", "within[out] -= 0.0"),
                    ("total += incoming[whole]", "total += 0.0"),
                    ("within[top] += around.pulls[top]", "pass"),
                    ("around.scores[out] >= around.scores[mirror]", "False"),
                    ("mass += _take_run(around.pulls, around.origins, right, count, 2 * s + 1, shares)", "pass"),
                ],
                "kernels/engine/walk": [
                    ("accumulate(kept.sums[place, : row[COUNT]])", "accumulate(kept.sums[place, :1])"),
                    ("find(flat, place * width, row[COUNT], uniform(state))", "0"),
                    ("row[EACH] + k\n", "row[EACH]\n"),
                    ("place += 1", "place += 0"),
                ],
                "kernels/engine/items": [
                    ("total > SMALLEST", "total > 2.0"),
                    ("not LEAST_ENTROPY < result[b] < np.inf:", "result[b] == np.inf:"),
                ],
                "kernels/engine/chosen": [
                    ("shift + score", "score"),
                    ("parts[j - 1] > part:", "parts[j - 1] < part:"),
                ],
                "kernels/engine/weights": [
                    ("used[places[i]] += factor * parts[i]", "used[places[i]] += parts[i]"),
                    ("weight_scores[i] = scores[places[i]]", "weight_scores[i] = scores[places[0]]"),
                    (
                        "directions[places[i]] if weight_scores[i] > -np.inf",
                        "directions[places[0]] if weight_scores[i] > -np.inf",
                    ),
                ],
                "kernels/engine/choices": [
                    ("= place % kinds", "= 0"),
                ],
                "kernels/engine/oracles": [
                    ("theirs - mine for", "mine - theirs for"),
                ],
                "structures/events/cpu_trees": [
                    ("if low < start and start < high and high < end:", "if False:"),
                ],
            },
            FREE: {
                "structures/non_projective_tree/cpu_matrix_tree": [
                    (
                        "for j in range(1, k + 1):\n            pivot",
                        "for j in range(1, k):\n            pivot",
                    ),
                    ("log_total += np.log(pivot)", "log_total = np.log(pivot)"),
                    ("(1.0 - through if in_pivot else 0.0)", "(1.0 if in_pivot else 0.0)"),
                    ("weights[m, likeliest + 1], weights[m, 1]", "weights[m, 1], weights[m, likeliest + 1]"),
                    ("return shift + root_top", "return shift"),
                ],
                "structures/non_projective_tree/cpu_matrix_tree_extended": [
                    ("ranks[:, 0] -= ORDER", "pass"),
                    ("settled(total * pivot, top + rank)", "settled(total, top + rank)"),
                    ("values, ranks, None, single_root, mass, None)", "values, ranks, None, True, mass, None)"),
                ],
                "structures/non_projective_tree/cpu_wilson": [
                    ("path = into + weights[k, j]", "path = weights[k, j]"),
                    ("out[h] = exp(scores[h] - top)", "out[h] = 1.0"),
                    ("in_tree[first + 1] = True", "in_tree[first] = True"),
                    ("weights[1, i, k + 1] + weights[1, k, j]", "weights[1, i, k + 1]"),
                    ("through[k] = k + _draw_log(_ways(weights, k, heads[k]), state)", "through[k] = k"),
                ],
                "structures/non_projective_tree/cpu_max_marginals": [
                    ("row[0], row[1] = 0.0, -np.inf", "row[0], row[1] = -np.inf, -np.inf"),
                    ("_raise(weights[i, : ROOTS + k], weights[i, ROOTS + k], row)", "pass"),
                    ("best + (out[m, h] - top)", "best + out[m, h]"),
                ],
                "structures/non_projective_tree/halves": [
                    ("other + i - kept]", "first + i - kept]"),
                ],
                "structures/non_projective_tree/cpu_numbers": [
                    ("by_change * source[j] + by * source_change[j]", "by * source_change[j]"),
                    ("changes[i, j] -= mean", "pass"),
                    ("settled(total, top)", "(total, rank)"),
                ],
                "structures/non_projective_tree/cpu_marginals": [
                    ("ORDER if single_root and h == 0 else 0.0", "0.0"),
                    ("mass[h] * (moved[h] - mean)", "mass[h] * moved[h]"),
                ],
                "structures/non_projective_tree/cpu_entropy": [
                    ("1 if single_root and k > 0 else 0", "0"),
                    ("if not result >= LEAST_SURPRISE:", "if False:"),
                    ("logs[m, 0] -= shift", "pass"),
                    ("result += mass[m, h] * costs[m, h]", "result += 0.0"),
                ],
                "structures/non_projective_tree/chu_liu_edmonds": [
                    ("scores[h] = nodes.scores[node, h] - loss if", "scores[h] = nodes.scores[node, h] if"),
                    ("range(int(single_root), scores", "range(0, scores"),
                    ("if roots == 1 or not single_root", "if roots >= 1 or not single_root"),
                    ("range(count - 1, heads.shape[0], -1)", "range(heads.shape[0] + 1, count)"),
                ],
                "structures/non_projective_tree/kbest": [
                    ("allowed[new] = allowed[part]", "pass"),
                    ("allowed[part, word] = False", "pass"),
                    ("if h != head and not below[word, h]", "if h != head"),
                    ("if owner[entered] == node and entered != word", "if False"),
                    ("displaced[word] += ", "displaced[word] = "),
                ],
                "structures/events/cpu_trees": [
                    ("np.sum(above[:n] == 0) == 1", "True"),
                    ("seen[place] == word:", "seen[place] < 0:"),
                    ("if place < 0 or place > n:", "if place < 0:"),
                ],
            },
            CODES: {
                "kernels/engine/features": [
                    ("product *= 1.0 + odds[i, feature]", "product *= 1.0"),
                    ("worse if first else better\n", "better\n"),
                    ("better if first else worse\n", "better\n"),
                    ("* (worse if first else better) - turned", "* better - turned"),
                    ("turn * better * worse * move if", "turn * better * move if"),
                    ("less / (whole + less) * move", "less * move"),
                ],
                "kernels/engine/feature_surprises": [
                    ("worse * gap\n", "gap\n"),
                    ("if first == (one >= two)", "if first != (one >= two)"),
                    ("if max(one, two) == -np.inf:", "if False:"),
                ],
                "kernels/engine/choices": [
                    ("code += unit * choice_of_value", "code = unit * choice_of_value"),
                    ("code += unit * (1 - better if less else better)", "code += unit * better"),
                ],
                "kernels/engine/backend": [
                    ("for each in (negative, positive))", "for each in (positive, negative))"),
                    ("zip((1, 0), scores", "zip((0, 1), scores"),
                ],
            },
            SPANS: {
                "structures/span_tree/cky": [
                    ("count=j - i - 1", "count=1"),
                    ("mirror=inside[j, i]", "mirror=inside[i, j]"),
                ],
                "kernels/engine/features": [
                    ("weight_scores[i] += log(products[i])", "weight_scores[i] += 0.0"),
                    ("+= mass * shares[i, feature, value]", "+= mass"),
                    ("mass[i] * (moves[value] - mean)", "mass[i] * moves[value]"),
                    ("shares[i, feature, value] /= total", "shares[i, feature, value] /= 1.0"),
                    ("feature, best] + mean", "feature, best]"),
                ],
                "kernels/engine/feature_surprises": [
                    ("inner_surprise[i] += _surprise", "inner_surprise[i] -= _surprise"),
                    ("expected + np.log1p(rest)", "expected"),
                ],
                "kernels/engine/choices": [
                    ("bound + less)", "bound)"),
                    ("place * scores.shape[2] + best_of(scores, place, 0)", "place * scores.shape[2]"),
                    ("code += unit * find(flat, first, width, uniform(state))", "code += 0"),
                    ("place += 1", "place += 0"),
                ],
                "kernels/engine/rings": [
                    ("shift += constant * progress", "shift += constant"),
                    ("(numbers[i] > HIGH) |", "(numbers[i] > np.inf) |"),
                    ("(numbers[i] < LOW) &", "(numbers[i] < 0.0) &"),
                ],
                "kernels/engine/entropy": [
                    ("mean += inner_surprise[whole]", "mean += 0.0"),
                    ("mean = expected[out] - inner_surprise[whole] if", "mean = expected[out] if"),
                ],
                "structures/sparse": [
                    ("each % names", "0 * each"),
                ],
                "kernels/cpu_sample": [
                    ("number * sums[first + count - 1]", "number"),
                ],
                "kernels/cpu_kbest": [
                    ("= search.choices[parent, before]", "= 0"),
                    ("values, best, score)", "values, 0, score)"),
                ],
            },
            GRAMMAR: {
                "structures/pcfg/cpu_kbest": [
                    ("if choice != search.choices[rank, place]:", "if True:"),
                    ("score - top_below)", "score)"),
                    ("code // labels % labels", "code % labels"),
                ],
                "structures/pcfg/cpu_cky": [
                    ("column[c] + below[c] > top:", "column[c] > top:"),
                    ("+ spans[b, i, i + width, label]", ""),
                    ("range(2, width - 1)", "range(2, width - 2)"),
                ],
                "structures/pcfg/cpu_sample": [
                    ("total += shares[part] *", "total +="),
                    ("weights[k] *= below[k - start]", "pass"),
                    ("weights[left] = rules[left, right] *", "weights[left] ="),
                ],
                "structures/pcfg/cpu_inside": [
                    ("rule_tops[g] + top + np.log(peak)", "rule_tops[g] + np.log(peak)"),
                    ("left += workspace.before[i,", "left += workspace.before[last,"),
                    ("chart[i, width, label] /= peak", "pass"),
                ],
                "structures/pcfg/cpu_gradients": [
                    ("rules *= grammar.rules", "pass"),
                ],
                "structures/pcfg/cpu_duals": [
                    ("row_moves[j, k] + matrix_moves[r, k] * rows[j, k]", "row_moves[j, k]"),
                    ("c * matrix[r, k] + a * matrix_moves[r, k]", "c * matrix[r, k]"),
                ],
                "structures/pcfg/cpu_inside_derivative": [
                    ("top = max(top, share_moves[k])", "top = 0.0"),
                    ("move += value * moves.spans[b, i, width, label]", "pass"),
                    ("top_of(scores), np.log(chart[b, i, width, s + 1])", "top_of(scores), 0.0"),
                    ("change += moves.grammar.root[group, label] * chart[0, n, label]", "pass"),
                    ("beside * right_move + moved.shares[j, narrow] * right", "beside * right_move"),
                ],
                "structures/pcfg/cpu_outside_derivative": [
                    ("/ total - around.spans[0, n, label] * growth", "/ total"),
                    ("+= around.spans[i, width, label] * grown[i, width, label]", "+= 0.0"),
                    ("around_moves.left[k - 2, label] + share_move * left", "around_moves.left[k - 2, label]"),
                    ("            moved.words[i, c] *= weight", "            pass"),
                    ("if not growth[b] >= least[b]:", "if False:"),
                ],
                "structures/pcfg/cpu_entropy": [
                    ("growth + ends", "growth"),
                    ("table += rules_of(direction.moves.grammar, expected)", "pass"),
                    ("least[underflowed] = np.inf\n    return", "return"),
                ],
                "structures/pcfg/cpu_max_marginals": [
                    ("around.turned[right, left] =", "around.turned[left, right] ="),
                    ("max_pull(rules.before[g], around.before[i].reshape(-1), around.words[i])", "pass"),
                    ("best + workspace.words[i, b]", "best + workspace.words[i, c]"),
                ],
                "structures/context_free": [
                    ("& (self.lengths != 1)", ""),
                    ("top, -1), emitted", "top - 1, -1), emitted"),
                ],
                "structures/pcfg/distribution": [
                    ("(parent * self._labels + left)", "(parent * self._labels + right)"),
                ],
            },
            LOW_RANK: {
                "structures/low_rank_pcfg/cpu_splits": [
                    ("total[q] += share * above[q] * below[q]", "total[q] += above[q] * below[q]"),
                    ("to_right[q] += weighted * above[q]", "to_right[q] += weighted * below[q]"),
                    ("tops[firsts[b] + i] + np.log(peak)", "tops[firsts[b] + i]"),
                ],
                "structures/low_rank_pcfg/cpu_sample": [
                    ("total += shares[part] *", "total +="),
                    ("i + part, width - part, ranks + rank,", "i + part, width - part, rank,"),
                ],
                "structures/low_rank_pcfg/weights": [
                    ("into.head.add_(self.root.unsqueeze(2) * tops.unsqueeze(1))", "pass"),
                    ("gradients.head.mul_(self.head)", "gradients.head"),
                    (
                        "add_outer(rows[first:last], others[first:last], matrix)",
                        "add_outer(rows, others, matrix)",
                    ),
                ],
                "structures/low_rank_pcfg/cpu_outside": [
                    ("labels *= span_weights\n", "pass\n"),
                ],
                "structures/low_rank_pcfg/cpu_inside": [
                    ("tops = tops + work.weights.rule_top", "tops = tops + 0 * work.weights.rule_top"),
                ],
            },
            SPANNING: {
                "structures/spanning_tree/rooted": [
                    ("_by_edge(self._trees.outside(", "_by_edge(2 * self._trees.outside("),
                    ("_by_edge(self._trees.entropy_gradient(", "_by_edge(2 * self._trees.entropy_gradient("),
                    ("return on_arcs.from_arcs(by_arc, ", "return on_arcs.from_arcs(2 * by_arc, "),
                ],
                "structures/spanning_tree/cpu": [
                    ("_require(edges, absent, lengths) or _", "_"),
                ],
            },
        }
    ),
    *mutations(
        {
            PLANAR: {
                "structures/events/reference": [
                    ("trees & ~_crosses(heads, positions) if", "trees if"),
                ],
                "structures/projective_tree/reference": [
                    ("arcs.diagonal(-width, -2, -1)", "arcs.diagonal(width, -2, -1)"),
                    ("n - width, shift=1", "n - width, shift=0"),
                    ("[0] if single_root", "[last] if single_root"),
                ],
            },
            FREE: {
                "structures/events/reference": [
                    ("(roots == 1)", "(roots >= 1)"),
                    ("range(heads.shape[-1].bit_length())", "range(1)"),
                ],
                "structures/non_projective_tree/max_marginals": [
                    ("reversed(shares)", "shares"),
                ],
                "structures/non_projective_tree/matrix_tree": [
                    ("weights[:, :k, k + 1, None]", "weights[:, :k, k, None]"),
                    ("order == order_of_trees", "order >= order_of_trees"),
                    ("total - expected)", "total + expected)"),
                ],
            },
            SPANS: {
                "structures/span_tree/reference": [
                    ("total(semiring, semiring.sum(values, -1), ", "total(semiring, values[..., 0], "),
                    ("part : part + count] for", ": count] for"),
                ],
            },
            SIBLINGS: {
                "kernels/engine/reference": [
                    (".masked_fill(beyond, 0.0)", ""),
                    ("at[program.leaves], at[-1] = ONE, ONE", "at[program.leaves] = ONE"),
                    ("tensor(np.where(whole >= 0, whole, weights))", "tensor(np.where(whole >= 0, 0, weights))"),
                ],
                "kernels/engine/sizes": [
                    ("min(needs[row], needs[s])", "needs[row]", 2),
                ],
            },
            GRAMMAR: {
                "structures/pcfg/reference": [
                    ("narrower[..., 1:, None, :]", "narrower[..., :count, None, :]"),
                ],
            },
            SPANNING: {
                "structures/spanning_tree/reference": [
                    ("(1 - required)", "(0 * required)"),
                    ("lengths - _count(required)", "lengths"),
                ],
                "structures/spanning_tree/arcs": [
                    ("(upper + upper.mT)[:, 1:]", "upper.mT[:, 1:]"),
                ],
                "structures/spanning_tree/prim": [
                    ("fixed[rank, :place] = True", "pass"),
                    ("closed[rank] = closed[source]", "pass"),
                    ("if required[u, v] != required[x, y]:", "if False:"),
                    ("else displaced[u, old]", "else -1"),
                ],
                "structures/events/reference": [
                    ("marked & complete & _connects", "marked & _connects"),
                ],
            },
        },
        backend="reference",
    ),
]
