"""Lines that join, cross and give way to text."""

from strukt.viz.canvas.terminal import COLOURED, PLAIN, Grid


def drawn(*paths):
    grid = Grid()
    for path in paths:
        grid.path(path)
    return grid.render(PLAIN).split("\n")


def test_corners_join():
    assert drawn([(1, 0), (0, 0), (0, 3), (1, 3)]) == ["╭──╮", "│  │"]


def test_a_line_that_ends_on_another_makes_a_tee():
    assert drawn([(0, 2), (0, 0), (3, 0)], [(2, 0), (1, 0), (1, 2)]) == ["╭──", "├──", "│", "│"]


def test_lines_that_cross_do_not_join():
    assert drawn([(1, 0), (1, 4)], [(0, 2), (2, 2)]) == ["  │", "──│──", "  │"]


def test_direction_of_a_path_does_not_matter():
    corners = [(2, 1), (0, 1), (0, 5), (2, 5)]
    assert drawn(corners) == drawn(corners[::-1])


def test_wide_text_keeps_the_columns_behind_it():
    grid = Grid()
    grid.write(0, 0, "国", "form")
    grid.write(0, 2, "x", "form")
    assert grid.render(PLAIN) == "国x"


def test_a_plain_line_is_neither_crossed_nor_covered():
    grid = Grid()
    grid.path([(1, 0), (1, 9)])
    assert grid.is_plain_line(1, 1, 9)
    assert not grid.is_plain_line(1, 0, 3), "the end is no full cell"
    grid.path([(0, 5), (2, 5)])
    assert not grid.is_plain_line(1, 3, 6)
    grid.write(1, 2, "x", "label")
    assert not grid.is_plain_line(1, 1, 4)


def test_colours_are_codes_around_runs_of_one_role():
    grid = Grid()
    grid.write(0, 0, "ab", "tag")
    grid.write(0, 3, "c", "form")
    assert grid.render(COLOURED) == "\x1b[33mab\x1b[0m \x1b[1mc\x1b[0m"
