"""The pictures of the guides, drawn from the scores and code in their pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gallery import ARCS, FOLLOWS, MEAL, TAG_SCORES, TAGS, WORDS

from strukt import HMM, LinearChain, ProgramBuilder, ProjectiveTree
from strukt.viz import Diagram, HeatMap, Lattice, svg

ROLLS = (3, 1, 5, 2, 4, 6, 6, 2, 6, 6, 3, 6, 6, 1, 4, 2, 5, 3)


def tree() -> str:
    """Draw the picture of the tour: the best tree, with the probabilities of its arcs."""
    trees = ProjectiveTree(3 * ARCS)
    heads = trees.mode
    probabilities = trees.marginals.gather(-1, heads.unsqueeze(-1)).squeeze(-1)
    return svg.document(Diagram(MEAL, heads=heads.tolist(), head_probabilities=probabilities.tolist()))


def lattice() -> str:
    """Draw the picture of the guide to taggers: all tags of a sentence, and the steps between them."""
    chain = LinearChain(TAG_SCORES, FOLLOWS)
    return svg.document(Lattice(WORDS, TAGS, chain.marginals.tolist(), chain.transition_marginals.tolist()))


def recursion() -> str:
    """Draw the picture of the guide to your own structure: the recursion that folds three bases."""
    page = Path(__file__).with_name("guides") / "your-own-structure.md"
    code = re.findall(r"^def foldings.*?\n\n\n", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]
    shown: dict[str, Any] = {"np": np, "ProgramBuilder": ProgramBuilder}
    exec(code, shown)
    drawn: str = shown["foldings"](3).svg()
    return drawn


def casino() -> str:
    """Draw the picture of the guide to hidden Markov models: the probability of the loaded die at each roll.

    It is given the rolls so far (filter), and given all rolls (smooth).
    """
    die = torch.full((6,), 1 / 6, dtype=torch.float64)
    loaded = torch.tensor([0.1] * 5 + [0.5], dtype=torch.float64)
    steps = torch.tensor([[0.95, 0.05], [0.10, 0.90]], dtype=torch.float64)
    hmm = HMM(steps.new_full((2,), 0.5).log(), steps.log(), torch.stack([die, loaded]).log())
    rolls = torch.tensor(ROLLS) - 1
    answers = torch.stack([hmm.filter(rolls)[:, 1], hmm.smooth(rolls)[:, 1]])
    return svg.document(
        HeatMap(
            "How probable the loaded die is", ("filter", "smooth"), tuple(map(str, ROLLS)), answers.tolist()
        )
    )


PICTURES = {"tree.svg": tree, "lattice.svg": lattice, "casino.svg": casino, "recursion.svg": recursion}
