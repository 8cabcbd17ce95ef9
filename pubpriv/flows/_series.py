"""Settings that a release takes over from the previous one in its series, so that all of them estimate the same.

With a setting that is left open (`auto`) a run estimates the table itself. If earlier releases estimated something
else, such as the Gaussian behind the rows, the difference would look like a change in the data. So a release uses the
setting of the newest earlier release, unless the YAML file names a value.

Settings of releases are in the ledger, in the configuration with which each began. A run that has begun keeps its
setting, so a retry does the same as the first try.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pubpriv.estimators.jobs import Job
from pubpriv.estimators.settings import Setting, chosen, settings_of
from pubpriv.flows.periods import NAMES
from pubpriv.ledger import Ledger

_BY_HAND = r"\d{8}-[0-9a-f]{16}"
"""Pattern of the part after the series' name in the release id of a run without a period."""


def kept_to_series(job: Job, series: str | None) -> tuple[Job, tuple[str, ...]]:
    """Fill in a job's open settings with those of its series.

    Args:
        job: a run of the series.
        series: its name; None: of no series, so nothing changes.

    Returns:
        The job, and a line to print for each setting that another release chose.

    Raises:
        InvalidInput: an unknown ledger or dataset.
    """
    values = chosen(job.settings)
    declared = settings_of(job.estimator.settings)
    open_ = [each for each in declared if each.about.left_open and values[each.field] == each.about.left_open]
    notices: list[str] = []
    if series is None or not open_:
        return job, ()
    with Ledger.open(job.ledger, create=False) as ledger:
        for setting in open_:
            found = _settled(ledger, job, series, setting)
            if found is not None and (found[1] == job.release_id or found[0] != setting.about.otherwise):
                value, release_id = found
                job = replace(job, settings=replace(job.settings, **{setting.field: value}))
                if release_id != job.release_id:
                    notices.append(
                        f"{setting.name} {value}, as in release {release_id}: a series keeps to what its releases "
                        f"were of. To change it, name another {setting.name} among the settings in the YAML file"
                    )
    return job, tuple(notices)


def _settled(ledger: Ledger, job: Job, series: str, setting: Setting) -> tuple[str, str] | None:
    """Find what a setting was before, and in which release: of this very run, else of the newest in the series."""
    of_series = re.compile(f"{re.escape(series)}-({NAMES}|{_BY_HAND})")
    before = ledger.newest_start(job.dataset, job.estimator.name, lambda release_id: release_id == job.release_id)
    if before is not None:
        return _begun_with(before[1], setting), job.release_id
    newest = ledger.newest_start(
        job.dataset, job.estimator.name, lambda release_id: of_series.fullmatch(release_id) is not None
    )
    if newest is None:
        return None
    value = _begun_with(newest[1], setting)
    return (setting.about.otherwise if value == setting.about.left_open else value), newest[0]


def _begun_with(started: Mapping[str, Any], setting: Setting) -> str:
    configuration = json.loads(started["configuration"])
    return str(configuration.get(setting.field, setting.about.left_open))
