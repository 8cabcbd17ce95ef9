"""What the bench of intervals says is what was measured, and a miss is told."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import honest, intervals
from benchmarks.intervals import Task, judged_means, judged_variances, measured
from benchmarks.laws import LAWS
from benchmarks.synthetic import oracle
from pubpriv.cli.main import app
from pubpriv.errors import InvalidInput

GAUSSIAN = Task("gaussian", "gaussian", 5_000, 2, 30, "zcdp:0.5", 0)


def run(task=GAUSSIAN, covered=1.0, flagged=False, off=0.0, width=1.0, columns=2, **values):
    """Make a run of a cell as `measured` tells it."""
    judged = {
        "covered": [covered] * columns,
        "off": [off] * columns,
        "width": [width] * columns,
        "width_over_gaussian": [width] * columns,
        "best_covered": [1.0] * columns,
    }
    return (
        asdict(task)
        | {"refused": None, "failed": None, "flagged": flagged, "kinds": [0] * columns}
        | {"mean_error": 2.0, "best_mean_error": 1.0, "covariance_error": 3.0, "best_covariance_error": 2.0}
        | {"means": judged, "variances": judged}
        | values
    )


def of(law, n=5_000):
    return Task("gaussian", law, n, 2, 30, "zcdp:0.5", 0)


CELLS = {
    "sound": ([run()] * 20, ""),
    "intervals that miss": ([run()] * 17 + [run(covered=0.0)] * 3, "means, variances"),
    "just enough": ([run()] * 18 + [run(covered=0.0)] * 2, ""),
    "few rows, smooth": ([run(of("t5", 500))] * 17 + [run(of("t5", 500), covered=0.0)] * 3, ""),
    "few rows, rough": ([run(of("t3", 500), covered=0.0)] * 20, ""),
    "flagged nine times in ten": ([run(of("t5"), covered=0.0, flagged=True)] * 18 + [run(of("t5"))] * 2, ""),
    "flagged, but not enough": (
        [run(of("t5"), covered=0.0, flagged=True)] * 17 + [run(of("t5"))] * 3,
        "means, variances",
    ),
    "a false alarm": ([run()] * 19 + [run(flagged=True)], "alarms"),
    "an alarm that is none": ([run(of("t5"))] * 19 + [run(of("t5"), flagged=True)], ""),
    "no Gaussian to look for": ([run(replace(of("poisson-0.5"), estimator="gaussian-target"), flagged=True)] * 20, ""),
    "small counts that are sound": ([run(of("poisson-0.5"), flagged=True)] * 20, "alarms"),
    "wide": ([run(of("t5"), width=3.1)] * 20, "means wide, variances wide"),
    "wide for Gaussian rows": ([run(width=1.3)] * 20, "means wide, variances wide"),
    "refused": ([asdict(GAUSSIAN) | {"refused": "too few rows", "failed": None}] * 20, ""),
    "failed": ([run()] * 19 + [asdict(GAUSSIAN) | {"refused": None, "failed": "PrivateStepFailed"}], "failed"),
}


@pytest.mark.parametrize("case", CELLS)
def test_a_miss_is_told(case):
    """Coverage or flags, alarms and widths, each by its rule; what was refused has not missed anything."""
    rows, misses = CELLS[case]
    row = honest.summary(rows)
    assert (row["misses"], row["met"]) == (misses, not misses)
    assert (row["runs"], row["refused"]) == (20, 20 if case == "refused" else 0)


def test_the_worst_kind_of_columns_counts():
    """One column of three whose intervals miss is not hidden by the others."""
    rows = [run(columns=3, kinds=[0, 1, 1]) for _ in range(20)]
    for row in rows:
        row["variances"] = row["variances"] | {"covered": [0.0, 1.0, 1.0], "off": [-0.4, 0.1, 0.1], "width": [2, 1, 1]}
    found = honest.summary(rows)
    assert (found["means_covered"], found["variances_covered"]) == (1.0, 0.0)
    assert found["variances_bias"] == pytest.approx(-0.4)
    assert found["variances_width"] == 2.0


def test_errors_are_compared_by_medians_and_by_mean_squares():
    """A rare large error shows in the second."""
    found = honest.summary([run()] * 19 + [run(mean_error=100.0)])
    assert (found["mean_ratio"], found["covariance_ratio"]) == (2.0, 1.5)
    assert found["mean_ratio_rms"] == pytest.approx(np.sqrt((19 * 4 + 1e4) / 20))


def test_intervals_are_judged_by_the_truth_and_by_the_rows():
    """A variance two errors off is not covered; widths are over what fourth moments of the rows call for."""
    rows = LAWS["exponential"].draw(100_000, 2, np.random.default_rng(3))
    needed = np.sqrt(8 / 100_000)
    errors = {"sampling": np.full(2, needed), "privacy": np.zeros(2), "clipping": np.array([0.0, needed])}
    judged = judged_variances(np.array([1.0, 1.0]) + 2 * needed, np.ones(2), errors, rows)
    assert judged["covered"] == [0.0, 1.0]
    assert judged["off"] == pytest.approx([2 * needed] * 2)
    assert judged["width"] == pytest.approx([1.0, np.sqrt(2)], rel=0.1)
    assert judged["width_over_gaussian"] == pytest.approx([2.0, np.sqrt(8)], rel=0.01)
    place = judged_means(np.array([1.0, 1.1]), np.ones(2), np.full(2, 4.0), errors, rows)
    assert place["covered"] == [1.0, 0.0]
    assert place["off"] == pytest.approx([0.0, 0.05])


def test_a_run_is_the_same_in_every_grid():
    """Rows and noise depend on the cell and the seed; estimators and budgets share rows."""
    first, again = measured(GAUSSIAN), measured(GAUSSIAN)
    assert first == again
    assert first["kinds"] == [0, 0]
    other = measured(Task("gaussian", "gaussian", 5_000, 2, 30, "zcdp:0.5", 1))
    assert other["mean_error"] != first["mean_error"]
    mean = measured(Task("mean", "gaussian", 5_000, 2, 30, "zcdp:2", 0))
    assert mean["best_mean_error"] == first["best_mean_error"]
    assert "variances" not in mean


def test_the_bulk_is_the_truth_of_the_target_gaussian():
    """Of rows with odd ones, clean rows are what the errors are over; by default it is the moments of all."""
    law = "odd-1-wide-15"
    bulk, table = (measured(Task(name, law, 2_000, 2, 30, "zcdp:0.5", 0)) for name in ("gaussian-target", "gaussian"))
    sample = LAWS[law].sample(2_000, 2, Task("gaussian", law, 2_000, 2, 30, "", 0).generator())
    clean = np.cov(sample.rows[~sample.odd].T) - np.eye(2)
    assert bulk["best_covariance_error"] == pytest.approx(np.linalg.norm(clean))
    whole = np.cov(sample.rows.T) / LAWS[law].covariance(1)[0, 0] - np.eye(2)
    assert table["best_covariance_error"] == pytest.approx(np.linalg.norm(whole))


def test_mixtures_have_components_of_a_law():
    """Of the stated moments, as far apart as is said; correlated columns stand apart in their longest direction."""
    for name, d in (("gamma", 1), ("lognormal-0.8", 2), ("correlated", 4)):
        law, generator = LAWS[name], np.random.default_rng(4)
        truth = intervals._components(law, d, generator)
        rows, labels, _ = intervals._rows(law, truth, 60_000, generator)
        longest = np.sqrt(np.linalg.eigvalsh(truth.covariances[0])[-1])
        gaps = [np.linalg.norm(truth.means[i] - truth.means[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
        assert min(gaps) == pytest.approx(intervals.SEPARATION * longest)
        best = oracle(rows, labels, 3)
        assert best.covariances == pytest.approx(truth.covariances, abs=0.3)
        for j in range(3):
            assert rows[labels == j].mean(axis=0) == pytest.approx(truth.means[j], abs=0.06)


def test_a_record_is_gone_on_with(tmp_path, monkeypatch):
    """Runs that a record has are not made again, and the table is the same; half a line is none."""
    record, made = tmp_path / "runs.jsonl", []
    monkeypatch.setattr(honest, "measured", lambda task: made.append(task) or run(task))
    grid = {"estimators": "gaussian", "laws": "gaussian,correlated", "sizes": (500,), "dimensions": (1, 2)}
    first = honest.bench(**grid, runs=2, workers=1, record=record)
    assert [(row["law"], row["d"]) for row in first["rows"]] == [("gaussian", 1), ("gaussian", 2), ("correlated", 2)]
    record.write_text("".join(record.read_text().splitlines(keepends=True)[:5])[:-20])
    assert honest.bench(**grid, runs=2, workers=1, record=record) == first
    assert len(made) == 6 + 2
    assert honest.bench(**grid, runs=2, workers=1, record=record) == first
    assert len(made) == 8
    record.write_text("nothing\n")
    with pytest.raises(InvalidInput, match="no record"):
        honest.bench(**grid, runs=2, workers=1, record=record)


def test_the_target_gaussian_is_tried_where_there_is_a_bulk():
    """By default; any law that is named is tried."""
    names = [law.name for law in honest._laws_of("gaussian-target", None)]
    assert names[:2] == ["gaussian", "whole-numbers"]
    assert "odd-1-far-20" in names
    assert "t5" not in names
    assert [law.name for law in honest._laws_of("gaussian-target", "t5")] == ["t5"]


@pytest.mark.long
def test_the_command_prints_a_table_and_json():
    """Both have a row for each cell, and say what is missed."""
    options = ["bench", "honest", "--estimator", "gaussian,mean", "--laws", "t5", "--n", "500", "--d", "1"]
    options += ["--runs", "2", "--workers", "1"]
    told = CliRunner().invoke(app, [*options, "--json"])
    found = json.loads(told.stdout)
    assert [row["estimator"] for row in found["rows"]] == ["gaussian", "mean"]
    assert found["ratio"] == np.mean([row["met"] for row in found["rows"]])
    assert "variances_covered" in found["rows"][0]
    assert "ratio of: cells that reach what they must" in CliRunner().invoke(app, options).stdout


BAD = {
    "no such estimator": (["--estimator", "median"], "mean-unknown"),
    "no such law": (["--laws", "cauchy"], "joint-t5"),
    "no number": (["--n", "500,many"], "--n takes"),
    "no columns": (["--d", "0"], "--d takes"),
    "too few columns": (["--d", "1", "--laws", "mixed"], "more columns"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_refused_before_any_run(case):
    """In words, at once."""
    options, message = BAD[case]
    done = CliRunner().invoke(app, ["bench", "honest", *options])
    assert isinstance(done.exception, InvalidInput)
    assert message in str(done.exception)
