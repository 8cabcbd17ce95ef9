"""What is in the wheel and the sdist: one package with all its files, and what it takes to test it."""

import subprocess
import sys
from email import message_from_bytes
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest
from helpers.installed import ROOT, clean_environment

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(600)]

LINKS = ("deployments", "flows", "schemas", "tasks")


def files_under(folder: Path) -> set[str]:
    """Files of a folder, as paths from its parent, but those that Python makes."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(PurePosixPath(path.relative_to(folder.parent))) for path in found}


def test_the_wheel_has_one_package_with_every_file_of_it(dist):
    """Modules, `py.typed`, YAML files, templates; nothing beside the package but its own metadata."""
    names = {name for name in ZipFile(dist.wheel).namelist() if not name.endswith("/")}
    metadata = {name for name in names if name.startswith("pubpriv-0.1.0.dist-info/")}
    assert names - metadata == files_under(ROOT / "pubpriv")
    assert {"pubpriv/py.typed", "pubpriv/deployments/compose.yaml", "pubpriv/deployments/datasets/audit.yaml"} <= names


def test_the_metadata_claim_what_is_tested(dist):
    """Linux and CPython 3.11; the licence, keywords and extras that README names."""
    metadata = message_from_bytes(ZipFile(dist.wheel).read("pubpriv-0.1.0.dist-info/METADATA"))
    claimed = metadata.get_all("Classifier")
    assert [each for each in claimed if each.startswith("Operating System")] == ["Operating System :: POSIX :: Linux"]
    versions = [each.rpartition(" ")[2] for each in claimed if each.startswith("Programming Language :: Python :: 3.")]
    assert versions == ["3.11"]
    assert "Typing :: Typed" in claimed
    assert "differential privacy" in metadata["Keywords"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for extra in set(metadata.get_all("Provides-Extra")) - {"dev"}:
        assert f"pubpriv[{extra}]" in readme, extra
    core = [each.partition(";")[0] for each in metadata.get_all("Requires-Dist") if "extra ==" not in each]
    for name in ("prefect", "pydantic", "fastapi", "pandera", "distributed", "statsmodels", "psycopg", "dp-accounting"):
        assert not [each for each in core if each.startswith(name)], name


def test_nothing_else_is_installed_at_the_top(everything):
    """What installing the wheel adds to an environment: `pubpriv`, its metadata and the program."""
    code = "from importlib.metadata import files; print(*{str(file).partition('/')[0] for file in files('pubpriv')})"
    assert set(everything.run("-P", "-c", code, program="python").split()) == {
        "pubpriv",
        "pubpriv-0.1.0.dist-info",
        "..",
    }


def test_the_sdist_has_what_tests_it_and_no_link(unpacked):
    """A link would be a second copy of a folder, or lead nowhere."""
    for name in ("tests", "benchmarks", "docs", "constraints.txt", "Makefile", "LICENSE", "pubpriv", ".ci/run"):
        assert (unpacked / name).exists(), name
    assert files_under(unpacked / "pubpriv") == files_under(ROOT / "pubpriv")
    assert not [path for path in unpacked.rglob("*") if path.is_symlink()]
    assert not [name for name in LINKS if (unpacked / name).exists()]


def test_the_sdist_passes_tests_of_its_own(unpacked):
    """Some that look at files of the whole project, on the package in the sdist."""
    deployed = "tests/deployments/test_deployments.py::test_prefect_yaml_is_what_the_example_files_render_to"
    chosen = ["tests/whole/test_docs.py", "tests/released/test_numbers.py", deployed]
    ours = f"assert pubpriv.__file__.startswith({str(unpacked)!r})"
    code = f"import sys, pubpriv, pytest; {ours}; sys.exit(pytest.main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "-q", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(command, cwd=unpacked, env=clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
