"""Bugs of sets: binary variables, matchings, subsets."""

from __future__ import annotations

from tests.mutations.mutation import BINARY, MATCHING, SUBSETS, mutations

SETS = [
    *mutations(
        {
            SUBSETS: {
                "structures/k_subset/cpu_coins": [
                    (
                        "gain[i] - tilt\n        e = exp(-abs(z))\n        many",
                        "gain[i]\n        e = exp(-abs(z))\n        many",
                    ),
                    ("required += int(left", "required += int(taken"),
                    ("tilt * (anchor(tilt, bounds) - heads)", "tilt * anchor(tilt, bounds)"),
                    ("taken * rows[source, c]", "taken * rows[source, c + 1]"),
                ],
                "structures/k_subset/cpu": [
                    ("taken * back[source, c + 2]", "taken * back[source, c + 1]"),
                    ("exp(tilt * (c - anchor(tilt, bounds)))", "1.0", 2),
                    ("size -= event[t - 1]", "size -= 1"),
                ],
                "structures/k_subset/cpu_choices": [
                    ("likely if taken > left else", "likely if taken < left else"),
                    ("source[c] if taken > 0.0", "source[c + 1] if taken > 0.0"),
                    ("taken * left * (one - none)", "taken * (one - none)"),
                    ("-log1p(-rest) if share > 0.5", "0.0 if share > 0.5"),
                    ("workspace.grown[source, c + 1] - growth)", "workspace.grown[source, c + 1])"),
                    ("workspace.changes[target, c - 1] += workspace.more[1, c]", "pass"),
                ],
                "structures/k_subset/cpu_entropy": [
                    ("growth[items] = exact.double()", "pass"),
                    ("surprises(shares if same else other_shares", "surprises(shares"),
                ],
                "structures/k_subset/cpu_kbest": [
                    ("rows[0, 1] = 0.0", "rows[0, 0] = 0.0"),
                    ("rows[t - 1, size] + scores", "rows[t - 1, size + 1] + scores"),
                    ("size -= event[t - 1]", "size -= 1"),
                    ("size = smallest +", "size ="),
                ],
                "structures/events/cpu_sets": [
                    ("size <= largest[row]", "size < largest[row]"),
                    ("present if taken", "absent if taken"),
                ],
                "inference/systematic": [
                    ("bounds[:, :-1]).detach()", "bounds[:, 1:]).detach()"),
                ],
                "structures/k_subset/distribution": [
                    ("capped_simplex.subset(gains, low)", "capped_simplex.subset(gains, high)"),
                ],
            },
        }
    ),
    *mutations(
        {
            BINARY: {
                "structures/binary_crf/reference": [
                    ("0.5 * (pairwise + pairwise.mT)", "0.5 * pairwise"),
                    ("linear - always.to(unary.dtype)", "linear"),
                    ("by_value[:, :, 1]", "by_value[:, :, 0]"),
                    ("[:, :half, half:] @ right.T", "[:, :half, half:] @ right.T * 0.5"),
                ],
                "structures/indicator": [
                    ("forbidden=known & (event != 1)", "forbidden=event != 1"),
                ],
            },
            MATCHING: {
                "structures/matching/reference": [
                    ("(m - lengths + 1)", "(m - lengths)"),
                    ("matched - (1 << row)", "matched"),
                    ("descending=True", "descending=False"),
                ],
                "structures/matching/assignment": [
                    ("(-(score + gain)", "(-gain"),
                    ("(*closed, columns[row]) if", "(columns[row],) if"),
                    ("range(len(columns), -1, -1)", "range(len(columns) + 1)"),
                    ("[_owners(weights, columns), :n].T", "[_owners(weights, columns), :n].T * 0"),
                    ("free[row])", "columns[row])"),
                    ("onward[:, through, None]", "through"),
                ],
                "structures/matching/distribution": [
                    ("& alone", ""),
                ],
            },
        },
        backend="reference",
    ),
]
