"""Record and replay: the questions and results of a driver follow only from the answers that it was given.

A whole driver runs on a table D, and its answers are kept. Then it runs on other tables D' with the kept answers
instead of new ones. If everything it knows about the rows came through the door, it asks the same questions in the
same order and returns the same bits, and no row of D' is ever opened. The exact totals of its questions on D and on
a neighbour are then compared with what the run was charged.
"""

import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from pubpriv.audit._neighbours import difference, distance, integers
from pubpriv.audit._tape import Driver, Tape, record
from pubpriv.audit._worlds import WatchedNoise, in_memory, world
from pubpriv.audit.finding import Finding, judged
from pubpriv.data.codec import from_json
from pubpriv.data.scan import scan
from pubpriv.data.tables import PublicTable
from pubpriv.estimators import ESTIMATORS
from pubpriv.estimators.estimator import Estimator, Trial
from pubpriv.privacy.events import Event, PureEvent, noisy_part
from pubpriv.privacy.ledger.texts import canonical
from pubpriv.privacy.units import UNIT


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Replay every driver on other tables, measure it against neighbours, and have a real ledger repeat it."""
    known = drivers(seed)
    for driver in known:
        # a replay opens no row, so what another table would add to three is measured by its totals
        yield from _tried(driver, seed, replays=1, neighbours=10 if fast else 100)
    for driver in one_of_each(known) if fast else known:
        yield _repeated(driver)


def one_of_each(known: Sequence[Driver]) -> list[Driver]:
    """Choose one driver of each estimator, each on another kind of budget as far as there are some.

    Args:
        known: drivers, the shorter runs of each estimator last.
    """
    chosen: dict[str, Driver] = {}
    for estimator in dict.fromkeys(driver.estimator for driver in reversed(known)):
        own = [driver for driver in reversed(known) if driver.estimator == estimator]
        kinds = {driver.budget.kind for driver in chosen.values()}
        chosen[estimator] = next((driver for driver in own if driver.budget.kind not in kinds), own[0])
    return [*chosen.values()]


def _tried(driver: Driver, seed: int, replays: int, neighbours: int) -> Iterator[Finding]:
    """Record one driver, and make three findings on it.

    Args:
        driver: what runs.
        seed: of the simulated noise, and of the choice of records.
        replays: on as many neighbours, and on two tables that share nothing with D.
        neighbours: whose totals are measured.
    """
    tape = record(driver, driver.rows, seed)
    near = list(_neighbours_of(driver.rows, neighbours, seed))
    others = [*near[:replays], np.full_like(driver.rows, np.nan), np.zeros_like(driver.rows)]
    again = [record(driver, rows, seed, tape) for rows in others]
    where = f"{len(tape.entries)} questions replayed on {len(others)} other tables"
    same = f"{driver.name}: the same questions in the same order"
    yield judged("recording", same, _strayed(tape, again), where)
    yield judged("recording", f"{driver.name}: nothing outside the door", _leaked(tape, again), where)
    yield _measured(driver, tape, near)


def _repeated(driver: Driver) -> Finding:
    """Try a real run, then the same release id over a file of zeros: the ledger's answers give the same model."""
    with world(driver.rows, driver.budget, driver.by) as place:  # of the budget's kind: not every kind pays for all
        first, paid = canonical(driver.run(place.enter("a", driver.budget))), place.spent
        place.overwrite(np.zeros_like(driver.rows))
        noise = WatchedNoise()
        again = canonical(driver.run(place.enter("a", driver.budget, noise)))
        broken = ["the model differs although every answer was in the ledger"] if again != first else []
        broken += ["noise was drawn although every answer was in the ledger"] if noise.drawn else []
        broken += ["answers were charged twice"] if place.spent != paid else []
    how = "a real run, repeated over a file of zeros"
    return judged("recording", f"{driver.name}: repeated by the ledger", broken, how)


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
    # synthetic tables are small: one chunk, opened once for each pass, of which a question needs one at most
    if tape.looks != tape.passes or tape.passes > len(tape.entries):
        broken.append(
            f"rows were opened {tape.looks} times for {len(tape.entries)} charged questions, by {tape.passes} passes "
            "of the door"
        )
    for other in again:
        if other.looks:
            broken.append("rows were opened although every answer was there")
        if other.draws:
            broken.append("noise was drawn although every answer was there")
        if other.result != tape.result:
            broken.append("what is returned depends on the table, with the same answers")
    return broken


def _squared_charge(event: Event) -> Fraction:
    """mu^2 or epsilon^2 that an event was priced for."""
    noisy = noisy_part(event)
    if noisy is not None:
        return noisy.squared_distance
    return event.epsilon**2 if isinstance(event, PureEvent) else Fraction(0)


def _price(kind: str, event: Event, squared: float) -> float:
    """What a run of this kind pays for a squared distance: epsilon, or mu^2, to which a pure event is converted."""
    if kind == "pure":
        return math.sqrt(squared)
    if not isinstance(event, PureEvent):
        return squared
    epsilon = math.sqrt(squared)
    if kind == "zcdp":
        return 2 * epsilon * math.tanh(epsilon / 2)
    return float((2 * NormalDist().inv_cdf(1 / (1 + math.exp(-epsilon)))) ** 2)


def _measured(driver: Driver, tape: Tape, near: list[np.ndarray]) -> Finding:
    """Exact totals on D and on each neighbour: every question's distance, and their sum, is within its charge."""
    questions = [from_json(json.loads(entry.question)) for entry in tape.entries]
    exact = [integers(scan(in_memory(driver.rows, by=driver.by), question, here=True)) for question in questions]
    paid = Fraction(tape.spent, UNIT) * (2 if driver.budget.kind == "zcdp" else 1)
    broken, furthest = [], 0.0
    for rows in near:
        total, table = 0.0, in_memory(rows, by=driver.by)
        for entry, question, first in zip(tape.entries, questions, exact, strict=True):
            found = distance(question, difference(first, integers(scan(table, question, here=True))))
            total += _price(driver.budget.kind, entry.event, float(found))
            if found > _squared_charge(entry.event):
                broken.append(f"neighbours are further apart than was charged: {entry.label}")
        furthest = max(furthest, total)
    if furthest > float(paid) * (1 + 1e-12):  # of floats that are each off by less
        broken.append("over the whole run, neighbours are further apart than was charged")
    how = f"exact totals of {len(near)} neighbours, all questions of a run"
    name = f"{driver.name}: distances within the charges"
    power = 1.0 if driver.budget.kind == "pure" else 0.5
    return judged("recording", name, broken, how, float(paid) ** power, furthest**power)


# -- tables and drivers ---------------------------------------------------------------------------------------


def _neighbours_of(rows: np.ndarray, count: int, seed: int) -> Iterator[np.ndarray]:
    """Tables that differ from `rows` in one record: extreme ones first, then jumps of growing length."""
    generator = np.random.default_rng([seed, 1])
    n, d = rows.shape
    spread, middle = np.nanstd(rows, axis=0), np.nanmean(rows, axis=0)
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
            changed[i] = 2 * middle - rows[i] + generator.normal(size=d) * reach
        yield changed


def drivers(seed: int) -> list[Driver]:
    """Make a driver of every trial that an estimator declares, the longest runs first."""
    return [_driver(each, trial, seed) for each in reversed(ESTIMATORS) for trial in each.trials]


def _driver(estimator: Estimator, trial: Trial, seed: int) -> Driver:
    """4000 private rows for each `seed`; the public ones, which may choose the way, are always the same."""
    k, d = trial.components, trial.columns
    means = trial.apart / 2**0.5 * np.eye(k, d)

    def drawn(rows: int, generator: np.random.Generator) -> np.ndarray:
        return np.asarray(means[np.arange(rows) % k] + generator.normal(size=(rows, d)))

    names = [f"x{i}" for i in range(d)]
    public = PublicTable(tuple(names), drawn(trial.public_rows, np.random.default_rng(k)))
    name = f"estimate_{estimator.name}" + (f", {trial.name}" if trial.name else "")
    rows = drawn(4000, generator := np.random.default_rng([seed, k]))
    if trial.missing:
        rows[generator.random(rows.shape) < trial.missing] = np.nan
    return Driver.of(name, estimator, trial, public, rows)
