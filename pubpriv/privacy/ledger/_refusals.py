"""Messages of refusals: who holds the budget, and what would fit.

The data of a refusal is read under the lock (`Refused`); the text is made after the lock is released, because finding
an epsilon that fits is a slow search.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pubpriv.errors import BudgetExceeded, InvalidInput
from pubpriv.privacy.budgets import Amount, Budget, ZeroConcentratedDP, budget_from_json, parse_budget
from pubpriv.privacy.ledger._no_room import NoRoom
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.records import DatasetState, Record, RunState
from pubpriv.privacy.units import DELTA_UNIT, to_text


@dataclass(eq=False)
class Refused(Exception):
    """Carries the data of a refusal out of the transaction, which is rolled back.

    Attributes:
        cause: exception of `apply`.
        dataset, release_id: names of the dataset and the run.
        terms: the dataset's budget, as JSON.
        asked: the run's allotment.
        state, run: state of the dataset, and of the run if it was open.
        holders: amount that each open run holds.
        last: the newest charge of the dataset.
        periods: terms of the dataset's periods; None: there are none.
    """

    cause: NoRoom
    dataset: str
    release_id: str
    terms: dict[str, str]
    asked: Budget
    state: DatasetState
    run: RunState | None
    holders: dict[str, Amount]
    last: Record | None
    periods: PeriodTerms | None = None

    def error(self) -> BudgetExceeded:
        """Make the error for the caller, with text and amounts."""
        writers = {
            "run": self._of_run,
            "method": self._of_run,
            "hold": lambda: self._of_hold(budget_from_json(self.terms)),
            "period": self._of_period,
            "period_hold": lambda: self._of_hold(self._of_each_period),
            "cap": self._of_cap,
        }
        text = writers.get(self.cause.of, self._of_dataset)()
        cause = self.cause
        return BudgetExceeded(
            text, spent=cause.spent, held=cause.held, requested=cause.requested, remaining=cause.remaining
        )

    def _of_run(self) -> str:
        cause, run = self.cause, self.run
        assert run is not None
        shared = "; ".join(
            f"{name}: {self.asked.amount_text(method.spent)} of {self.asked.amount_text(method.share)}"
            for name, method in run.methods.items()
        )
        return (
            f"{cause}. Release id {self.release_id!r} of dataset {self.dataset!r}: "
            f"allotment {self.asked.amount_text(run.allotment)}, "
            f"spent {self.asked.amount_text(run.spent)}, "
            f"held by methods {self.asked.amount_text(run.allotment - run.spent - run.unassigned)}, "
            f"requested {self.asked.amount_text(cause.requested)}, "
            f"remaining {self.asked.amount_text(cause.remaining)}"
            f"{f' (methods: {shared})' if shared else ''}{self._spender()}{_delta_text(cause)}. "
            f"An allotment never grows: ask for less, or use another release id. {_at_most(self.asked, cause)}"
        )

    @property
    def _of_each_period(self) -> Budget:
        """The cap of a period, whose currency its amounts have."""
        assert self.periods is not None
        return self.periods.budget

    def _of_period(self) -> str:
        """Message for a run that does not fit its period's cap, or that of the fullest period if it has none."""
        budget, cause = self._of_each_period, self.cause
        assert cause.remaining is not None
        left = DatasetState(cap=budget.cap, spent=budget.cap - cause.remaining)
        return (
            f"{cause}, which is {budget.describe()} (a run without a period has to fit every one). Dataset "
            f"{self.dataset!r}: of this cap spent {budget.amount_text(cause.spent)}, "
            f"held {budget.amount_text(cause.held)}, requested {budget.amount_text(cause.requested)}, "
            f"remaining {budget.amount_text(cause.remaining)}{_delta_text(cause)}. "
            f"{what_fits(self.asked, budget, left)}. What the period has not spent does not go to another one"
        )

    def _of_hold(self, budget: Budget) -> str:
        cause = self.cause
        return (
            f"{cause}. Release id {self.release_id!r} of dataset {self.dataset!r}: "
            f"spent {budget.amount_text(cause.spent)}, held {budget.amount_text(cause.held)}, "
            f"requested {budget.amount_text(cause.requested)}, remaining {budget.amount_text(cause.remaining)}"
            f"{self._spender()}{_delta_text(cause)}. "
            f"A hold never grows: ask for less, or use another release id. {_at_most(budget, cause)}"
        )

    def _of_cap(self) -> str:
        budget, state, cap = budget_from_json(self.terms), self.state, self.cause.requested
        why = ""
        if cap.delta < state.spent.delta + state.held.delta:
            why = (
                ". It is the reserve for failure terms that would fall short, since a larger epsilon counts "
                "them higher: close open runs first, or raise delta too"
            )
        return (
            f"{self.cause}. Dataset {self.dataset!r}: spent {budget.amount_text(state.spent)}, "
            f"held {budget.amount_text(state.held)}, requested {budget.amount_text(cap)}, "
            f"remaining {budget.amount_text(state.remaining)} of {budget.amount_text(state.cap)}"
            f"{self._holding(budget)}{self._spender()}{why}. "
            f"What fits: a cap of {budget.amount_text(state.spent + state.held)} or more"
        )

    def _of_dataset(self) -> str:
        budget, state, cause = budget_from_json(self.terms), self.state, self.cause
        return (
            f"{cause}. Dataset {self.dataset!r}: spent {budget.amount_text(state.spent)}, "
            f"held {budget.amount_text(state.held)}, requested {budget.amount_text(cause.requested)}, "
            f"remaining {budget.amount_text(cause.remaining)} of {budget.amount_text(state.cap)}"
            f"{self._holding(budget)}{self._spender()}{_delta_text(cause)}. {what_fits(self.asked, budget, state)}"
        )

    def _holding(self, budget: Budget) -> str:
        holders = [f"{run} holds {budget.amount_text(amount)}" for run, amount in self.holders.items()]
        return f" ({'; '.join(holders)})" if holders else ""

    def _spender(self) -> str:
        return f"; last spent by {self.last.user} in {self.last.release_id} at {self.last.at}" if self.last else ""


def _at_most(budget: Budget, cause: NoRoom) -> str:
    """Sentence with the largest charge or share that still fits."""
    left = cause.remaining
    return f"What fits: {budget.amount_text(left)}" if left is not None and left.main > 0 else "Nothing more fits"


def what_fits(asked: Budget, ledger: Budget, state: DatasetState) -> str:
    """Sentence with the largest allotment of the asked kind that has room; asking for it works."""
    for found in _candidates(asked, ledger, state):
        if found[1].hold_on(ledger, state.cap, state.remaining).fits(state.remaining):
            return f"What fits: {found[0]}"
    return "Nothing more fits: close runs that are done (`pubpriv budget recover`), or raise the cap"


def _candidates(asked: Budget, ledger: Budget, state: DatasetState) -> Iterator[tuple[str, Budget]]:
    """Yield texts of allotments with the allotments, best first."""
    units = _room(state)
    if units < 1:
        return
    texts = [text for kind in (asked, ZeroConcentratedDP(1)) for text in kind.texts_within(units, ledger)]
    for text in texts:
        try:
            yield text, parse_budget(text)
        except InvalidInput:  # rounded down to nothing
            continue


def _room(state: DatasetState) -> int:
    """The largest hold for which enough of the failure reserve is left too."""
    cap, left = state.cap, state.remaining
    if not cap.delta:
        return left.main
    return min(left.main, ((left.delta + 1) * cap.main - 1) // cap.delta)


def _delta_text(cause: NoRoom) -> str:
    """Sentence for a refusal because of the failure reserve; empty for others."""
    requested, remaining = cause.requested, cause.remaining
    if requested is None or remaining is None or requested.delta <= remaining.delta:
        return ""
    wanted, left = (to_text(amount.delta, DELTA_UNIT) for amount in (requested, remaining))
    return f"; the reserve for failure terms lacks room: requested {wanted}, remaining {left} of delta"
