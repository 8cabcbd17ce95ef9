"""Record and replay: what a driver asks and returns follows from the answers that it was given, and from them alone.

A whole driver runs on a table D, and its answers are kept. Then it runs on other tables D' with the kept answers in
the place of new ones. If everything it knows of the rows came through the door, it asks the same questions in the
same order and returns the same bits, and no row of D' is ever opened. The exact totals of its questions on D and on
a neighbour are then compared with what the run was charged.
"""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from pubpriv.audit.finding import Finding
from pubpriv.audit.neighbours import difference, distance, integers
from pubpriv.audit.tape import Driver, Tape, record
from pubpriv.audit.worlds import WatchedNoise, in_memory, world
from pubpriv.curator import Curator
from pubpriv.data.codec import canonical, from_json
from pubpriv.data.scan import scan
from pubpriv.estimators.gaussian.driver import estimate_gaussian
from pubpriv.estimators.mean.driver import estimate_mean
from pubpriv.estimators.mixture.driver import estimate_mixture
from pubpriv.privacy.budgets import ApproximateDP, Budget, ZeroConcentratedDP
from pubpriv.privacy.units import UNIT


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Every driver: replayed on other tables, measured against neighbours, and repeated by a real ledger."""
    known = drivers(seed)
    for driver in known:
        yield from tried(driver, seed, replays=1 if fast else 12, neighbours=10 if fast else 300)
    for driver in known[:1] if fast else known:
        yield repeated(driver)


def tried(driver: Driver, seed: int, replays: int, neighbours: int) -> Iterator[Finding]:
    """Three findings on one driver.

    Args:
        driver: what runs.
        seed: of the simulated noise, and of the choice of records.
        replays: on as many neighbours, and on two tables that share nothing with D.
        neighbours: whose totals are measured.
    """
    tape = record(driver, driver.rows, seed)
    near = list(neighbours_of(driver.rows, neighbours, seed))
    others = [*near[:replays], np.full_like(driver.rows, np.nan), np.zeros_like(driver.rows)]
    again = [record(driver, rows, seed, tape) for rows in others]
    where = f"{len(tape.entries)} questions replayed on {len(others)} other tables"
    yield _finding(f"{driver.name}: the same questions in the same order", where, _strayed(tape, again))
    yield _finding(f"{driver.name}: nothing outside the door", where, _leaked(tape, again))
    yield measured(driver, tape, near)


def repeated(driver: Driver) -> Finding:
    """A real run, then the same release id over a file of zeros: the ledger's answers give the same model."""
    with world(driver.rows) as place:
        first, paid = canonical(driver.run(place.enter("a", driver.budget))), place.spent
        place.overwrite(np.zeros_like(driver.rows))
        noise = WatchedNoise()
        again = canonical(driver.run(place.enter("a", driver.budget, noise)))
        broken = ["the model differs although every answer was in the ledger"] if again != first else []
        broken += ["noise was drawn although every answer was in the ledger"] if noise.drawn else []
        broken += ["answers were charged twice"] if place.spent != paid else []
    return _finding(f"{driver.name}: repeated by the ledger", "a real run, repeated over a file of zeros", broken)


def _finding(mechanism: str, how: str, broken: list[str]) -> Finding:
    return Finding("recording", mechanism, None, None, not broken, "; ".join(dict.fromkeys(broken)) or how)


def _strayed(tape: Tape, again: list[Tape]) -> list[str]:
    """How questions differed although the answers were the same."""
    if tape.failure is not None:
        return [f"the driver fails on synthetic rows ({tape.failure})"]
    broken = [] if tape.entries else ["the driver asked nothing"]
    for other in again:
        if other.failure is not None:
            broken.append(f"the driver fails where it got the same answers ({other.failure})")
        if other.begun != tape.begun:
            broken.append("a method began with other settings")
        if [label for label, *_ in other.asked] != [label for label, *_ in tape.asked]:
            broken.append("labels, or their order, depend on the table")
        elif other.asked != tape.asked:
            labels = [a[0] for a, b in zip(tape.asked, other.asked, strict=True) if a != b]
            broken.append(f"a question depends on the table: {', '.join(labels)}")
        if other.spent != tape.spent:
            broken.append("what was charged depends on the table")
    return broken


def _leaked(tape: Tape, again: list[Tape]) -> list[str]:
    """What came of the rows other than through the door."""
    broken = []
    # synthetic tables are small: one chunk, opened once for each question
    if tape.looks != len(tape.entries):
        broken.append(f"rows were opened {tape.looks} times for {len(tape.entries)} charged questions")
    for other in again:
        if other.looks:
            broken.append("rows were opened although every answer was there")
        if other.draws:
            broken.append("noise was drawn although every answer was there")
        if other.result != tape.result:
            broken.append("what is returned depends on the table, with the same answers")
    return broken


def measured(driver: Driver, tape: Tape, near: list[np.ndarray]) -> Finding:
    """Exact totals on D and on each neighbour: every question's distance, and their sum, is within its charge."""
    questions = [from_json(json.loads(entry.question)) for entry in tape.entries]
    exact = [integers(scan(in_memory(driver.rows), question)) for question in questions]
    paid = Fraction(tape.spent, UNIT) * (2 if driver.budget.kind == "zcdp" else 1)
    broken, furthest = [], Fraction(0)
    for rows in near:
        total = Fraction(0)
        for entry, question, first in zip(tape.entries, questions, exact, strict=True):
            found = distance(question, difference(first, integers(scan(in_memory(rows), question))))
            total += found
            if found > entry.event.squared_distance:
                broken.append(f"neighbours are further apart than was charged: {entry.label}")
        furthest = max(furthest, total)
    if furthest > paid:
        broken.append("over the whole run, neighbours are further apart than was charged")
    detail = "; ".join(dict.fromkeys(broken)) or f"exact totals of {len(near)} neighbours, all questions of a run"
    name = f"{driver.name}: distances within the charges"
    return Finding("recording", name, float(paid) ** 0.5, float(furthest) ** 0.5, not broken, detail)


# -- tables and drivers ---------------------------------------------------------------------------------------


def neighbours_of(rows: np.ndarray, count: int, seed: int) -> Iterator[np.ndarray]:
    """Tables that differ from `rows` in one record: extreme ones first, then jumps of growing length."""
    generator = np.random.default_rng([seed, 1])
    n, d = rows.shape
    spread = rows.std(axis=0)
    extremes = [np.full(d, 1e308), np.full(d, np.nan), np.r_[np.inf, np.zeros(d - 1)], np.full(d, 5e-324)]
    for number in range(count):
        i = int(generator.integers(n))
        changed = rows.copy()
        if number < len(extremes):
            changed[i] = extremes[number]
        elif number % 2:
            changed[i] = rows[int(generator.integers(n))] + generator.normal(size=d) * spread
        else:
            reach = spread * 10 ** generator.uniform(0, 4)
            changed[i] = 2 * rows.mean(axis=0) - rows[i] + generator.normal(size=d) * reach
        yield changed


def drivers(seed: int) -> list[Driver]:
    """Mixtures by the default driver, in its regimes, and by the paper's; the mean; a Gaussian by every way."""
    gaussians = [
        _one_gaussian(f"estimate_gaussian, {name}", partial(estimate_gaussian, **options), seed)
        for name, options in GAUSSIANS.items()
    ]
    return [
        _mixture("estimate_mixture, separated-scarce", 12.0, 3, 4, ZeroConcentratedDP("0.5"), seed, public_rows=20),
        _mixture("estimate_mixture, overlapping", 2.0, 2, 3, ApproximateDP(4, "0.000001"), seed),
        _mixture("estimate_mixture, bks-scarce", 12.0, 3, 4, ZeroConcentratedDP("0.5"), seed, method="bks-scarce"),
        _mixture("estimate_mixture, bks-ample", 12.0, 3, 4, ZeroConcentratedDP("0.5"), seed, method="bks-ample"),
        _mixture("estimate_mixture, separated-ample", 12.0, 3, 4, ZeroConcentratedDP("0.5"), seed, **SPHERICAL),
        _mixture("estimate_mixture, k looked for", 12.0, 2, 4, ZeroConcentratedDP("0.5"), seed, **LOOKED_FOR),
        _one_gaussian("estimate_mean", estimate_mean, seed),
        *gaussians,
    ]


SPHERICAL: dict[str, Any] = {"covariance_type": "spherical"}
LOOKED_FOR: dict[str, Any] = {"n_components": None, "max_components": 3, "covariance_type": "auto"}
"""The search for k, in which released answers decide what is asked next, and the choice of a covariance type."""


GAUSSIANS: dict[str, dict[str, Any]] = {
    "auto": {"target": "auto"},
    "gaussian": {"target": "gaussian"},
    "moments": {"target": "moments"},
    "algorithm-2": {"target": "gaussian", "method": "algorithm-2"},
}


def _mixture(
    name: str, gap: float, k: int, d: int, budget: Budget, seed: int, public_rows: int = 40, **options: Any
) -> Driver:
    """`estimate_mixture` of k unit Gaussians in R^d, means `gap` apart; 4000 private rows.

    The public rows, which choose the regime, are the same for every seed.
    """
    means = gap / 2**0.5 * np.eye(k, d)

    def drawn(rows: int, generator: np.random.Generator) -> np.ndarray:
        return np.asarray(means[np.arange(rows) % k] + generator.normal(size=(rows, d)))

    public = drawn(public_rows, np.random.default_rng(k))
    private = drawn(4000, np.random.default_rng([seed, k]))

    def run(curator: Curator) -> Any:
        found = estimate_mixture(public, curator, **{"n_components": k, **options}).to_json()
        del found["provenance"]["created"]  # the day, which may end meanwhile
        return found

    return Driver(name, run, private, budget)


def _one_gaussian(name: str, estimate: Callable[[np.ndarray, Curator], Any], seed: int) -> Driver:
    """`estimate` from 4000 private rows and 8 public ones of one Gaussian in R^3, the public ones always the same."""
    public = np.random.default_rng(0).normal(size=(8, 3))
    private = np.random.default_rng([seed, 3]).normal(size=(4000, 3))

    def run(curator: Curator) -> Any:
        found = estimate(public, curator).to_json()
        del found["provenance"]["created"]  # the day, which may end meanwhile
        return found

    return Driver(name, run, private, ZeroConcentratedDP("0.5"))
