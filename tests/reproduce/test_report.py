"""Reports on tables and results."""

from strukt.reproduce import table as tables
from strukt.reproduce.report import comparison, expected_minutes, overview, total_minutes
from strukt.reproduce.results import Results, Run, recorded


def test_our_numbers_stand_beside_the_published_and_the_recorded_ones():
    table = tables.load("cogs")
    ours = Results("cogs", False, (Run("pt", 1, "", test={"sentences": 84.0}, minutes=100.0),))
    ours = ours.with_run(Run("pt", 3, "", test={"sentences": 86.0}, minutes=120.0))
    rows = comparison(table, [table.row("pt"), table.row("pt-hide")], ours)
    assert rows[0][1:] == ("test", "dev", "paper", "recorded test", "dev", "seeds", "minutes")
    assert rows[1][1:] == ("85 ± 1.4", "–", "84.6 ± 2.1", "82.09 ± 2", "100 ± 0", "1, 3", "110")
    assert rows[2][1:] == ("–", "–", "–", "78 ± 4.5", "–", "–", "–")


def test_runs_without_the_score_of_the_table_have_none():
    table = tables.load("counting")
    rows = comparison(table, [table.row("rnn")], Results("counting", True))
    assert rows[1][3:6] == ("720.3", "–", "–")  # recorded is the accuracy on the development corpus


def test_all_tables_are_listed():
    rows = overview(map(tables.load, tables.names()))
    assert [row[0] for row in rows[1:]] == list(tables.names())
    assert len({len(row[-1]) for row in rows}) == 1
    by_name = {row[0]: row for row in rows}
    assert by_name["cogs"][1:4] == ("3", "3", "178")


def test_expected_minutes_are_those_of_recorded_runs_or_an_estimate():
    table = tables.load("hidden-markov")
    known = recorded("hidden-markov", quick=False)
    assert expected_minutes(table.row("dense-1024"), known) == 46  # recorded
    assert expected_minutes(table.row("ngram"), known) == table.row("ngram").full.minutes == 1  # estimated
    assert expected_minutes(table.row("low-rank-4096-512"), known) is None


def test_minutes_that_nobody_knows_are_a_plus():
    assert total_minutes(tables.load("hidden-markov"), recorded("hidden-markov", quick=False)) == "178+"
    assert total_minutes(tables.load("feature-maps"), recorded("feature-maps", quick=False)) == "–"
