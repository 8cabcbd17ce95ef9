"""Do books that are closed and carried on remember what was spent, of every period?

Stories of two and three ledgers, each of which carries the books of the one before it on. Runs are opened, charged,
refused and closed, of one period and of all; what they spend is added up here, in fractions. What each ledger says is
spent, held and left, and what it still grants, must be these sums, before and after its books are closed.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.audit._worlds import DATASET
from pubpriv.audit.finding import Claims, Finding, promised, refuses
from pubpriv.data.codec import to_json
from pubpriv.data.questions import Counts, InPeriod, PerPerson
from pubpriv.data.regions import Everything
from pubpriv.errors import BooksClosed, BudgetExceeded, InvalidInput, LedgerViolation
from pubpriv.ledger import Ledger, event_of
from pubpriv.privacy.budgets import ApproximateDP, Budget, ZeroConcentratedDP
from pubpriv.privacy.ledger.period_terms import PeriodTerms

_UNIT = 10**12
"""Units of a ledger in one rho, or in one mu^2."""

_PER_RHO = {"zcdp": 1, "approx": 2}
"""What one rho of Gaussian noise costs, by kind of budget: rho, and mu^2."""

_ALL = ""
"""Stands for all periods: a run without a period counts in each."""

_MONTHS = ("2026-09", "2026-10", "2026-11")
_UNTOUCHED = "2027-01"
_NAMES = ("the first ledger", "the second ledger", "the third ledger")


@dataclass(frozen=True)
class _Kind:
    """Terms of a dataset.

    Attributes:
        budget: cap of the dataset.
        each: cap of each period.
        lifetime: whether the dataset's cap holds too.
        person: id columns.
        late: whether the dataset has periods only after a run.
        ledgers: number of ledgers of a fast audit; a full one has three.
    """

    budget: Budget
    each: Budget
    lifetime: bool = True
    person: tuple[str, ...] = ()
    late: bool = False
    ledgers: int = 2

    @property
    def terms(self) -> PeriodTerms:
        """Terms of its periods."""
        return PeriodTerms("month", "seen", self.each, self.lifetime)

    def asked(self, rho: Fraction, period: str) -> Any:
        """Ask how many there are, for at most `rho`."""
        count: Any = Counts.priced(Everything(), 2 * rho)
        if self.person:
            count = PerPerson(count, 1, 1)
            return InPeriod(count, period) if period else count
        return InPeriod.of_rows(count, period) if period else count


_KINDS = {
    "months of rows": _Kind(ZeroConcentratedDP(3), ZeroConcentratedDP("0.4"), ledgers=3),
    "months without a cap for all": _Kind(ZeroConcentratedDP(1), ZeroConcentratedDP("0.7"), lifetime=False),
    "months of persons": _Kind(ApproximateDP(9, 1e-6), ApproximateDP(2, 1e-6), person=("who",)),
    "months that came later": _Kind(ApproximateDP(3, 1e-6), ApproximateDP(3, 1e-6), late=True),
}


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Tell stories of every kind of dataset with periods."""
    for name, kind in _KINDS.items():
        ledgers = kind.ledgers if fast else len(_NAMES)
        for number in range(1 if fast else 3):
            with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
                claims = _carried_on(kind, ledgers, Path(folder), np.random.default_rng([seed, 10, number]))
                yield promised(
                    "books", f"books go on with what was spent: {name}", claims, ", against sums of fractions"
                )


@dataclass
class _Sums:
    """What is spent and held by period, in units: worked out here, from prices alone."""

    kind: _Kind
    cap: int
    each: int | None
    spent: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)

    def room(self, period: str) -> int:
        """The most that a run of a period, or of all, could hold."""
        used = self.spent + self.held
        rooms = [self.cap - used.total()] if self.kind.lifetime or self.each is None else []
        if self.each is not None:
            own = used[period] if period else max((used[name] for name in used if name), default=0)
            rooms.append(self.each - used[_ALL] - own)
        return min(rooms)


class _Story:
    """Runs at one ledger after another, and the sums of what they spend."""

    def __init__(self, kind: _Kind, random: np.random.Generator) -> None:
        self._kind, self._random, self._runs = kind, random, 0
        self.per_rho = _PER_RHO[kind.budget.kind]
        self.sums = _Sums(kind, kind.budget.cap.main, None if kind.late else kind.each.cap.main)

    def allotment(self, units: int) -> ZeroConcentratedDP:
        """Make an allotment that holds at most so many units."""
        rho = units // self.per_rho
        return ZeroConcentratedDP(f"{rho // _UNIT}.{rho % _UNIT:012d}")

    def new_run(self, ledger: Ledger) -> Any:
        """Make a run that no ledger has seen."""
        self._runs += 1
        return ledger.run(DATASET, f"run-{self._runs}")

    def run(self, ledger: Ledger, period: str) -> Claims:
        """Hold a part of the room, charge a part of that, be refused more, and end."""
        run, allotment = (
            self.new_run(ledger),
            self.allotment(int(self.sums.room(period) * self._random.uniform(0.2, 0.7))),
        )
        run.open(allotment, period or None)
        left = allotment.cap.main * self.per_rho
        self.sums.held[period] += left
        for number in range(int(self._random.integers(1, 4))):
            asked = self._kind.asked(
                Fraction(left, self.per_rho * _UNIT) * Fraction(self._random.uniform(0.2, 0.8)), period
            )
            price = self.per_rho * -(-asked.squared_distance / 2 * _UNIT // 1)
            charge = run.charge(f"x/{number}", to_json(asked), event_of(asked))
            if self._random.random() < 0.5:  # as if the machine had stopped before there was an answer
                run.publish(f"x/{number}", charge.attempt, {"count": [number]})
            left -= price
            self.sums.held[period] -= price
            self.sums.spent[period] += price
        over = self._kind.asked(Fraction(left, self.per_rho * _UNIT) * 2, period)
        yield (
            "a run charges no more than it holds",
            refuses(partial(run.charge, "x/over", to_json(over), event_of(over)), BudgetExceeded),
        )
        yield from self.compared(ledger)
        run.close("done")
        self.sums.held[period] -= left

    def compared(self, ledger: Ledger) -> Claims:
        """What the ledger says is spent, held and left is what the sums say."""
        balance, sums = ledger.balance(DATASET), self.sums
        yield "what is spent", balance.spent.main == sums.spent.total()
        yield "what is held", balance.held.main == sums.held.total()
        yield "whether there is a cap for all periods", balance.capped == (self._kind.lifetime or sums.each is None)
        if balance.capped:
            yield "what is left of the cap", balance.remaining.main == sums.cap - (sums.spent + sums.held).total()
        if sums.each is None:
            return
        yield "the cap of a period", balance.period_cap.main == sums.each
        by_period = {each.name or _ALL: each for each in balance.by_period}
        for period in {**by_period, **sums.spent}:
            stated = by_period.get(period)
            yield f"what {period or 'all rows'} spent", (stated.spent.main if stated else 0) == sums.spent[period]
            yield f"what {period or 'all rows'} hold", (stated.held.main if stated else 0) == sums.held[period]

    def granted(self, ledger: Ledger, but: str = "") -> Claims:
        """The ledger grants what is left, of each period but one and of all, and not a unit more."""
        for period in (_ALL, *(month for month in _MONTHS if month != but), _UNTOUCHED):
            room, name = self.sums.room(period), period or "all rows"
            yield f"no more is granted to {name} than is left", not self._grants(ledger, room + self.per_rho, period)
            yield f"what is left is granted to {name}", room < self.per_rho or self._grants(ledger, room, period)
            fits = ledger.fitting_in(DATASET, self.allotment(_UNIT // 50), period or None)
            yield f"how many runs fit {name}", fits == room // (_UNIT // 50)

    def _grants(self, ledger: Ledger, units: int, period: str) -> bool:
        run = self.new_run(ledger)
        granted = not refuses(partial(run.open, self.allotment(units), period or None), BudgetExceeded)
        if granted:
            run.close("a probe")
        return granted


def _carried_on(kind: _Kind, ledgers: int, folder: Path, random: np.random.Generator) -> Claims:
    """Runs at one ledger after another, with sums that go through all of them."""
    story = _Story(kind, random)
    ledger = Ledger.open(f"sqlite:///{folder}/0.db")
    periods = None if kind.late else kind.terms
    ledger.register(DATASET, kind.budget, person=kind.person, periods=periods, reason=None if kind.lifetime else "said")
    if kind.late:
        yield from story.run(ledger, _ALL)
        ledger.register(DATASET, kind.budget, periods=kind.terms)
        story.sums.each = kind.each.cap.main
    for number, where in enumerate(_NAMES[:ledgers]):
        # in each ledger one month has no run: in the second it has what is carried on, and nothing else
        alone = _MONTHS[number]
        for period in (_ALL, *(month for month in _MONTHS if month != alone)):
            for what, holds in story.run(ledger, period):
                yield f"{where}: {what}", holds
        if number < ledgers - 1:
            after, archive = Ledger.open(f"sqlite:///{folder}/{number + 1}.db"), folder / f"{number}.jsonl"
            run = story.new_run(ledger)
            run.open(story.allotment(story.per_rho), _UNTOUCHED)
            yield (
                f"{where}: not closed while a run is open",
                refuses(partial(ledger.carry_on, after, archive), InvalidInput),
            )
            run.close("ended")
            ledger.carry_on(after, archive)
            for what, holds in _closed(story, ledger, after, archive, but=_MONTHS[number + 1]):
                yield f"{where}, closed: {what}", holds
            ledger.close()
            ledger = after
    yield from story.granted(ledger)
    yield "the last ledger verifies", not refuses(partial(ledger.verify, DATASET), LedgerViolation)
    ledger.close()


def _closed(story: _Story, old: Ledger, new: Ledger, archive: Path, but: str) -> Claims:
    """Closed books grant nothing; those that go on say the same, grant the same, and agree with the archive."""
    opened = partial(story.new_run(old).open, story.allotment(story.per_rho), _UNTOUCHED)
    yield "nothing is granted", refuses(opened, BooksClosed)
    yield "it still verifies", not refuses(partial(old.verify, DATASET), LedgerViolation)
    yield "the archive shows what is carried on", not refuses(partial(new.check_carried, archive), LedgerViolation)
    for ledger, name in ((old, "it says"), (new, "the next one says")):
        for what, holds in story.compared(ledger):
            yield f"{name} {what}", holds
    for what, holds in story.granted(new, but):
        yield f"the next one: {what}", holds
