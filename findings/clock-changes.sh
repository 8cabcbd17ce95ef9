#!/usr/bin/env bash
# A daily job at 02:30 runs twice on the night when clocks go back, once, or at another time: it depends on the library.
#
# Guess before the first run: croniter and cronsim alike for `30 2 * * *`: once on either night, in spring at 03:00 or
# 03:30. In autumn `*/30 2 * * *` runs twice with croniter and four times with cronsim.
# Versions: croniter 7.0.0, cronsim 2.8, apscheduler 3.11.3, tzdata 2026.6, Python 3.11.
# Seen: in autumn croniter and APScheduler run `30 2 * * *` twice, an hour apart, and cronsim once. In spring, when
# there is no 02:30, croniter and cronsim run it at 03:00 and APScheduler at 03:30, which it writes as 02:30 with the
# old offset. `*/30 2 * * *` does not run in spring with cronsim, and once with the others.
#
# Output, compared with this at the end:
#   | 30 2 * * * 2027-03-28 by_croniter 03:00+0200
#   | 30 2 * * * 2027-03-28 by_cronsim 03:00+0200
#   | 30 2 * * * 2027-03-28 by_apscheduler 02:30+0100
#   | 30 2 * * * 2027-10-31 by_croniter 02:30+0200 02:30+0100
#   | 30 2 * * * 2027-10-31 by_cronsim 02:30+0200
#   | 30 2 * * * 2027-10-31 by_apscheduler 02:30+0200 02:30+0100
#   | */30 2 * * * 2027-03-28 by_croniter 03:00+0200
#   | */30 2 * * * 2027-03-28 by_cronsim
#   | */30 2 * * * 2027-03-28 by_apscheduler 02:00+0100
#   | */30 2 * * * 2027-10-31 by_croniter 02:00+0200 02:30+0200 02:00+0100 02:30+0100
#   | */30 2 * * * 2027-10-31 by_cronsim 02:00+0200 02:30+0200 02:00+0100 02:30+0100
#   | */30 2 * * * 2027-10-31 by_apscheduler 02:00+0200 02:30+0200 02:00+0100 02:30+0100
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    croniter==7.0.0 cronsim==2.8 apscheduler==3.11.3 tzdata==2026.6
cat >"$folder/finding.py" <<'PYTHON'
import datetime as dt
import itertools
import zoneinfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
SECOND = dt.timedelta(seconds=1)


def by_croniter(rule, start):
    steps = croniter(rule, start - SECOND)
    return (steps.get_next(dt.datetime) for _ in itertools.count())


def by_cronsim(rule, start):
    return CronSim(rule, start - SECOND)


def by_apscheduler(rule, start):
    trigger, last = CronTrigger.from_crontab(rule, timezone=BERLIN), None
    while True:
        last = trigger.get_next_fire_time(last, last or start)
        yield last


for rule in ("30 2 * * *", "*/30 2 * * *"):
    for night in (dt.datetime(2027, 3, 28, tzinfo=BERLIN), dt.datetime(2027, 10, 31, tzinfo=BERLIN)):
        end = night + dt.timedelta(days=1)
        for library in (by_croniter, by_cronsim, by_apscheduler):
            runs = itertools.takewhile(lambda time: time < end, library(rule, night))
            print(rule, night.date(), library.__name__, *(f"{time:%H:%M%z}" for time in runs))
PYTHON
cd "$folder"
venv/bin/python finding.py | tee output
diff <(sed -n 's/^#   | //p' "$script") output
