"""Find scheduled periods without a release, price them, and run them one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from pubpriv.deployments.fire_times import times
from pubpriv.errors import InvalidInput
from pubpriv.flows.parameters import ledger_at
from pubpriv.flows.periods import Period, release_id_for, rows_for
from pubpriv.privacy.budgets import Amount, Budget, parse_budget
from pubpriv.privacy.ledger import Ledger

_MOST = 1000
"""Most periods in one call, the limit of Prefect's schedules."""


@dataclass(frozen=True)
class _Missing:
    """A period without a release: its release id, and when its run was due."""

    release_id: str
    due: datetime


@dataclass(frozen=True)
class _Plan:
    """Plan of a backfill with its price, in the ledger's units.

    Attributes:
        deployment: deployment from Prefect.
        dataset: name in the ledger.
        missing: periods without a release, oldest first.
        resumed: those of them whose run is open, and has its hold already.
        present: number of periods with a release.
        budget: the cap, whose unit the amounts have.
        each: price of one release.
        remaining: remaining budget of the dataset.
        fitting: number of further releases that fit.
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
        """Number of missing releases that need new budget; open runs have their hold already."""
        return len(self.missing) - len(self.resumed)

    def price_text(self, amount: Amount, times_: int = 1) -> str:
        """Text of an amount times a number."""
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
    """Plan a backfill from `begin` to `end`, with its price.

    Args:
        deployment: result of `register.identity`.
        begin: beginning of the time; see `_moment`.
        end: end of the time, included.

    Raises:
        InvalidInput: no schedule, no period, a time in the future, too many periods, or a ledger unknown here.
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
    """Release id of a run that was due at a time, computed from its form like the run does."""
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
    """Make one run for each period, all due now; they take turns by the slot of their dataset.

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
