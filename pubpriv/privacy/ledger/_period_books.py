"""Balances of a dataset's periods, read from the newest record of each."""

from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from pubpriv.privacy.ledger import schema
from pubpriv.privacy.ledger._period_states import PeriodBalance, PeriodsState, fullest
from pubpriv.privacy.ledger.records import DatasetState, states_of

_table = schema.records


def in_period(
    connection: sa.Connection,
    dataset: str,
    state: DatasetState,
    kind: str,
    period: str | None,
    before: int | None = None,
) -> DatasetState:
    """The balance of a dataset before a record, with that of the record's period.

    Args:
        connection: connection in a transaction.
        dataset: name of the dataset.
        state: state after the previous record.
        kind: kind of the record.
        period: period of the record; a record that opens a run without a period concerns the fullest one.
        before: number of the record; None: it is about to be appended.
    """
    if state.periods is None:
        return state
    earlier = [] if before is None else [_table.c.seq < before]
    if period is not None:
        known = next((found for _, found in _newest(connection, dataset, _table.c.period == period, *earlier)), None)
    else:
        every = [found for _, found in _newest(connection, dataset, *earlier)] if kind == "opened" else []
        known = fullest(every)
    return replace(state, periods=state.periods.of(known))


def balances(connection: sa.Connection, dataset: str, state: DatasetState) -> tuple[PeriodBalance, ...]:
    """Spent and held amounts: first those that count in all periods, then by period name; empty without periods."""
    common = state.periods
    if common is None:
        return ()
    each = [PeriodBalance(name, found.spent, found.held) for name, found in _newest(connection, dataset)]
    return PeriodBalance(None, common.common_spent, common.common_held), *each


def _newest(connection: sa.Connection, dataset: str, *where: Any) -> list[tuple[str, PeriodsState]]:
    """The balance in the newest record of each period, by name."""
    own = (_table.c.dataset == dataset, _table.c.period.is_not(None), *where)
    newest = sa.select(sa.func.max(_table.c.seq)).where(*own).group_by(_table.c.period)
    query = sa.select(_table).where(_table.c.dataset == dataset, _table.c.seq.in_(newest)).order_by(_table.c.period)
    records = [schema.whole(row) for row in connection.execute(query)]
    found = [(str(record.period), states_of(record.state)[0].periods) for record in records]
    return [(name, state) for name, state in found if state is not None]
