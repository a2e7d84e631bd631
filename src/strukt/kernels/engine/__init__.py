"""The engine of table programs: recursions as tables, and one driver that evaluates any of them.

A recursion is a `program.Program`: a table of sums of products, written with NumPy. Nothing is compiled for it.
Passes over its rows compute log-partitions, marginals and their derivatives, entropies, and best scores
(`inside_outside`, `growth`, `entropy`, `max_inside_outside`). Walks from the cell of the total down choose best
structures, samples and the k best (`walk`). `items` and `chosen` apply both to the items of a batch. `operators`
and `backend` call these for tensors. `flat` calls them for structures with kernels of their own: for operators
that these kernels lack, and for items that underflow in them.
"""
