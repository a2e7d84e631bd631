"""Recursions as tables: one driver answers every question about any of them.

A recursion is a `program.Program`, a table of sums of products written by NumPy; nothing is compiled for it.
Visits of its rows give sums, marginals, growth, entropies and best scores (`sums`, `growth`, `surprise`,
`bounds`), walks from the top cell down give best structures, samples and the k best (`walk`). `items` and `chosen`
go through the items of a batch with them. `questions` and `backend` call these for tensors; `flat` does for
structures that have kernels of their own for sums, best structures and samples.
"""
