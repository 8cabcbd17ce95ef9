"""Forms are made from the settings of estimators, and what is filled in becomes arguments that the commands take."""

import pytest
from helpers.desk import HOME, client, entry
from typer.main import get_command

from pubpriv.cli import fit, plan
from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS, GAUSSIAN
from pubpriv.web.forms import IN_SPITE, arguments, fields_of

PERSON = {"person": "age", "persons": 900, "periods": "month:day", "per_period": "zcdp:0.1"}


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    return entry(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def persons(visits):
    """The same dataset with a person's column and periods in its file."""
    from dataclasses import replace

    return replace(visits, dataset=visits.dataset.model_copy(update=PERSON))


def filled(fields):
    """A value for each field, as somebody might type it."""
    return {each.name: "yes" if each.kind == "yes" else each.choices[-1] if each.choices else "3" for each in fields}


@pytest.mark.parametrize("command", ["plan", "fit"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.name)
def test_commands_take_what_was_filled_in(persons, estimator, command):
    """Every field is an option of its command, with one value."""
    fields = fields_of(persons, estimator)
    made = arguments(persons, estimator, command, filled(fields) | {IN_SPITE: "yes"})
    assert made[:3] == [command, estimator.name, f"--dataset={persons.file}"]
    group = get_command({"plan": plan.app, "fit": fit.app}[command])
    taken = group.commands[estimator.name]
    context = taken.make_context(estimator.name, made[2:])
    asked = [each for each in fields if command in each.commands]
    assert len(made) == 3 + len(asked) + (command == "fit")
    assert {each.name.replace("-", "_") for each in asked} <= set(context.params) | {
        option.lstrip("-").replace("-", "_") for each in taken.params for option in each.opts
    }


def test_no_text_becomes_another_option(visits):
    """Nor a file, a ledger or a table."""
    typed = {"budget": "zcdp:1 --ledger=sqlite:///other.db", "columns": "--private=/etc/passwd", "ledger": "x"}
    assert arguments(visits, GAUSSIAN, "fit", typed)[3:] == [
        "--budget=zcdp:1 --ledger=sqlite:///other.db",
        "--columns=--private=/etc/passwd",
    ]


@pytest.mark.parametrize("wrong", [{}, {"budget": " "}, {"budget": "zcdp:1\n"}, {"budget": "z" * 20_000}])
def test_what_is_missing_or_cannot_be_shown_is_refused(visits, wrong):
    if wrong.get("budget", "").endswith("\n"):
        wrong = {"budget": "zcdp:\n1"}
    with pytest.raises(InvalidInput, match="Budget"):
        arguments(visits, GAUSSIAN, "plan", wrong)


def test_a_choice_is_one_of_the_form(visits):
    with pytest.raises(InvalidInput, match="Target is one of auto"):
        arguments(visits, GAUSSIAN, "plan", {"budget": "zcdp:1", "target": "all"})


def test_no_form_asks_for_a_file(persons):
    """A setting that may name a file offers only its words."""
    for estimator in ESTIMATORS:
        for each in fields_of(persons, estimator):
            assert each.kind != "text" or "file" not in each.help.lower(), each


def test_a_form_comes_back_with_what_is_wrong(visits, tmp_path):
    """And with what was typed."""
    with client({"visits": visits}, tmp_path) as browser:
        shown = browser.get("/datasets/visits/plan/gaussian")
        assert 'value="zcdp:0.1"' in shown.text
        typed = {"budget": "", "columns": "<b>age"}
        answer = browser.post("/datasets/visits/plan/gaussian", data=typed, headers={"origin": HOME})
    assert answer.status_code == 400
    assert "Budget is missing" in answer.text
    assert "&lt;b&gt;age" in answer.text
