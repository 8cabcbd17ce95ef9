"""Restrict the names in runs on a worker: only tables and addresses in the dataset's file, and the worker's ledger.

People who may start runs in Prefect's UI or by its API fill in a form. A path in it would be opened with the worker's
rights, and public rows are shown. So the operator lists what is allowed: on the worker, `PUBPRIV_ALLOW` names the
dataset files that `pubpriv deploy` reads, or their folder. Without it nothing is allowed. None of this restricts the
owner of the tables at their own shell.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pubpriv.common.tables import canonical
from pubpriv.data.cluster import Cluster
from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS
from pubpriv.estimators.jobs import Job
from pubpriv.estimators.settings import settings_of
from pubpriv.flows.dataset_files import files_in, filled, read_yaml
from pubpriv.privacy.ledger import Ledger

VARIABLE = "PUBPRIV_ALLOW"
"""Names dataset files and folders of them, with `:` between them (`os.pathsep`)."""

_LEDGER = "PUBPRIV_LEDGER"

_AT_WORK = "PREFECT__FLOW_RUN_ID"
"""Prefect's own mark of a process that was started to do one flow run."""


@dataclass(frozen=True)
class _Allowed:
    """Names that the file of a dataset allows.

    Attributes:
        ledger: environment variable with the ledger's URL.
        public: canonical names of tables that may be read as public.
        dask: addresses of schedulers.
    """

    ledger: str
    public: frozenset[str]
    dask: frozenset[str]

    @classmethod
    def of(cls, data: dict[str, Any]) -> "_Allowed":
        """Read the names from the content of a file."""
        releases = [release for release in data.get("releases") or () if isinstance(release, dict)]
        files = [data.get("public"), *(file for release in releases for file in _files_of(release))]
        dask = (data.get("dask"), os.environ.get(Cluster.variable))
        return cls(
            ledger=str(data.get("ledger", _LEDGER)),
            public=frozenset(canonical(str(file)) for file in files if file),
            dask=frozenset(str(address) for address in dask if address),
        )


def _on_a_worker() -> bool:
    """Check whether the current flow run may have been started by somebody other than the user of this process."""
    from prefect.runtime import deployment  # `serve` sets Prefect's environment before it loads Prefect

    return bool(os.environ.get(_AT_WORK)) or deployment.id is not None


def check_allowed(job: Job, ledger: str) -> None:
    """Refuse a run on a worker whose names are not in its dataset's file, before anything is opened or bound.

    Args:
        job: the job in the run's parameters.
        ledger: the ledger as named in the parameters.

    Raises:
        InvalidInput: names the field, and what the operator would have to do.
    """
    if not _on_a_worker():
        return
    allowed = _allowed().get(job.dataset)
    if allowed is None:
        raise InvalidInput(
            f"this worker runs nothing for dataset {job.dataset!r}: it is in none of the files that the worker's "
            f"{VARIABLE} names. The operator sets it to the files that `pubpriv deploy` reads, or to their folder"
        )
    if ledger != allowed.ledger:
        raise _refusal("ledger", ledger, job)
    for public in job.public_files():
        if canonical(public) not in allowed.public:
            raise _refusal("public table or file of settings", public, job)
    if job.dask is not None and job.dask not in allowed.dask:
        raise _refusal("Dask scheduler", job.dask, job)
    with Ledger.open(job.ledger, create=False) as books:
        if not books.balance(job.dataset).tables:
            raise InvalidInput(
                f"dataset {job.dataset!r} declares no private table, and a run on a worker binds none: its owner "
                "declares it with `pubpriv deploy --set-budget`, or with `pubpriv budget set --private --columns`"
            )


def check_audit_allowed(ledger: str, models: str | None) -> None:
    """Refuse an audit on a worker that names a ledger or a folder of its own.

    Raises:
        InvalidInput: with the field.
    """
    if not _on_a_worker():
        return
    if models is not None:
        raise InvalidInput("an audit on a worker compares the models under PUBPRIV_OUTPUT: leave `models` empty")
    if ledger != _LEDGER and ledger not in {allowed.ledger for allowed in _allowed().values()}:
        raise InvalidInput(f"an audit on a worker reads the ledger that the worker's {_LEDGER} names, not {ledger}")


def _refusal(what: str, named: str, job: Job) -> InvalidInput:
    return InvalidInput(
        f"this run names the {what} {named}, and the file of dataset {job.dataset!r} that the worker's {VARIABLE} "
        "names does not: use what the deployment has, or have the operator change the file. Nothing was opened"
    )


def _files_of(release: dict[str, Any]) -> list[str]:
    """Name the files in the settings of a release."""
    chosen = release.get("settings") or {}
    kinds = {estimator.name: estimator.settings for estimator in ESTIMATORS}
    known = settings_of(kinds[release["estimator"]]) if release.get("estimator") in kinds else ()
    return [chosen[each.name] for each in known if each.about.is_file(chosen.get(each.name))]


def _read(file: Path) -> dict[str, Any]:
    try:
        return read_yaml(file)
    except InvalidInput as error:
        reason = str(error)
    raise InvalidInput(f"{VARIABLE} names a dataset file that cannot be read here: {reason}")


def _allowed() -> dict[str, _Allowed]:
    """Read the allowed names of each dataset's file."""
    found: dict[str, _Allowed] = {}
    named = [Path(name).expanduser() for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    for file in [file for path in named for file in files_in(path)]:
        data = filled(_read(file), lambda name: os.environ.get(name, ""))
        dataset = data.get("dataset")
        if dataset is None:
            continue  # an audit's
        if dataset in found:
            raise InvalidInput(f"{VARIABLE}: dataset {dataset} is in two files; put all its releases into one")
        found[str(dataset)] = _Allowed.of(data)
    return found
