"""Times at which a schedule fires, by the scheduler's own arithmetic."""

import asyncio
from datetime import datetime
from typing import Any

from pubpriv.errors import InvalidInput


def times(schedule: Any, n: int | None = None, start: datetime | None = None, end: datetime | None = None) -> list[Any]:
    """List the times at which a Prefect schedule fires, as its scheduler finds them.

    Args:
        schedule: a `CronSchedule`, `IntervalSchedule` or `RRuleSchedule` of Prefect's client.
        n: most times to list.
        start: earliest time; default: now.
        end: latest time.

    Raises:
        InvalidInput: the scheduler cannot find its times: it never fires, as on the 31st of February.
    """
    from prefect.server.schemas import schedules as server

    # no validation, which was done before: it would read the names of all time zones again
    same = getattr(server, type(schedule).__name__).model_construct(**schedule.model_dump())
    try:
        return list(asyncio.run(same.get_dates(n=n, start=start, end=end)))
    except Exception as error:  # of several libraries, one for each kind of rule
        reason = " ".join(str(error).split())
    raise InvalidInput(f"Prefect's scheduler finds no time at which it fires ({reason}): correct the rule")
