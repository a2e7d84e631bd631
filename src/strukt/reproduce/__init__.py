"""Reproduction of published tables, for `strukt reproduce`.

A table is a file `tables/NAME.json`: its source, the corpora, and for each row the options of `strukt train` and
the published number. Recorded results are in `recorded/NAME.json`, and in `recorded/NAME-quick.json` for the
quick version, which takes minutes. Their format is that of the file of results that a run writes: to record new
results, copy this file.
"""
