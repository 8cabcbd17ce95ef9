"""Environments that have a wheel and nothing of this checkout, and a user's own folder beside each."""

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
UV = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))

TRAPS = ("flows.py", "tasks/__init__.py", "cli.py", "schemas.py", "deployments/__init__.py", "benchmarks/__init__.py")
"""Files of a user's own project, named as folders of ours are."""


def clean_environment() -> dict[str, str]:
    """This process's, without what the suite, a ledger's owner or a Prefect user set."""
    ours = ("PREFECT_", "PUBPRIV_", "PYTHON", "PYTEST", "VIRTUAL_ENV", "COVERAGE")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@dataclass(frozen=True)
class Dist:
    """What `python -m build` makes: the sdist, and the wheel built from it."""

    sdist: Path
    wheel: Path


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and the folder of somebody who uses it.

    Attributes:
        bin: programs of the environment.
        folder: the current folder of its processes: tables, and modules of the user's own that are on the search path.
    """

    bin: Path
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *words: object, code: int = 0, program: str = "pubpriv", **more: str) -> str:
        """Run a program to its end; it must leave with this exit code, and import nothing of the user's.

        Returns:
            What it wrote, standard error last.
        """
        command = [self.bin / program, *map(str, words)]
        environment = {**self.environment, **more}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=590, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert self.trapped() == ""
        return done.stdout + done.stderr

    def trapped(self) -> str:
        """Names of the user's own modules that were imported."""
        marks = self.folder / "trapped"
        return marks.read_text() if marks.exists() else ""


def installed(place: Path, requirement: str) -> Installed:
    """A fresh environment with a requirement, and beside it a folder of a user's own."""
    python = place / "environment" / "bin" / "python"
    constraints = ["-c", str(ROOT / "constraints.txt"), requirement]
    if UV:
        run(UV, "venv", "--quiet", "--python", sys.executable, place / "environment")
        run(UV, "pip", "install", "--quiet", "--python", python, *constraints)
    else:
        run(sys.executable, "-m", "venv", place / "environment")
        run(python, "-m", "pip", "install", "--quiet", *constraints)
    _compile_as_here(place / "environment")
    folder = place / "user"
    folder.mkdir()
    project(folder)
    # a user's PYTHONPATH: whoever imports `flows` gets theirs
    environment = clean_environment() | {"PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1", "DO_NOT_TRACK": "1"}
    return Installed(python.parent, folder, environment)


def _compile_as_here(environment: Path) -> None:
    """Link what Python compiled of the same libraries in this environment: to compile them again takes ten seconds.

    Python looks at nothing that was compiled of a file of another size or time; of `pubpriv` there is nothing here.
    """
    here = Path(sysconfig.get_path("purelib"))
    (there,) = environment.glob("lib/python*/site-packages")
    for library in {path.name for path in there.iterdir() if path.is_dir()} - {"pubpriv"}:
        for compiled in (here / library).rglob("*.pyc"):
            wanted = there / compiled.relative_to(here)
            if wanted.parents[1].is_dir() and not wanted.exists():
                wanted.parent.mkdir(exist_ok=True)
                shutil.copy2(compiled, wanted)


def run(*command: object) -> None:
    """Run a command that has to succeed."""
    done = subprocess.run(
        [str(word) for word in command], env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def project(folder: Path) -> None:
    """Tables of two groups, and modules that note that they were imported."""
    for name in TRAPS:
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"with open({str(folder / 'trapped')!r}, 'a') as marks:\n    marks.write(__name__ + ' ')\n")
    generator = np.random.default_rng(0)
    for part, n in (("private", 3000), ("public", 12)):
        rows = generator.standard_normal((n, 3)) + 12.0 * (np.arange(n) % 3 == 2)[:, None]
        pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(folder / f"{part}.parquet")
    pd.read_parquet(folder / "public.parquet").to_csv(folder / "public.csv", index=False)
