"""Find the periods that a schedule named and no run covered, price them, and run them one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from pubpriv.deployments.schedules import times
from pubpriv.errors import InvalidInput
from pubpriv.flows.parameters import ledger_at
from pubpriv.flows.periods import Period, release_id_for, rows_for
from pubpriv.privacy.budgets import Amount, Budget, parse_budget
from pubpriv.privacy.ledger import Ledger

_MOST = 1000
"""Periods in one call: what Prefect's schedules give at once."""


@dataclass(frozen=True)
class _Missing:
    """A period without a release: its release id, and when its run was due."""

    release_id: str
    due: datetime


@dataclass(frozen=True)
class _Plan:
    """What a backfill would do and cost, in the ledger's units.

    Attributes:
        deployment: as Prefect has it.
        dataset: its name in the ledger.
        missing: periods without a release, oldest first.
        resumed: those among them whose run was opened and not closed, and has its hold already.
        present: how many periods have one.
        budget: the cap, which says what unit the amounts are in.
        each: price of one release.
        remaining: what the dataset has left.
        fitting: how many more releases fit.
    """

    deployment: Any
    dataset: str
    missing: tuple[_Missing, ...]
    resumed: tuple[str, ...]
    present: int
    budget: Budget
    each: Amount
    remaining: Amount
    fitting: int

    @property
    def paid(self) -> int:
        """Count the missing releases that would be paid for; those that are open have their money."""
        return len(self.missing) - len(self.resumed)

    def price_text(self, amount: Amount, times_: int = 1) -> str:
        """Write an amount, several times, for a person."""
        return self.budget.amount_text(Amount(amount.main * times_, amount.delta * times_))


def _moment(text: str, zone: str, end: bool = False) -> datetime:
    """Read a day or a time, in the zone of the schedule if it names none.

    Args:
        text: `2026-11-21`, or `2026-11-21T02:15`, optionally with an offset.
        zone: of the schedule.
        end: a day means its end.

    Raises:
        InvalidInput: it is neither.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None:
        raise InvalidInput(f"a period begins and ends on a day such as 2026-11-21 or at 2026-11-21T02:15, not {text!r}")
    if end and "T" not in text and " " not in text:
        found = datetime.combine(found.date(), time.max)
    return found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))


def plan(deployment: Any, begin: str, end: str) -> _Plan:
    """Find what a backfill from `begin` to `end` would do, and its price.

    Args:
        deployment: as `register.identity` finds it.
        begin: of the time that is looked at; see `_moment`.
        end: of it; it counts.

    Raises:
        InvalidInput: no schedule, no period, a time to come, too many periods, or a ledger that is not known here.
    """
    form = dict(deployment.parameters.get("parameters", {}))
    if not deployment.schedules or not form.get("period") or "budget" not in form:
        raise InvalidInput(
            f"{deployment.name} has no schedule whose periods could be missing: name a deployment with a schedule"
        )
    rule = deployment.schedules[0].schedule
    zone = rule.timezone or "UTC"
    first, last = _moment(begin, zone), min(_moment(end, zone, end=True), datetime.now(UTC))
    if first > last:
        raise InvalidInput(f"from {begin} to {end} is no time that has passed: --from must lie before --to and now")
    due = times(rule, start=first.astimezone(UTC), end=last.astimezone(UTC))
    if len(due) >= _MOST:
        raise InvalidInput(f"there are {_MOST} periods or more from {begin} to {end}: backfill a part at a time")
    wanted: dict[str, datetime] = {}
    for at in due:
        wanted.setdefault(_release_id(form, at), at)
    return _priced(deployment, form, wanted)


def _release_id(form: dict[str, Any], at: datetime) -> str:
    """The release id of a run that was due at a time, by its form, as the run itself makes it."""
    period, series = Period.parse(form["period"]), form.get("series")
    rows = form.get("rows_of")
    return release_id_for(at, period, series) if rows is None else f"{series}-{rows_for(at, rows, period.zone)}"


def _priced(deployment: Any, form: dict[str, Any], wanted: dict[str, datetime]) -> _Plan:
    dataset, allotment = str(form["dataset"]), parse_budget(form["budget"])
    with Ledger.open(ledger_at(form["ledger"]), create=False) as ledger:
        balance = ledger.balance(dataset)
        ended = ledger.ended(dataset, wanted)
    missing = tuple(_Missing(name, at) for name, at in wanted.items() if not ended.get(name))
    return _Plan(
        deployment=deployment,
        dataset=dataset,
        missing=missing,
        resumed=tuple(each.release_id for each in missing if each.release_id in ended),
        present=len(wanted) - len(missing),
        budget=balance.budget,
        each=allotment.hold_on(balance.budget, balance.cap, balance.remaining),
        remaining=balance.remaining,
        fitting=allotment.how_many(balance.budget, balance.cap, balance.remaining),
    )


def trigger(client: Any, deployment: Any, missing: Sequence[_Missing]) -> list[str]:
    """Make one run for each period, all due now; their dataset's slot lets them take turns.

    Returns:
        Names of the runs.
    """
    names = []
    for each in missing:
        form = {**deployment.parameters["parameters"], "release_id": each.release_id}
        if form.get("rows_of"):
            form["rows_of"] = rows_for(each.due, form["rows_of"], Period.parse(form["period"]).zone)
        run = client.create_flow_run_from_deployment(
            deployment.id, parameters={"parameters": form}, name=f"backfill-{each.release_id}"
        )
        names.append(run.name)
    return names
