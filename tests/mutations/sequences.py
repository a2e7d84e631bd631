"""Bugs of sequences: chains, segments, alignments, CTC."""

from __future__ import annotations

from tests.mutations.mutation import CHAIN, FRAMES, GRID, SEGMENTS, mutations

SEQUENCES = [
    *mutations(
        {
            CHAIN: {
                "structures/linear_chain/forward": [
                    ("(step * c + of) * c + to", "(step * c + to) * c + of"),
                    ("np.minimum(t, steps) - 1", "0 * t"),
                ],
                "kernels/engine/flat": [
                    ("each[chosen // (batch // len(each))]", "each[chosen % len(each)]"),
                    ("0, chosen // (batch // len(result))", "0, 0 * chosen"),
                ],
                "kernels/engine/rows": [
                    ("reduced(part, score, torch.sum)", "reduced(part, score, torch.amax)"),
                ],
                "structures/linear_chain/cpu_weights": [
                    ("TINY = 1e-100", "TINY = 0.0"),
                    ("z * matrix[i + 7, j]", "z * matrix[i + 6, j]"),
                    ("        i += 8", "        i += 9"),
                    ("for j in range(left, min(left + 8, i)):", "for j in range(left, min(left + 7, i)):"),
                    ("tops[group] = top if safe else np.nan", "tops[group] = top"),
                    ("        if transposed:\n", "        if not transposed:\n"),
                ],
                "structures/linear_chain/cpu_forward": [
                    ("logs[q] += top if safe", "logs[q] += 0.0 if safe"),
                    ("logs[q] += np.log(factors[q])", "logs[q] = np.log(factors[q])"),
                    ("< 1.0 / TINY or t == lengths[q] - 1", "< 1.0 / TINY"),
                    ("entered[q, j] * weight[j] * scale", "entered[q, j] * scale"),
                    ("if t >= lengths[q] or not logs", "if t > lengths[q] or not logs"),
                    ("log_partition[q] += top", "log_partition[q] -= top"),
                    ("if mass < TINY:", "if mass < 0.0:"),
                ],
                "structures/linear_chain/cpu_backward": [
                    ("weight[j] * beta[j] * scale", "weight[j] * beta[j]"),
                    ("weight[j] * beta[q, j] * scale", "weight[j] * beta[q, j]"),
                    ("* scale if chart[b, t, j] > 0.0 else 0.0", "* scale"),
                    ("if t < lengths[q] - 1:", "if t < lengths[q]:"),
                    ("for t in range(n - n % 4, n):", "for t in range(n - n % 4 + 1, n):"),
                    ("range(block, min(block + 8, c))", "range(block, min(block + 7, c))", 2),
                    ("end = min(t + WINDOW, lengths[q] - 1)", "end = min(t + WINDOW, lengths[q])"),
                    ("if t % WINDOW == 0 and t < end", "if t == 0 and t < end"),
                    ("tags[b, used[b - first] :] = 0.0", "pass"),
                    ("expected[0, group, i, j] * matrix[i, j]", "expected[0, group, i, j]"),
                    ("alpha = weights[b] * chart[b, t, i]", "alpha = chart[b, t, i]"),
                ],
                "structures/linear_chain/cpu_viterbi": [
                    ("scores[j] -= top", "scores[j] += top"),
                    ("entered[i] != top", "entered[i] == top"),
                    ("best[t, i] + transition[s, i, following]", "best[t, i] + transition[s, following, i]"),
                    ("ways[i] += transition[s, i, following]", "ways[i] += 0.0"),
                    ("choice_of_value(search, rank, place,", "choice_of_value(search, rank, t,"),
                ],
                "kernels/cpu_kbest": [
                    ("scores[i - 1] < score", "scores[i - 1] > score"),
                    ("i = count - 1", "i = count - 2"),
                    ("other = score + (np.float64(ways[choice]) - baseline)", "other = np.float64(ways[choice])"),
                    (" and choice != chosen", ""),
                    ("if other > least", "if other < least"),
                    ("for i in range(1, count):", "for i in range(1, count - 1):"),
                    ("candidates.scores[remaining - 1]", "candidates.scores[0]"),
                    ("min(candidates.waiting[0] + 1, len(scores) - 1 - rank)", "candidates.waiting[0] + 1"),
                ],
                "kernels/cpu_sample": [
                    ("weights[i] += weights[i - 1]", "weights[i] += 0.0"),
                    ("low += half * int", "low += (half - 1) * int"),
                    ("int(sums[k] <= target)", "int(sums[k] < target)"),
                ],
                "structures/linear_chain/cpu_sample": [
                    ("pairs[:, following]", "pairs[following]"),
                    ("exp(table[i]) * alpha[i]", "exp(table[i])"),
                    ("made[:] = False", "pass"),
                ],
                "kernels/places/log_prob": [
                    ("*arguments, weights, chart", "*arguments, grad, chart"),
                    ("if ctx.needs_input_grad", "if not ctx.needs_input_grad"),
                ],
                "kernels/places/reference": [
                    ("numerator - torch.where(", "numerator + torch.where("),
                ],
                "structures/events/reference": [
                    ("device=lengths.device) < lengths", "device=lengths.device) <= lengths"),
                ],
                "structures/events/cpu": [
                    ("pairs += array[..., 1:]", "pairs += array[..., :-1]"),
                    ("(array >= count)", "(array > count)"),
                ],
                "kernels/places/cpu": [
                    ("numerator[b] - denominator[b]", "numerator[b] + denominator[b]"),
                    ("out[b] += score", "out[b] -= score"),
                    ("-= weight[b]", "-= weight[0]"),
                ],
                "structures/exact": [
                    ("marginals * values", "values"),
                    ("main.masked_fill(forbidden, NEG_INF)", "main.masked_fill(forbidden, 0.0)"),
                ],
                "structures/topk": [
                    ("return TopK(ranked, ", "return TopK(ranked.exp(), "),
                ],
                "structures/positional": [
                    ("(~rows | (", "(rows | ("),
                    ("(known & self._positions)", "(self._positions)"),
                ],
            },
            SEGMENTS: {
                "structures/semi_markov/forward": [
                    ("(end - back) * k + back - 1", "(end - back) * k + back % k"),
                    ("np.minimum(of, rows - 1)", "np.minimum(of, 0)"),
                    ("pair[t - 1 if steps else 0, to, 0]", "pair[0 * t, to, 0]"),
                ],
                "kernels/engine/rings": [
                    ("rate * degrees[first + i]", "rate"),
                ],
                "structures/semi_markov/cpu_forward": [
                    ("mass < TINY", "mass < 0.0"),
                    ("int((values[j] < TINY) &", "int((values[j] < 0.0) &"),
                    (
                        "log if entered[start, j] > 0.0 else -np.inf\n            logs[d * c + j] = log\n",
                        "log\n            logs[d * c + j] = log\n",
                    ),
                    ("scales[end] += shift_at(shifts, end)", "scales[end] += 0.0"),
                    ("min(position, matrices.shape[0]) - 1", "0"),
                ],
                "structures/semi_markov/cpu_backward": [
                    ("marginals[start, d, j] = weight *", "marginals[start, d, j] ="),
                    ("products[i, j] * transposed[j, i]", "products[i, j] * transposed[i, j]"),
                    ("range(max(length - k + 1, 0), n)", "range(length, n)"),
                    ("1.0 / total_of(ended[length])", "1.0"),
                ],
                "structures/semi_markov/cpu_viterbi": [
                    ("ended[end].max() + matrix[0, 0]", "ended[end].max()"),
                    (
                        "matrix[min(i, last), min(labels[end], last)]",
                        "matrix[min(labels[end], last), min(i, last)]",
                    ),
                    ("rank, place + 1, deviation", "rank, place, deviation"),
                    ("if place + 1 > deviation:", "if place > deviation:"),
                ],
                "structures/semi_markov/cpu_sample": [
                    ("np.log(entered[t, j]) + scales[t]", "np.log(entered[t, j])"),
                    ("onward, state = following[q]", "onward, state = c"),
                    ("min(table.shape[0], end)", "1"),
                ],
                "structures/semi_markov/cpu": [
                    ("matrices *= np.exp(tops - whole)[:, None, None]", "pass"),
                ],
                "structures/semi_markov/distribution": [
                    ("(known & (event >= 0)).cumsum(-1)", "known.cumsum(-1)"),
                    ("before = last.cumsum(-1) - last", "before = last.cumsum(-1)"),
                ],
                "structures/events/cpu_segments": [
                    ("t - start < longest", "t - start <= longest"),
                    ("min(following - t, longest) - 1", "min(following - t, longest)"),
                    ("label * pairs + label_after", "label + label_after * pairs"),
                ],
            },
            GRID: {
                "structures/monotone_alignment/gotoh": [
                    ("before * 3 + after", "after * 3 + before"),
                    ("enumerate(STEPS)", "enumerate(((1, 1), (1, 0), (0, 1)))"),
                ],
                "structures/monotone_alignment/cpu_forward": [
                    ("max(first, down), min(end, d - right + 1)", "max(first, down), end"),
                    ("0.0 if n == m else -np.inf", "0.0"),
                    ("before - cut * (cut + 1) // 2", "before - cut * cut // 2"),
                    ("out[3:] = -np.inf", "out[3:] = 0.0"),
                ],
                "structures/monotone_alignment/cpu_backward": [
                    ("pairs[a, move] += weight * expected", "pairs[a, move] += expected"),
                    ("0.0 if d == n + m - 2 else -np.inf", "0.0"),
                    ("entered[move, j] * mantissa,", "entered[move, j],"),
                ],
                "structures/monotone_alignment/cpu_needleman_wunsch": [
                    ("i - int(move != INSERT)", "i - 1"),
                    ("values[a] + transition[a, move]", "values[a]"),
                    ("move = choices[place]", "move = 0"),
                    ("        place += 1\n", ""),
                ],
                "structures/monotone_alignment/cpu_sample": [
                    ("numbers[:, :, onward]", "equal"),
                    ("table[a] = at_rank(table[a], ranks[a], top)", "pass"),
                ],
                "structures/monotone_alignment/cpu": [
                    (".view(groups, batch // max(groups, 1), 3, 3)", ".view(-1, groups, 3, 3).mT"),
                ],
                "structures/events/cpu_paths": [
                    ("and steps == visited", ""),
                    ("moves[row, 0, 0] == MATCH and", ""),
                    ("3 * max(min(moves[row, i, j], 2), 0) + move", "3 * move + moves[row, i, j]"),
                ],
                "structures/monotone_alignment/distribution": [
                    ("others | passing", "others"),
                    ("shifted(below_left, 1, -1)", "shifted(below_left, 0, -1)"),
                ],
            },
            FRAMES: {
                "structures/ctc/forward": [
                    ("np.where(step == 0, 1 + s, 0)", "np.where(step < 0, 1 + s, 0)"),
                    ('"amax")', '"sum")'),
                    ("torch.zeros(options[0].shape)", "torch.ones(options[0].shape)"),
                ],
                "kernels/cpu_sample": [
                    ("weights[i] / whole", "weights[i]"),
                ],
                "kernels/extended": [
                    ("(DOWN if rank == top - 1.0 else 0.0)", "1.0"),
                    ("return mantissa * factor, rank + change", "return mantissa, rank"),
                    ("rank if log > -np.inf else -np.inf", "rank"),
                ],
                "structures/ctc/cpu_forward_backward": [
                    ("0.0 if differs else -np.inf", "0.0"),
                    ("label_rank[k - 1] + skips[k]", "label_rank[k - 1]"),
                    ("ahead[1, places - 1] = ahead[3, places - 1] = 0.0", "ahead[1, places - 1] = 0.0"),
                    ("_retreat(entered, skips[1:], ahead)", "_retreat(entered, skips[:-1], ahead)"),
                    ("out[states[0]] += weight *", "out[states[0]] +="),
                    ("shares[0].sum()", "shares[0, 0]"),
                ],
                "structures/ctc/cpu_viterbi": [
                    ("and states[s] != states[s - 2]", ""),
                    ("before[s - 2] + skips[s]", "-np.inf"),
                    ("s -= choices[place]", "s -= 0"),
                    ("labels[last - place] = states[s]", "labels[last - place] = s"),
                ],
                "structures/ctc/cpu_sample": [
                    ("(1, k - 1 if may_skip(states, s) else 0)", "(1, k - 1)"),
                    ("_weigh_ways(chart[b, t], states", "_weigh_ways(chart[b, t - 1], states"),
                ],
                "structures/events/cpu_segments": [
                    ("if label not in (blank, before):", "if label != blank:"),
                ],
            },
        }
    ),
    *mutations(
        {
            CHAIN: {
                "kernels/semiring": [
                    ("return (log_total + top)", "return (log_total - top)"),
                    ("top = finite(x.detach().amax(", "top = (x.detach().amax("),
                    ("return shifted - torch.where(", "return shifted + torch.where("),
                    ("return values.max(dim).values", "return values.min(dim).values"),
                    ("values.detach() + noise", "values.detach() - noise"),
                    ("(self.k - 1, *scores.shape), NEG_INF", "(self.k - 1, *scores.shape), 0.0"),
                    ("entropies - finite(", "entropies + finite("),
                    ("crosses - log_q", "crosses + log_q"),
                ],
                "structures/linear_chain/reference": [
                    ("(position >= lengths[:, None])", "(position > lengths[:, None])"),
                    ("following, alphas[-1])", "following, alphas[0])"),
                    ("min(t, transition.shape[-3]) - 1", "-1"),
                    ("_step(transition, t)), -2)", "_step(transition, t)), -1)"),
                    ("result.append(forward[t] + beta)", "result.append(forward[t])"),
                ],
            },
            SEGMENTS: {
                "structures/semi_markov/reference": [
                    ("min(k, end)", "min(k, end - 1) or 1"),
                    ("(lengths - 1).clamp(min=0)", "(lengths - 2).clamp(min=0)"),
                    ("torch.maximum(following, at_end", "torch.minimum(following, at_end"),
                ],
            },
            GRID: {
                "structures/events/reference": [
                    ("(visited & ~last)", "visited"),
                    ("inside & begun & complete", "inside & complete"),
                    ("visited & ~first, (3", "visited, (3"),
                ],
                "structures/monotone_alignment/reference": [
                    ("transition[..., MIRRORED, :][..., MIRRORED]", "transition"),
                    ("transition + torch.stack(onward, -1)", "torch.stack(onward, -1)"),
                    ("rows[:, :, None] | columns[:, None, :]", "rows[:, :, None]"),
                    ("torch.where(neither, 0, 1)", "torch.where(neither, 1, 1)"),
                ],
            },
            FRAMES: {
                "structures/ctc/reference": [
                    ("& (place > 1)", "| (place > 1)"),
                    ("[2 * target_lengths, 2 * target_lengths + 1]", "[2 * target_lengths] * 2"),
                ],
            },
        },
        backend="reference",
    ),
]
