"""Comparisons of strukt with other libraries; `docs/benchmarks.md` has the results and the commands."""
