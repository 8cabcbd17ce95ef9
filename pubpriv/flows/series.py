"""What a release takes over from the one before it in its series, so that a series estimates one thing throughout.

With a setting that is left open (`auto`) a run is of the table itself. If releases before it were of something
else, such as the Gaussian that rows are drawn from, the difference would look like a change in the data. So a release
keeps to what the newest one before it was of, unless the YAML file names a value.

What a release was of stands in the ledger, in the configuration that it began with. A run that has begun keeps the
setting it began with, so a retry does what the first try did.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from pubpriv.estimators.jobs import Job
from pubpriv.estimators.settings import Setting, chosen, settings_of
from pubpriv.flows.periods import NAMES
from pubpriv.ledger import Ledger
from pubpriv.privacy.ledger.views import RunView

_BY_HAND = r"\d{8}-[0-9a-f]{16}"
"""What follows the series' name in the release id of a run without a period."""


def kept_to_series(job: Job, series: str | None) -> tuple[Job, tuple[str, ...]]:
    """Give a job the settings that its series has settled on, where its own are left open.

    Args:
        job: a run of the series.
        series: its name; None: of no series, so nothing changes.

    Returns:
        The job, and a line to tell for each setting that another release chose.

    Raises:
        InvalidInput: an unknown ledger or dataset.
    """
    values = chosen(job.settings)
    declared = settings_of(job.estimator.settings)
    open_ = [each for each in declared if each.about.left_open and values[each.field] == each.about.left_open]
    told: list[str] = []
    if series is None or not open_:
        return job, ()
    with Ledger.open(job.ledger, create=False) as ledger:
        for setting in open_:
            found = _settled(ledger, job, series, setting)
            if found is not None and (found[1] == job.release_id or found[0] != setting.about.otherwise):
                value, release_id = found
                job = replace(job, settings=replace(job.settings, **{setting.field: value}))
                if release_id != job.release_id:
                    told.append(
                        f"{setting.name} {value}, as in release {release_id}: a series keeps to what its releases "
                        f"were of. To change it, name another {setting.name} among the settings in the YAML file"
                    )
    return job, tuple(told)


def _settled(ledger: Ledger, job: Job, series: str, setting: Setting) -> tuple[str, str] | None:
    """Find what a setting was before, and in which release: of this very run, else of the newest in the series."""
    runs = [run for run in ledger.history(job.dataset) if job.estimator.name in run.methods]
    for run in runs:
        if run.release_id == job.release_id:
            return _begun_with(run, job, setting), run.release_id
    return next(_chosen_before(job, series, setting, runs[::-1]), None)


def _chosen_before(job: Job, series: str, setting: Setting, newest_first: list[RunView]) -> Iterator[tuple[str, str]]:
    """Go through the releases of a series: what each began with or, where that was left open, what that means."""
    of_series = re.compile(f"{re.escape(series)}-({NAMES}|{_BY_HAND})")
    for run in newest_first:
        if of_series.fullmatch(run.release_id):
            value = _begun_with(run, job, setting)
            yield setting.about.otherwise if value == setting.about.left_open else value, run.release_id


def _begun_with(run: RunView, job: Job, setting: Setting) -> str:
    configuration = json.loads(run.methods[job.estimator.name]["configuration"])
    return str(configuration.get(setting.field, setting.about.left_open))
