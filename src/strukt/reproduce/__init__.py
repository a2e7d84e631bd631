"""The published tables, run again: `strukt reproduce`.

A table is a file `tables/NAME.json`: its source, the corpora, and for each row the options of `strukt train` and
the published number. Recorded results are in `recorded/NAME.json`, and in `recorded/NAME-quick.json` for the
quick version, which takes minutes. Both have the form of the file that a run writes: a new result is recorded by
copying it.
"""
