"""The engine of table programs: recursions as tables, and one driver that evaluates any of them.

A recursion is a `program.Program`, a table of sums of products written by NumPy; nothing is compiled for it.
Passes over its rows compute sums, marginals, growth, entropies and best scores (`inside_outside`, `growth`,
`entropy`, `max_inside_outside`); walks from the top cell down yield best structures, samples and the k best
(`walk`). `items` and `chosen` apply both to the items of a batch. `operators` and `backend` call these for
tensors; so does `flat` for structures with dedicated kernels for sums, best structures and samples.
"""
