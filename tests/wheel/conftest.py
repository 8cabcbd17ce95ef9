"""The wheel and the sdist, built once, and environments with them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.installed import ROOT, UV, Dist, Installed, clean_environment, installed


@pytest.fixture(scope="session")
def dist(tmp_path_factory) -> Dist:
    """Built in isolation, the wheel from the unpacked sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--installer", "uv" if UV else "pip", "--outdir", folder, ROOT]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        command, env=clean_environment() | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Dist(sdist, wheel)


@pytest.fixture(scope="session")
def core(dist, tmp_path_factory) -> Installed:
    """`pip install pubpriv`."""
    return installed(tmp_path_factory.mktemp("core"), f"pubpriv @ {dist.wheel.as_uri()}")


@pytest.fixture(scope="session")
def everything(dist, tmp_path_factory) -> Installed:
    """`pip install 'pubpriv[all]'`."""
    return installed(tmp_path_factory.mktemp("everything"), f"pubpriv[all] @ {dist.wheel.as_uri()}")


@pytest.fixture(scope="session")
def unpacked(dist, tmp_path_factory) -> Path:
    """The sdist's only folder."""
    folder = tmp_path_factory.mktemp("sdist")
    shutil.unpack_archive(dist.sdist, folder, filter="data")
    (root,) = folder.iterdir()
    return root
