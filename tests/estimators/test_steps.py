"""Steps as they are declared: what a person sees of them, and what the ledger keeps them under."""

from collections import Counter

import numpy as np
import pytest
from helpers.runners import instead

import pubpriv as pp
from pubpriv.data.regions import Shells
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture.public_model import _fit, public_model
from pubpriv.estimators.steps import Execution, Step, step

QUICK = instead(public_model, lambda public, scaling, k: _fit(scaling.apply(public.rows), k, ("diag", 0.01), 1))


def blobs(n, k, d, gap, seed):
    """n rows of k unit Gaussians in R^d in turn, means `gap` apart in every column."""
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return rows + gap * (np.arange(n) % k)[:, None]


MIXTURES = {
    "separated": (12, 8.0, {"n_components": 2}),
    "overlapping": (40, 0.5, {"n_components": 2}),
    "k looked for": (30, 8.0, {"max_components": 3, "covariance_type": "auto"}),
    "bks-scarce": (40, 5.0, {"n_components": 2, "method": "bks-scarce"}),
    "bks-ample": (40, 5.0, {"n_components": 2, "method": "bks-ample"}),
}
GAUSSIANS = {
    "mean": (pp.estimate_mean, {}),
    "coinpress": (pp.estimate_mean, {"method": "coinpress", "rounds": 3}),
    "auto": (pp.estimate_gaussian, {}),
    "moments": (pp.estimate_gaussian, {"target": "moments", "scale": {"x1": 1.0, "x2": 1.0}}),
    "algorithm-2": (pp.estimate_gaussian, {"method": "algorithm-2"}),
}


def walked(name, asks=None):
    """(title with its place, is private) of every call of a run, in order; `asks` gets those that were used."""
    seen = []

    def noting(called, place, /, *args):
        seen.append((called.at(place), called.private))
        for each in (*args, *(part for value in args if isinstance(value, tuple) for part in value)):
            if isinstance(each, Ask) and asks is not None:
                asks[each.label] = each
        return QUICK(called, place, *args)

    if name in MIXTURES:
        m, gap, settings = MIXTURES[name]
        curator = pp.Curator.simulation(blobs(1500, 2, 5, gap, 1), pp.ZeroConcentratedDP(0.5), 1)
        pp.estimate_mixture(blobs(m, 2, 5, gap, 2), curator, runner=noting, **settings)
    else:
        estimate, settings = GAUSSIANS[name]
        curator = pp.Curator.simulation(blobs(3000, 1, 3, 0.0, 1), pp.ZeroConcentratedDP(0.5), 1)
        estimate(blobs(20, 1, 3, 0.0, 2), curator, runner=noting, **settings)
    return seen


@pytest.mark.long
@pytest.mark.parametrize("name", [*MIXTURES, *GAUSSIANS])
def test_steps_that_repeat_say_which_one_they_are(name):
    """No two calls of a run look the same to whoever watches it."""
    titles = Counter(title for title, _ in walked(name))
    assert titles
    assert max(titles.values()) == 1


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("separated", ["precondition", "superclustering", "private PCA", "partition", "weight counting"]),
        (
            "bks-scarce",
            ["superclustering (level 1)", "private PCA (level 1)", "partition (level 1)", "weight counting"],
        ),
        ("bks-ample", ["precondition", "partition by public rows", "weight counting"]),
    ],
)
def test_every_step_of_the_mission_has_its_own_name(name, titles):
    """In the order in which they run; components are estimated between the partition and their weights."""
    seen = [title for title, _ in walked(name)]
    places = [seen.index(title) for title in titles]
    assert places == sorted(places)
    assert any(title.startswith("per-component estimation") for title in seen[places[-2] : places[-1]])


def test_private_steps_take_the_curator_and_others_never_see_it():
    """`Execution` puts the curator first by the declaration alone, and settles values under the function's name."""

    @step(title="a look", private=True)
    def look(curator: pp.Curator, x: int) -> int:
        return curator.n_rows + x

    @step(title="a sum")
    def add(x: int, y: int) -> int:
        return x + y

    kept = {}

    class Curator:
        n_rows = 10

        def settled(self, label, make):
            return kept.setdefault(label, make())

    run = Execution(Curator(), "mean")
    assert run(look, 1) == 11
    assert run.at("2 of 2")(look, 2) == 12
    assert run(add, 1, y=2) == 3
    assert kept == {"mean/look-1": 11, "mean/look-2": 12, "mean/add-1": 3}
    assert isinstance(look, Step)
    assert look(Curator(), 5) == 15


@step(title="a double")
def double(x: int) -> int:
    return 2 * x


class Settling:
    """As much of a curator as settles results, of an attempt before this one, too."""

    def __init__(self, **before):
        self.kept = {f"mean/{label.replace('_', '-')}": value for label, value in before.items()}

    def noted(self, label):
        return self.kept.get(label)

    def settled(self, label, make):
        return self.kept.setdefault(label, make())


def test_steps_that_take_turns_are_settled_under_the_names_that_they_have_one_after_the_other():
    """So a run that began with one chain after the other is resumed with chains side by side."""
    run = Execution(Settling(), "mean")
    run(double, 0)
    lanes = run.lanes(double, [2, 1, 2])
    for lane, x in ((0, 10), (1, 30), (2, 40), (0, 20), (2, 50)):
        lanes[lane](double, x)
    run(double, 60)
    labels = [f"mean/double-{number}" for number in range(1, 8)]
    assert {label: run.curator.kept[label] // 2 for label in labels} == dict(zip(labels, range(0, 70, 10), strict=True))


def test_a_result_that_was_made_ahead_is_used_for_the_same_arguments_alone():
    """It is shown and settled when its step is called; a resumed run takes what was settled, and computes nothing."""
    made = []

    @step(title="noted")
    def noted(x: int) -> int:
        made.append(x)
        return 3 * x

    shown = []

    def showing(called, place, /, *args):
        shown.append((called.title, args))
        return called(*args)

    run = Execution(Settling(), "mean", showing)
    assert (run.ahead(noted, 5), run.ahead(noted, 6), made, shown) == (15, 18, [5, 6], [])
    assert (run(noted, 6), run(noted, 5), made) == (18, 15, [5, 6])
    assert run(noted, 7) == 21
    assert made == [5, 6, 7]
    assert shown == [("noted", (6,)), ("noted", (5,)), ("noted", (7,))]
    resumed = Execution(Settling(noted_1=18, noted_2=15), "mean", showing)
    assert (resumed.ahead(noted, 6), resumed(noted, 6), made) == (18, 18, [5, 6, 7])


@pytest.mark.parametrize("name", [name for name in (*MIXTURES, *GAUSSIANS) if name != "bks-ample"])
def test_what_is_asked_is_what_was_planned_priced_and_rehearsed(name, monkeypatch):
    """Each ask carries its question, about nothing; the real one has its kind, size, sensitivity and noise."""
    rehearsed, asked, planned = [], {}, {}
    release, rehearse = pp.Curator.release, pp.Curator.rehearse

    def releasing(curator, question, label):
        asked[label] = question
        return release(curator, question, label)

    def rehearsing(curator, *plans):
        plans = [list(plan) for plan in plans]
        rehearsed.extend(question for plan in plans for question in plan)
        return rehearse(curator, *plans)

    monkeypatch.setattr(pp.Curator, "release", releasing)
    monkeypatch.setattr(pp.Curator, "rehearse", rehearsing)
    walked(name, planned)
    assert asked
    assert set(asked) == set(planned)
    for label, question in asked.items():
        blank = planned[label].question
        assert blank in rehearsed or name == "k looked for"  # between the largest and the least k, both rehearsed
        assert type(question) is type(blank)
        assert question.squared_distance == blank.squared_distance <= planned[label].price
        noise, expected = ({part: each.noise_scale for part, each in q.parts.items()} for q in (question, blank))
        assert noise == expected
        if "bks" not in name and name != "k looked for":  # there sizes are those of the largest question to come
            size, expected = ({part: each.size for part, each in q.parts.items()} for q in (question, blank))
            # a released histogram says how many shells there are, at most as many as were rehearsed
            shells = isinstance(getattr(question, "partition", None), Shells)
            assert all(size[part] <= expected[part] for part in size) if shells else size == expected
