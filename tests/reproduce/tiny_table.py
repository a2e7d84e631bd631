"""A table of two trainings of a second each, on lines of random numbers."""

SIZES = "--encoder lstm --size 8 --trainer.epochs 2 --trainer.tokens 200 --trainer.threads 1"
LINES = {"shortest": 3, "longest": 6, "largest": 1}
CONTENT = {
    "title": "Counting", "source": "Nobody (2020)", "measure": "squared error", "task": "count", "metric": "mse",
    "made": {f"numbers/{part}.txt": {"number": 60, "seed": seed, **LINES} for seed, part in enumerate("abc")},
    "files": {"train": "numbers/a.txt", "dev": "numbers/b.txt", "test": "numbers/c.txt"},
    "options": SIZES, "quick": {"first": {"train": 20}, "options": "--trainer.epochs 1"},
    "rows": [
        {"name": "none", "title": "no attention", "options": "--attention none"},
        {"name": "additive", "title": "additive", "options": "--attention additive", "paper": {"mean": 1.0}},
    ],
}  # fmt: skip
