"""The bench of rehearsals: both kinds of runs, from one block after the other, and shares that are what they say."""

from benchmarks.rehearsal import _in_turn, _row


def run(doubtful, likely, *ratios, again=0.0):
    found = {"estimator": "mean", "of": "a", "doubtful": doubtful, "likely": likely, "again": again}
    return found | {"mean_ratios": list(ratios), "mean_again": [1.0, 2.0], "sd_ratios": [], "sd_again": []}


def test_draws_are_taken_from_one_block_after_the_other():
    draws = [("mean", block, seed, "zcdp:0.5") for block in "ab" for seed in range(2)]
    assert [draw[1:3] for draw in _in_turn(draws)] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


def test_shares_are_those_of_doubtful_and_of_sound_runs():
    row = _row("mean", [run(True, True, again=1.0), run(True, False), run(False, False, 1.2, 1.0, 0.5, 0.9)])
    assert (row["doubtful"], row["sound"]) == (2, 1)
    assert (row["foretold"], row["false_alarms"], row["at_best"]) == (0.5, 0.0, 0.5)
    assert (row["mean_within"], row["mean_again"], row["sd_within"]) == (0.75, 0.5, None)
    assert not row["met"]
