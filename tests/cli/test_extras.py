"""A library that an extra brings is asked for in one line; benchmarks are found where the sources are, only there."""

import subprocess
import sys
from pathlib import Path

import pytest

from pubpriv.cli import extras, main
from pubpriv.errors import InvalidInput


@pytest.fixture
def without_prefect(monkeypatch):
    """As if Prefect were not installed."""
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "prefect" else object())


def test_a_missing_library_is_named_with_its_extra(without_prefect):
    """The very line to type."""
    with pytest.raises(InvalidInput, match=r"^this needs Prefect: pip install 'pubpriv\[prefect\]'$"):
        extras.need("prefect")
    extras.need("distributed")


def test_an_import_that_fails_by_itself_stays_a_defect(without_prefect, capsys):
    """Of a library that is there, or that no extra brings: nobody can install that away."""
    assert main._code(ModuleNotFoundError("no", name="prefect.flows")) == 2
    assert "pip install 'pubpriv[prefect]'" in capsys.readouterr().err
    for name in ("distributed.gone", "pubpriv.gone", None):
        assert main._code(ModuleNotFoundError("no", name=name)) == 1


def test_a_folder_of_installed_packages_is_no_checkout(tmp_path, monkeypatch):
    """Not even where somebody else's package is called benchmarks."""
    assert extras.checkout() == Path(__file__).parents[2]
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "pubpriv" / "cli" / "extras.py"))
    (tmp_path / "benchmarks").mkdir()
    assert extras.checkout() is None


@pytest.mark.long
def test_benchmarks_run_from_any_folder(tmp_path):
    """Where the current folder is another one, in processes that they start too."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    command = [Path(sys.executable).with_name("pubpriv"), "bench", "memory", "--rows", "2000", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"ratio"' in done.stdout
