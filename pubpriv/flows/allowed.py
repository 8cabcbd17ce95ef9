"""What a run on a worker may name: the tables and addresses of its dataset's file, the worker's ledger, nothing else.

Whoever may start runs there, in Prefect's UI or by its API, fills in a form. A path in it would be opened with the
worker's rights, and what is public is shown. So the operator says what may be named: `PUBPRIV_ALLOW` names the dataset
files that `pubpriv deploy` reads, or their folder, where the worker runs. Without it nothing may. The owner of the
tables, at a shell of their own, is held by none of this.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pubpriv.data import cluster
from pubpriv.errors import InvalidInput
from pubpriv.estimators.jobs import Job
from pubpriv.estimators.mean.settings import WORDS
from pubpriv.places import canonical
from pubpriv.privacy.ledger import Ledger

VARIABLE = "PUBPRIV_ALLOW"
"""Names dataset files and folders of them, with `:` between them (`os.pathsep`)."""

LEDGER = "PUBPRIV_LEDGER"

_AT_WORK = "PREFECT__FLOW_RUN_ID"
"""Prefect's own mark of a process that was started to do one flow run."""

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Allowed:
    """What the file of a dataset names.

    Attributes:
        ledger: environment variable that holds the ledger's URL.
        public: canonical names of what may be read as public.
        dask: addresses of schedulers.
    """

    ledger: str
    public: frozenset[str]
    dask: frozenset[str]

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Allowed":
        """Read what a file names from its content."""
        releases = [release for release in data.get("releases") or () if isinstance(release, dict)]
        files = [data.get("public"), *((release.get("settings") or {}).get("covariance") for release in releases)]
        dask = (data.get("dask"), os.environ.get(cluster.VARIABLE))
        return cls(
            ledger=str(data.get("ledger", LEDGER)),
            public=frozenset(canonical(str(file)) for file in files if file and file not in WORDS),
            dask=frozenset(str(address) for address in dask if address),
        )


def on_a_worker() -> bool:
    """Whether somebody else than the user of this process started the flow run at work."""
    from prefect.runtime import deployment  # `serve` sets Prefect's environment before it loads Prefect

    return bool(os.environ.get(_AT_WORK)) or deployment.id is not None


def check_allowed(job: Job, ledger: str) -> None:
    """Refuse a run on a worker that names what its dataset's file does not; nothing was opened, and nothing is bound.

    Args:
        job: what the run's parameters ask for.
        ledger: as the parameters name it.

    Raises:
        InvalidInput: with the field, and what the operator would have to do.
    """
    if not on_a_worker():
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
            raise _refusal("public table or covariance", public, job)
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
    if not on_a_worker():
        return
    if models is not None:
        raise InvalidInput("an audit on a worker compares the models under PUBPRIV_OUTPUT: leave `models` empty")
    if ledger != LEDGER and ledger not in {allowed.ledger for allowed in _allowed().values()}:
        raise InvalidInput(f"an audit on a worker reads the ledger that the worker's {LEDGER} names, not {ledger}")


def filled(data: Any, value: Callable[[str], str]) -> Any:
    """Plain dictionaries and lists, with values for `${NAME}`."""
    if isinstance(data, dict):
        return {str(name): filled(part, value) for name, part in data.items()}
    if isinstance(data, list):
        return [filled(part, value) for part in data]
    return _PLACEHOLDER.sub(lambda match: value(match[1]), data) if isinstance(data, str) else data


def _refusal(what: str, named: str, job: Job) -> InvalidInput:
    return InvalidInput(
        f"this run names the {what} {named}, and the file of dataset {job.dataset!r} that the worker's {VARIABLE} "
        "names does not: use what the deployment has, or have the operator change the file. Nothing was opened"
    )


def _allowed() -> dict[str, Allowed]:
    """What each dataset's file names."""
    found: dict[str, Allowed] = {}
    for file in _files():
        data = filled(_loaded(file), lambda name: os.environ.get(name, ""))
        dataset = data.get("dataset")
        if dataset is None:
            continue  # an audit's
        if dataset in found:
            raise InvalidInput(f"{VARIABLE}: dataset {dataset} is in two files; put all its releases into one")
        found[str(dataset)] = Allowed.of(data)
    return found


def _files() -> list[Path]:
    named = [Path(name).expanduser() for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    return [file for path in named for file in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])]


def _loaded(file: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        data = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, YAMLError):
        data = None
    if not isinstance(data, dict):
        raise InvalidInput(f"{VARIABLE} names {file}, which is no dataset file that can be read here")
    return data
