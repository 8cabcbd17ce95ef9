"""The registry: whatever is in it has a command, a plan, a flow, a form, a kind of model file and an audit."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS, MEAN, MIXTURE
from pubpriv.estimators.jobs import Job
from pubpriv.estimators.settings import setting, settings_of

EACH = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.name)


@EACH
def test_an_estimator_has_all_that_is_derived_from_it(estimator):
    """Commands, a flow and a form by its name, a model class by what it makes, and a driver that audits replay."""
    from pubpriv.audit.recording import drivers
    from pubpriv.cli import fit, plan
    from pubpriv.deployments import render
    from pubpriv.flows import estimate
    from pubpriv.flows.parameters import form_of

    for app in (fit.app, plan.app):
        assert estimator.name in [command.name for command in app.registered_commands]
    flow = estimate.FLOWS[estimator.name]
    assert flow.name == f"estimate-{estimator.name}"
    assert getattr(estimate, render._FLOWS[estimator.name].rpartition(".")[2]) is flow
    assert {each.name for each in settings_of(estimator.settings)} <= set(form_of(estimator).model_fields)
    assert any(driver.name.startswith(f"estimate_{estimator.name}") for driver in drivers(0))
    assert [each for each in ESTIMATORS if each.name == estimator.name] == [estimator]


@dataclass(frozen=True)
class More(MIXTURE.settings):
    """The settings of a mixture, and one more: a field is all that it takes."""

    patience: int = setting(3, least=1, most=9, planned=True, name="most_patience", help="How long to wait")


WITH_ONE_MORE = replace(MIXTURE, name="patient", settings=More)


def test_a_new_setting_is_a_field_and_nothing_else(monkeypatch):
    """Option, form field with its bounds, and the value in the settings follow from the field."""
    import typer
    from pydantic import ValidationError
    from typer.testing import CliRunner

    from pubpriv.cli.derived import settings_from, with_settings
    from pubpriv.flows.parameters import form_of

    seen = []
    app = typer.Typer()

    def command(rows: int, **given):
        seen.append((rows, settings_from(WITH_ONE_MORE, given)))

    app.command()(with_settings(command, WITH_ONE_MORE, planned=True))
    monkeypatch.setenv("TERM", "dumb")
    assert CliRunner().invoke(app, ["7", "--most-patience", "5", "--components", "2"]).exit_code == 0
    assert seen == [(7, More(n_components=2, patience=5))]
    given = {"private": "/p", "public": "/q", "budget": "zcdp:1", "dataset": "d", "ledger": "PUBPRIV_LEDGER"}
    assert form_of(WITH_ONE_MORE)(**given, most_patience=4).most_patience == 4
    with pytest.raises(ValidationError, match="most_patience"):
        form_of(WITH_ONE_MORE)(**given, most_patience=10)


def test_a_setting_that_names_a_file_says_so():
    """It is read as public, so a run must not be refused or allowed by another list."""

    @dataclass(frozen=True)
    class WithFile(MIXTURE.settings):
        start: str = setting("nowhere", file_or=("nowhere",), help="Where to begin")

    common = ("t.parquet", "p.csv", None, "zcdp:1", "visits", "sqlite:///l.db", "r1")
    kind = replace(MIXTURE, settings=WithFile)
    assert Job.of(kind, *common).public_files() == ("p.csv",)
    assert Job.of(kind, *common, start="start.csv", max_components=3).public_files() == ("p.csv", "start.csv")


def test_options_that_exclude_each_other_are_refused():
    """As the setting says; one of them alone is taken, and what was not given stays at its default."""
    from pubpriv.cli.derived import settings_from

    with pytest.raises(InvalidInput, match="--components says how many there are"):
        settings_from(MIXTURE, {"n_components": 3, "max_components": 4})
    assert settings_from(MIXTURE, {"max_components": 4, "n_components": None}) == MIXTURE.settings(max_components=4)


def test_checks_of_an_estimator_take_its_settings():
    """Files that settings name are inputs of the job: a model must not overwrite them."""
    common = ("t.parquet", "p.csv", None, "zcdp:1", "visits", "sqlite:///l.db", "r1")
    job = Job.of(MEAN, *common, covariance="sigma.csv")
    assert job.inputs() == ("t.parquet", "l.db", "p.csv", "sigma.csv")
    assert Job.of(MEAN, *common).inputs() == ("t.parquet", "l.db", "p.csv")
    few = SimpleNamespace(rows=[0, 1], notes=())
    assert Job.of(MIXTURE, *common).advice(few) == ()
    assert Job.of(MIXTURE, *common, n_components=2).advice(few)
