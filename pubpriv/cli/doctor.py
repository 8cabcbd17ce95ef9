"""`pubpriv doctor`: check whether this installation works, one line per check. Nothing is changed or spent."""

import os
import re
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import typer

from pubpriv.cli.console import out
from pubpriv.cli.extras import lacking
from pubpriv.cli.options import LedgerOption
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable

_OLDEST = (3, 11)
_LEAST_ROOM = 200 * 2**20
"""Least free disk space in bytes, because a ledger that cannot be written stops every run."""

_DRAWS, _SD = 4000, 2**20


def doctor(ledger: LedgerOption = None) -> None:
    """Check this installation: Python, libraries, extras, noise, ledger, room on the disk, Prefect.

    Exit code: 0 if all is well, else that of the first check which failed.
    """
    checks: list[tuple[str, Callable[[], str]]] = [
        ("python", _python),
        ("libraries", _libraries),
        ("extras", _extras),
        ("noise", _noise),
        ("ledger", lambda: _ledger(ledger)),
        ("output", _output),
        ("disk", lambda: _room(ledger)),
        ("prefect", _prefect),
    ]
    codes = [_show(name, check) for name, check in checks]
    raise typer.Exit(next(filter(None, codes), 0))


def _show(name: str, check: Callable[[], str]) -> int:
    """Print the result of a check; return the exit code of its failure, or 0."""
    try:
        text, code = check(), 0
    except PubPrivError as error:
        text, code = " ".join(str(error).split()), error.exit_code
    except ImportError as error:
        text, code = f"{error.name} cannot be imported: install pubpriv again", InvalidInput.exit_code
    out(f"{'FAIL' if code else 'ok':5}{name:11}{text}")
    return code


def _python() -> str:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < _OLDEST:
        raise InvalidInput(f"{found} is too old: pubpriv needs Python {'.'.join(map(str, _OLDEST))} or newer")
    return f"{found}, pubpriv {version('pubpriv')}"


def _libraries() -> str:
    """Return the versions of the libraries that every installation has."""
    found, missing = [], []
    for line in requires("pubpriv") or ():
        if "extra ==" in line:
            continue
        name = re.split(r"[^\w.-]", line)[0]
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        raise InvalidInput(f"not installed: {', '.join(missing)}. Install pubpriv again: pip install pubpriv")
    return ", ".join(found)


def _extras() -> str:
    missing = lacking()
    if not missing:
        return "all are installed"
    return f"not installed, and needed only by who uses them: {', '.join(f'pubpriv[{name}]' for name in missing)}"


def _noise() -> str:
    """Draw from the sampler that releases use, and check whether the draws are plausible.

    A draw that is off by six standard errors, or that repeats, is not chance. `pubpriv audit` compares the whole law.
    """
    import numpy as np

    from pubpriv.privacy.noise import OperatingSystemNoise

    source = OperatingSystemNoise()
    first, second = (source.draw("doctor", "draws", _SD, _DRAWS).astype(float) for _ in range(2))
    spread = float(np.concatenate([first, second]).std()) / _SD
    if abs(spread - 1) > 6 / (2 * 2 * _DRAWS) ** 0.5 or (first == second).all():
        raise InvalidInput("draws are not discrete Gaussian noise: release nothing, and run `pubpriv audit`")
    return f"OpenDP {version('opendp')} draws discrete Gaussian noise from the system's entropy"


def _ledger(option: str | None) -> str:
    from pubpriv.cli.options import ledger_url
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.privacy.ledger.urls import VARIABLE

    if option is None and not os.environ.get(VARIABLE):
        return f"none is named: give --ledger, or set {VARIABLE}"
    with Ledger.open(ledger_url(option), create=False) as books:
        books.check_complete()
        count = len(books.datasets())
        return f"{books.url} can be read, is of this version, and knows {count} dataset{'' if count == 1 else 's'}"


def _output() -> str:
    from pubpriv.released.tree import check_tree

    root = check_tree("dataset", "release")
    return "PUBPRIV_OUTPUT is not set: fit needs --out" if root is None else f"{root} can be written"


def _room(option: str | None) -> str:
    """Return the free space where files are written: here, in the ledger's folder, and in the output tree."""
    from pubpriv.privacy.ledger.urls import VARIABLE, understand
    from pubpriv.released.tree import output_root

    folders = [Path.cwd()]
    url = option or os.environ.get(VARIABLE)
    place = None if not url else understand(url).path
    folders += [] if place is None else [place.parent]
    root = output_root()
    folders += [] if root is None else [root]
    there = [next(parent for parent in (folder, *folder.parents) if parent.exists()) for folder in folders]
    least = min(shutil.disk_usage(folder).free for folder in there)
    if least < _LEAST_ROOM:
        raise Unavailable(f"{least / 2**20:.0f} MB are free where ledger or models are written: make room")
    return f"{least / 2**30:.1f} GB are free where ledger and models are written"


def _prefect() -> str:
    """Say whether `fit` runs as a flow, with names of settings only, because values may contain secrets."""
    named = sorted(name for name in os.environ if name.startswith("PREFECT_"))
    url = os.environ.get("PREFECT_API_URL")
    if not url:
        beside = f" ({', '.join(named)} set)" if named else ""
        return f"PREFECT_API_URL is not set: fit runs plain, without a server{beside}"
    if "prefect" in lacking():
        raise InvalidInput("PREFECT_API_URL is set and Prefect is not installed: pip install 'pubpriv[prefect]'")
    if not _answers(f"{url.rstrip('/')}/health"):
        raise Unavailable("the server in PREFECT_API_URL does not answer: start it, or unset the variable to run plain")
    return f"the server in PREFECT_API_URL answers, and fit runs as a flow there (set: {', '.join(named)})"


def _answers(url: str) -> bool:
    from urllib.request import urlopen

    if not url.startswith(("http://", "https://")):
        return False
    try:
        with urlopen(url, timeout=5) as reply:  # noqa: S310 - the scheme was checked
            return bool(reply.status == 200)
    except (OSError, ValueError):
        return False
