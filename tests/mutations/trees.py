"""Bugs of trees: of words, of spans, of a grammar, of a graph."""

from __future__ import annotations

from tests.mutations.mutation import CODES, FREE, GRAMMAR, LOW_RANK, PLANAR, SPANNING, SPANS, mutations

TREES = [
    *mutations(
        {
            PLANAR: {
                "kernels/eisner/program": [
                    ("left[j, i + 1], count=width", "left[j, i], count=width"),
                    ("weight=arc[i, j + 1]", "weight=arc[j, i + 1]"),
                    ("right[n - 1, 0], count=n", "right[n - 1, 0], count=1"),
                    ("left[word, 0], count=word + 1", "left[word, 0], count=1"),
                ],
                "kernels/engine/rings": [
                    ("        shift += top\n", ""),
                    ("own /= total", "own /= 1.0"),
                    ("rate * scale(powers[k] - top)", "scale(powers[k] - top)"),
                    ("room[k] * scale(powers[k] - top)", "room[k]"),
                    ("logs[i] += exponent[i] * LOG_TWO", "logs[i] += 0.0"),
                    ("        add_run(room, weights, each, count)", "        pass"),
                ],
                "kernels/engine/sums": [
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
                "kernels/engine/surprise": [
                    ("found[dominant] = -np.log1p(-rest)", "found[dominant] = 0.0"),
                    ("(found[k] - expected[out])", "found[k]"),
                    ("log = logs[out] - weight_logs[whole]", "log = logs[out]"),
                    ("if room[k] > 0.0:  #", "if True:  #"),
                ],
                "kernels/engine/bounds": [
                    ("rest += own[whole]", "rest += 0.0"),
                    ("_raise_run(room, around, right, count)", "pass"),
                    ("top += own[np.uint64(rows[s, WEIGHT])]", "top += 0.0"),
                ],
                "kernels/engine/walk": [
                    ("remaining -= shares[k]", "remaining -= 0.0"),
                    ("row[EACH] + k\n", "row[EACH]\n"),
                    ("place += 1", "place += 0"),
                ],
                "kernels/engine/items": [
                    ("factor * parts[i]", "parts[i]"),
                    ("value[table.top] > SMALLEST", "value[table.top] > 2.0"),
                ],
                "kernels/engine/chosen": [
                    ("shift + score", "score"),
                    ("place % alternatives", "0"),
                    ("parts[j - 1] > place", "parts[j - 1] < place"),
                ],
                "kernels/engine/oracles": [
                    ("theirs - mine for", "mine - theirs for"),
                ],
                "kernels/events/cpu_trees": [
                    ("if low < start and start < high and high < end:", "if False:"),
                ],
            },
            FREE: {
                "kernels/matrix_tree/cpu": [
                    (
                        "for j in range(1, k + 1):\n            pivot",
                        "for j in range(1, k):\n            pivot",
                    ),
                    ("log_total += np.log(pivot)", "log_total = np.log(pivot)"),
                    ("(1.0 - through if in_pivot else 0.0)", "(1.0 if in_pivot else 0.0)"),
                    ("weights[m, likeliest + 1], weights[m, 1]", "weights[m, 1], weights[m, likeliest + 1]"),
                    ("return shift + root_top", "return shift"),
                ],
                "kernels/matrix_tree/cpu_log": [
                    ("orders[m, h] = 1 if h == 0", "orders[m, h] = 0 if h == 0"),
                    ("path = into + weights[k, j]", "path = weights[k, j]"),
                    ("rest = 1.0 - through.sum()", "rest = 1.0"),
                ],
                "kernels/matrix_tree/cpu_sample": [
                    ("out[h] = exp(scores[h] - top)", "out[h] = 1.0"),
                    ("in_tree[first + 1] = True", "in_tree[first] = True"),
                    ("weights[1, i, k + 1] + weights[1, k, j]", "weights[1, i, k + 1]"),
                    ("through[k] = k + _draw_log(_ways(weights, k, heads[k]), state)", "through[k] = k"),
                ],
                "kernels/matrix_tree/edmonds": [
                    ("scores[h] = nodes.scores[node, h] - lost if", "scores[h] = nodes.scores[node, h] if"),
                    ("range(int(single_root), scores", "range(0, scores"),
                    ("if roots == 1 or not single_root", "if roots >= 1 or not single_root"),
                    ("range(count - 1, heads.shape[0], -1)", "range(heads.shape[0] + 1, count)"),
                ],
                "kernels/matrix_tree/arborescence": [
                    ("allowed[new] = allowed[part]", "pass"),
                    ("allowed[part, word] = False", "pass"),
                    ("if h != head and not below[word, h]", "if h != head"),
                    ("if owner[entered] == node and entered != word", "if False"),
                    ("displaced[word] += ", "displaced[word] = "),
                ],
                "kernels/events/cpu_trees": [
                    ("np.sum(above[:n] == 0) == 1", "True"),
                    ("seen[place] == word:", "seen[place] < 0:"),
                    ("if place < 0 or place > n:", "if place < 0:"),
                ],
            },
            CODES: {
                "kernels/codes/cpu": [
                    ("product *= 1.0 + rests[t]", "product *= rests[t]"),
                    ("+= np.log(products[j])", "+= products[j]"),
                    ("better if above else other", "better"),
                    ("weights[b] * (mass[i, j] + mass[j, i])", "mass[i, j] + mass[j, i]", 2),
                    ("weights[b] * (change[i, j] + change[j, i])", "change[i, j] + change[j, i]"),
                    ("share * (rest + other * apart)", "share * rest"),
                    ("own[i, j] = growth if", "own[i, j] = 0.0 if"),
                ],
            },
            SPANS: {
                "kernels/inside/cpu_derivative": [
                    ("weights[b] * (change[i, j] + change[j, i])", "change[i, j] + change[j, i]"),
                    ("(direction[b, i, j, label] - own[i, j])", "direction[b, i, j, label]"),
                    ("growth[j, i] = own[i, j] + own[j, i]", "growth[j, i] = own[i, j]"),
                    ("range(size - 1, 1, -1)", "range(size - 1, 2, -1)"),
                ],
                "kernels/cpu_semiring": [
                    ("own = change - mass * growth", "own = change"),
                    ("own + mass * (left_growth", "own + (left_growth"),
                    ("found += term * (left_growth", "found += (left_growth"),
                ],
                "kernels/inside/cpu_chart": [
                    ("range(size - 1, 1, -1)", "range(size - 1, 2, -1)"),
                    ("tops[j] + np.log(totals[j])", "tops[j]"),
                    ("(2 * n - 1) * shift", "2 * n * shift"),
                    ("logs[j, i] = sums[j]", "logs[j, i] = value"),
                ],
                "kernels/inside/cpu": [
                    ("weights[b] * (mass[i, j] + mass[j, i])", "mass[i, j] + mass[j, i]"),
                ],
                "kernels/inside/cpu_kbest": [
                    ("stack[depth + 1, 1] = split, j", "stack[depth + 1, 1] = split, j - 1"),
                    ("logs[i, j] += np.float64(top)", "logs[i, j] = top + 1.0"),
                    ("rank, given, scores[rank], labels", "rank, given - 1, scores[rank], labels"),
                ],
                "kernels/inside/cpu_sample": [
                    ("stack[depth + 1, 1] = split, j", "stack[depth + 1, 1] = split, j - 1"),
                    ("n + feature * alternatives,", "feature * alternatives,"),
                    ("i * (n + 1) + j)", "i + j)"),
                ],
                "kernels/cpu_draw": [
                    ("number * sums[first + count - 1]", "number"),
                ],
                "kernels/cpu_search": [
                    ("search.choices[rank] = search.choices[parent]", "pass"),
                    ("values, best, score)", "values, 0, score)"),
                ],
            },
            GRAMMAR: {
                "kernels/pcfg/cpu_kbest": [
                    ("if choice != search.choices[rank, place]:", "if True:"),
                    ("score - top_below)", "score)"),
                    ("code // labels % labels", "code % labels"),
                ],
                "kernels/pcfg/cpu_best": [
                    ("column[c] + below[c] > top:", "column[c] > top:"),
                    ("+ spans[b, i, i + width, label]", ""),
                    ("range(2, width - 1)", "range(2, width - 2)"),
                ],
                "kernels/pcfg/cpu_sample": [
                    ("total += shares[part] *", "total +="),
                    ("weights[k] *= below[k - start]", "pass"),
                    ("weights[left] = rules[left, right] *", "weights[left] ="),
                ],
                "kernels/pcfg/cpu_inside": [
                    ("rule_tops[g] + top + np.log(peak)", "rule_tops[g] + np.log(peak)"),
                    ("left += room.before[i,", "left += room.before[last,"),
                    ("chart[i, width, label] /= peak", "pass"),
                ],
                "kernels/pcfg/cpu": [
                    ("found *= grammar.rules", "pass"),
                ],
                "distributions/context_free": [
                    ("& (self.lengths != 1)", ""),
                    ("top, -1), emitted", "top - 1, -1), emitted"),
                ],
                "distributions/grammar": [
                    ("(parent * self._labels + left)", "(parent * self._labels + right)"),
                ],
            },
            LOW_RANK: {
                "kernels/low_rank_pcfg/cpu_splits": [
                    ("total[q] += share * above[q] * below[q]", "total[q] += above[q] * below[q]"),
                    ("to_right[q] += weighted * above[q]", "to_right[q] += weighted * below[q]"),
                    ("tops[firsts[b] + i] + np.log(peak)", "tops[firsts[b] + i]"),
                ],
                "kernels/low_rank_pcfg/cpu_sample": [
                    ("total += shares[part] *", "total +="),
                    ("i + part, width - part, ranks + rank,", "i + part, width - part, rank,"),
                ],
                "kernels/low_rank_pcfg/weights": [
                    ("gradients.head.mul_(self.head)", "gradients.head"),
                    (
                        "add_outer(rows[first:last], others[first:last], matrix)",
                        "add_outer(rows, others, matrix)",
                    ),
                ],
                "kernels/low_rank_pcfg/passes": [
                    ("into.head.add_(weights.root.unsqueeze(2) * whole.unsqueeze(1))", "pass"),
                    ("labels *= own\n", "pass\n"),
                    ("tops = tops + work.weights.rule_top", "tops = tops + 0 * work.weights.rule_top"),
                ],
            },
            SPANNING: {
                "kernels/spanning/cpu": [
                    ("from_arcs(found, ", "from_arcs(2 * found, "),
                ],
            },
        }
    ),
    *mutations(
        {
            PLANAR: {
                "kernels/events/reference": [
                    ("trees & ~_crosses(heads, positions) if", "trees if"),
                ],
                "kernels/eisner/reference": [
                    ("arcs.diagonal(-width, -2, -1)", "arcs.diagonal(width, -2, -1)"),
                    ("n - width, shift=1", "n - width, shift=0"),
                    ("[0] if single_root", "[last] if single_root"),
                ],
            },
            FREE: {
                "kernels/events/reference": [
                    ("(roots == 1)", "(roots >= 1)"),
                    ("range(heads.shape[-1].bit_length())", "range(1)"),
                ],
                "kernels/matrix_tree/reference": [
                    ("weights[:, :k, k + 1, None]", "weights[:, :k, k, None]"),
                    ("order == wanted", "order >= wanted"),
                    ("total - expected)", "total + expected)"),
                ],
            },
            SPANS: {
                "kernels/inside/reference": [
                    ("values = semiring.sum(values, -1)", "values = values[..., 0]"),
                    ("part : part + count] for", ": count] for"),
                ],
            },
            GRAMMAR: {
                "kernels/pcfg/reference": [
                    ("narrower[..., 1:, None, :]", "narrower[..., :count, None, :]"),
                ],
            },
            SPANNING: {
                "kernels/spanning/reference": [
                    ("(1 - required)", "(0 * required)"),
                    ("lengths - _count(required)", "lengths"),
                ],
                "kernels/spanning/arcs": [
                    ("(upper + upper.mT)[:, 1:]", "upper.mT[:, 1:]"),
                ],
                "kernels/spanning/trees": [
                    ("fixed[rank, :place] = True", "pass"),
                    ("closed[rank] = closed[source]", "pass"),
                    ("if required[u, v] != required[x, y]:", "if False:"),
                    ("else displaced[u, old]", "else -1"),
                ],
                "kernels/events/reference": [
                    ("marked & complete & _connects", "marked & _connects"),
                ],
            },
        },
        backend="reference",
    ),
]
