#!/usr/bin/env bash
# Prefect's daily interval that begins at 02:30 is at 03:30 from the first night with summer time on, and when it is
# depends on the day on which one asks.
#
# Guess before the first run: at 02:30 by the local clock on every day, but at 03:30 on the night that has no 02:30.
# Versions: prefect 3.8.8, fastapi 0.150.0, tzdata 2026.6, Python 3.11.
# Seen: asked for the whole year, the runs stay at 03:30 after March, in winter too. Asked in November, they are at
# 02:30 again. An interval from 08:30 is at 08:30 in summer, or at 09:30 if one first asks in summer; the scheduler asks
# all the time. (Prefect 3.9.1 gives the same times whenever one asks; a run at 02:30 still moves to 03:30 for good.)
#
# Output, compared with this at the end:
#   | daily from 02:30, asked for 2027: {'02:30+0100': 86, '03:30+0200': 217, '03:30+0100': 62}
#   | daily from 02:30, asked on 1 June for ten days: {'03:30+0200': 10}
#   | daily from 02:30, asked on 5 November for ten days: {'02:30+0100': 10}
#   | daily from 08:30, asked for 2027: {'08:30+0100': 148, '08:30+0200': 217}
#   | daily from 08:30, asked on 1 June for ten days: {'09:30+0200': 10}
#   | daily from 08:30, asked on 5 November for ten days: {'08:30+0100': 10}
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check prefect==3.8.8 fastapi==0.150.0 tzdata==2026.6
cat >"$folder/finding.py" <<'PYTHON'
import asyncio
import collections
import datetime as dt
import zoneinfo

from prefect.server.schemas.schedules import IntervalSchedule

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def clocks(hour, asked, days):
    anchor = dt.datetime(2027, 1, 1, hour, 30, tzinfo=BERLIN)
    schedule = IntervalSchedule(interval=dt.timedelta(days=1), anchor_date=anchor, timezone="Europe/Berlin")
    start = asked.replace(tzinfo=dt.UTC)
    times = asyncio.run(schedule.get_dates(400, start, start + dt.timedelta(days=days)))
    return dict(collections.Counter(f"{time.astimezone(BERLIN):%H:%M%z}" for time in times))


for hour in (2, 8):
    print(f"daily from 0{hour}:30, asked for 2027:", clocks(hour, dt.datetime(2027, 1, 1), 365))
    print(f"daily from 0{hour}:30, asked on 1 June for ten days:", clocks(hour, dt.datetime(2027, 6, 1), 10))
    print(f"daily from 0{hour}:30, asked on 5 November for ten days:", clocks(hour, dt.datetime(2027, 11, 5), 10))
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
