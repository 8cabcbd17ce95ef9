"""The bench of what public rows buy: cells are what was found, and a stopped one goes on. About 2 s."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import buys, buys_figure
from benchmarks.kssu import law
from benchmarks.synthetic import Truth
from pubpriv.cli.main import app
from pubpriv.errors import InvalidInput, NoAnswer

TASK = buys.Run("d5k3", "default", 500, 18, 1)


def row(n, line="default", m=18, good=2):
    """A cell of two runs."""
    return {"line": line, "m": m, "n": n, "runs": 2, "found": good, "mean": 0.2 if good else None, "covariance": 1.0}


@pytest.mark.parametrize(("off", "good"), [(0.4, True), (0.6, False)])
def test_all_is_found_where_no_mean_is_far_off(monkeypatch, off, good):
    """In standard deviations of its component; estimators see as many rows as the task says."""

    def near(public, rows, k, seed):
        assert (public.shape, rows.shape, k, seed) == ((18, 5), (500, 5), 3, 1)
        truth = law(buys._PARTS["d5k3"], np.random.default_rng([1, 500]))
        moved = truth.means.copy()
        moved[1] += off * np.linalg.cholesky(truth.covariances[1])[:, 0]
        return Truth(truth.weights, moved, truth.covariances), False

    monkeypatch.setitem(buys._ESTIMATES, "default", near)
    told = buys.estimate(TASK)
    assert (told["found"], told["flagged"]) == (good, False)
    assert told["mean"] == pytest.approx(off)


def test_what_is_refused_was_not_found(monkeypatch):
    """And is no silent failure."""

    def refuse(*_):
        raise NoAnswer("nothing")

    monkeypatch.setitem(buys._ESTIMATES, "default", refuse)
    told = buys.estimate(TASK)
    summed_up = buys._row("default", 18, 500, [told], 1e6)
    assert (summed_up["found"], summed_up["refused"], summed_up["silent"]) == (0, 1, 0)
    assert summed_up["mean"] is None


def test_enough_is_from_where_on_nine_in_ten_find_all():
    """A size at which all do does not count where a larger one fails."""
    rows = [row(1000), row(3000, good=1), row(10_000), row(30_000), row(30_000, m=60)]
    assert buys._enough(rows, "default", 18) == 10_000
    assert buys._enough([row(1000, good=0)], "default", 18) is None


def test_the_populous_estimator_needs_more_than_anybody_else():
    """Of one Gaussian hundreds of thousands of rows, of three more; below that it is not run."""
    one = buys.populous_rows(5, 1)
    assert 1e5 < one < 2e6
    assert buys._row("ppe", 0, 1000, [], one) == {"line": "ppe", "m": 0, "n": 1000, "runs": 0, "needs": one}


def test_table_and_figure_show_every_line():
    """Cells in the order of n; a line that never finds all is named below the figure."""
    rows = [row(3000), row(1000, good=1), row(1000, "kssu", 0, 0), row(3000, "kssu", 0, 0)]
    rows += [{"line": "ppe", "m": 0, "n": n, "runs": 0, "needs": 2_388_879.0} for n in (1000, 3000)]
    heads, body = buys_figure.cells(rows)
    assert heads == ["", "n 1,000", "n 3,000"]
    assert body == [
        ["default, 18 public rows", "1/2, 0.2, 1", "2/2, 0.2, 1"],
        ["kssu", "0/2", "0/2"],
        ["ppe", "needs 2,400,000", "needs 2,400,000"],
    ]
    texts = [text for each in buys_figure.drawn(rows, "title").iter("text") for text in each.itertext()]
    assert "default, 18 public rows" in texts
    assert "In no run: kssu; ppe needs 2,400,000 rows." in texts


@pytest.mark.long
def test_a_stopped_bench_goes_on(tmp_path):
    """From its file, half a line of which is none; the figure is drawn, and table and JSON tell the same."""
    keep, plot = tmp_path / "runs.jsonl", tmp_path / "buys.svg"
    words = ["bench", "buys", "--part", "d5k1", "--n", "1000", "--runs", "1", "--workers", "1", "--keep", str(keep)]
    first = CliRunner().invoke(app, [*words, "--json", "--plot", str(plot)])
    assert first.exit_code == 0, first.output
    assert "non-private EM" in plot.read_text(encoding="utf-8")
    lines = keep.read_text(encoding="utf-8").splitlines(keepends=True)
    keep.write_text("".join(lines[:-1]) + lines[-1][:-30], encoding="utf-8")
    again = CliRunner().invoke(app, [*words, "--json"])
    assert json.loads(again.output) == json.loads(first.output)
    assert len(keep.read_text(encoding="utf-8").splitlines()) == len(lines) + 1
    written = CliRunner().invoke(app, [*words, "--markdown"]).output.splitlines()
    assert len(written) == 2 + len({(each["line"], each["m"]) for each in json.loads(first.output)["rows"]})


def test_an_unknown_part_is_refused():
    """With those that there are."""
    with pytest.raises(InvalidInput, match="d5k3, d5k1"):
        buys.bench("d9k9", 1)
