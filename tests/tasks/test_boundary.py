"""The guard: what crosses, what is raised, what is kept."""

import asyncio
import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.leaks import make_canaries, needles, plant, search
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowFilter, FlowFilterName
from prefect.settings import PREFECT_DEBUG_MODE, temporary_settings

from pubpriv.curator import Curator, RunHandle, SimulationHandle
from pubpriv.data.codec import row_tuples
from pubpriv.data.columns import parse_columns
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Everything
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import BudgetExceeded, InvalidInput, PrivateStepFailed, PubPrivError, SpecMismatch
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger
from pubpriv.released.law import Mixture
from pubpriv.tasks._crossing import CrossingError, PublicHandle, check_crossing, crossing
from pubpriv.tasks.boundary import (
    _FLOW_FAILED,
    _ByContent,
    _code_fingerprint,
    _fresh_error,
    _ReadableSerializer,
    private_task,
    public_task,
    publishing_task,
    safe_flow,
)

MIXTURE = Mixture.of(np.array([0.25, 0.75]), [np.zeros(2), np.array([1 / 3, 1e-300])], [np.eye(2), 2 * np.eye(2)])
ROWS = np.random.default_rng(0).normal(size=(20, 2))
RUN = RunHandle("PUBPRIV_LEDGER", "visits", "2026-11", PrivateTable("visits", parse_columns(["age"]), 10))
CANARIES = make_canaries(50, 2, seed=5)
WANTED = needles(CANARIES.rows, CANARIES.strings)


# --- what may cross ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.1, "text", (1, ("a", None)), MIXTURE, RUN, SimulationHandle("token"), (MIXTURE, RUN)],
)
def test_handles_and_public_values_cross(value):
    check_crossing(value)


@dataclass(frozen=True)
class Unregistered:
    x: float = 7391.54821


@pytest.mark.parametrize(
    "value",
    [ROWS, [1.0], {"a": 1}, Unregistered(), PublicTable(("a", "b"), ROWS), (1, ROWS), object(), 1j, b"x"],
)
def test_anything_else_is_refused_by_its_type_alone(value):
    with pytest.raises(CrossingError) as refusal:
        check_crossing(value)
    assert isinstance(refusal.value, TypeError)
    assert "7391" not in str(refusal.value)
    assert "0x" not in str(refusal.value)
    assert "array(" not in str(refusal.value)
    assert refusal.value.__context__ is None


@pytest.mark.parametrize("value", [RUN, SimulationHandle("token"), (1, RUN)])
def test_public_tasks_take_no_handles_of_runs(value):
    with pytest.raises(CrossingError, match="Handle may not enter or leave a public task"):
        check_crossing(value, admit_handles=False)


# --- public tables -----------------------------------------------------------------------------------------


def test_a_public_table_comes_back_bit_for_bit(tmp_path):
    table = PublicTable(("age", "cost"), ROWS, dropped=3)
    handle = PublicHandle.store(table, tmp_path / "public")
    again = handle.load()
    assert (again.sha256, again.columns, again.dropped) == (table.sha256, table.columns, 3)
    assert np.array_equal(again.rows, table.rows)
    assert PublicHandle.store(again, tmp_path / "public") == handle
    assert [path.name for path in (tmp_path / "public").iterdir()] == [f"{table.sha256}.npy"]


def test_other_rows_under_a_hash_are_refused(tmp_path):
    handle = PublicHandle.store(PublicTable(("age", "cost"), ROWS), tmp_path)
    np.save(handle.path, ROWS + 1)
    with pytest.raises(InvalidInput, match="not those"):
        handle.load()


@pytest.mark.parametrize("content", [None, b"", b"no array"])
def test_a_missing_or_damaged_file_is_refused(tmp_path, content):
    handle = PublicHandle.store(PublicTable(("age", "cost"), ROWS), tmp_path)
    (tmp_path / f"{handle.sha256}.npy").unlink()
    if content is not None:
        (tmp_path / f"{handle.sha256}.npy").write_bytes(content)
    with pytest.raises(InvalidInput, match="cannot be read"):
        handle.load()


# --- what may be raised ------------------------------------------------------------------------------------


class Hoarder(InvalidInput):
    """An error of ours that carries more than its text."""

    def __init__(self, text, rows):
        super().__init__(text)
        self.rows = rows
        self.add_note("a note about 7391.54821")


def unexplained(_):
    return PrivateStepFailed()


def test_our_errors_leave_fresh():
    fresh = _fresh_error(Hoarder("no such column", ROWS), unexplained)
    assert type(fresh) is InvalidInput
    assert str(fresh) == "no such column"
    assert vars(fresh) == {}
    assert not hasattr(fresh, "__notes__")


@pytest.mark.parametrize("kind", [SpecMismatch, BudgetExceeded, CrossingError])
def test_the_class_is_kept(kind):
    assert type(_fresh_error(kind("text"), unexplained)) is kind


class Dead(BaseException):
    """Neither an Exception nor a signal."""


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ValueError("7391.54821"), PrivateStepFailed, PrivateStepFailed.TEXT),
        (MemoryError("7391.54821"), PrivateStepFailed, PrivateStepFailed.TEXT),
        (Dead("7391.54821"), PrivateStepFailed, PrivateStepFailed.TEXT),
        (PrivateStepFailed(), PrivateStepFailed, PrivateStepFailed.TEXT),
        (KeyboardInterrupt("7391.54821"), KeyboardInterrupt, "interrupted"),
        (SystemExit("7391.54821"), SystemExit, "1"),
        (asyncio.CancelledError("7391.54821"), asyncio.CancelledError, "cancelled"),
    ],
)
def test_everything_else_leaves_with_a_fixed_text(error, kind, text):
    fresh = _fresh_error(error, unexplained)
    assert type(fresh) is kind
    assert str(fresh) == text


@pytest.mark.parametrize("error", [KeyError("7391.54821"), Dead("7391.54821"), Hoarder("plain", ROWS)])
def test_nothing_hangs_on_what_a_private_step_raises(error):
    def step(x: int) -> None:
        try:
            float("row 7391.54821")
        except ValueError:
            raise error  # noqa: B904 - with a context, on purpose

    with pytest.raises(PubPrivError) as raised:
        private_task(name="step")(step).fn(1)
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None
    assert "7391" not in str(raised.value)


def test_a_private_step_may_not_return_rows():
    with pytest.raises(CrossingError, match="ndarray"):
        private_task(name="step")(lambda: ROWS).fn()


# --- declarations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "option",
    [
        "persist_result",
        "cache_policy",
        "cache_key_fn",
        "cache_expiration",
        "refresh_cache",
        "result_storage",
        "result_serializer",
        "result_storage_key",
        "log_prints",
        "task_run_name",
        "timeout_seconds",
        "retries",
        "on_failure",
    ],
)
@pytest.mark.parametrize("declare", [private_task, public_task, publishing_task, safe_flow])
def test_what_keeps_data_in_cannot_be_set(declare, option):
    with pytest.raises(TypeError, match=option):
        declare(name="step", **{option: True})


def test_names_and_descriptions_show_and_no_tag_asks_for_a_slot():
    def step(x: int) -> int:
        """What it does."""
        return x

    private, public = private_task(name="private PCA")(step), public_task(name="seeding")(step)
    assert (private.name, private.description, private.retries) == ("private PCA", "What it does.", 0)
    assert (public.name, public.description) == ("seeding", "What it does.")
    assert private.tags == public.tags == set()


def test_global_settings_do_not_undo_it(in_new_process, monkeypatch):
    for name in (
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT",
        "PREFECT_TASKS_DEFAULT_PERSIST_RESULT",
        "PREFECT_TASKS_REFRESH_CACHE",
        "PREFECT_LOGGING_LOG_PRINTS",
    ):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("PREFECT_TASKS_DEFAULT_RETRIES", "3")
    monkeypatch.setenv("PREFECT_FLOWS_DEFAULT_RETRIES", "3")
    told = in_new_process(
        "from pubpriv.tasks.boundary import *\n"
        "t, p, f = (how(name='step')(lambda x: x) for how in (private_task, public_task, safe_flow))\n"
        "print(t.persist_result, t.retries, t.log_prints, p.persist_result, p.retries, p.refresh_cache,\n"
        "      f.persist_result, f.retries, f.log_prints)"
    )
    assert told == "False 0 False True 0 False False 0 False"


# --- public results: kept readable, found by content -------------------------------------------------------


@pytest.mark.parametrize("value", [None, 0.1, 1e-300, float("inf"), -0.0, "text", (1, (2.5, "a")), MIXTURE])
def test_results_are_kept_exactly_and_readably(value):
    serializer = _ReadableSerializer()
    stored = serializer.dumps(value)
    assert json.loads(stored)["value"] is not None or value is None
    assert serializer.loads(stored) == value
    assert repr(serializer.loads(stored)) == repr(value)


@pytest.mark.parametrize("error", [InvalidInput("text"), PrivateStepFailed(), PubPrivError("text")])
def test_errors_of_ours_are_kept_without_pickle(error):
    again = _ReadableSerializer().loads(_ReadableSerializer().dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))


def key(**inputs):
    """Cache key of a public step for these inputs."""
    return _ByContent().compute_key(SimpleNamespace(task=public_task(name="step")(same_place)), inputs, {})


def same_place(**inputs):
    """A step."""


KEY_ELSEWHERE = """
import sys; sys.path.insert(0, {folder!r})
from test_boundary import MIXTURE, ROWS, PublicHandle, PublicTable, key
print(key(a=MIXTURE, b=0.1, c=PublicHandle.store(PublicTable(('age', 'cost'), ROWS), sys.argv[1])))
"""


def test_keys_are_the_same_in_every_process_and_place(in_new_process, tmp_path):
    here = key(a=MIXTURE, b=0.1, c=PublicHandle.store(PublicTable(("age", "cost"), ROWS), tmp_path / "here"))
    code = KEY_ELSEWHERE.format(folder=str(Path(__file__).parent))
    assert in_new_process(code, str(tmp_path / "there")) == here


def test_keys_tell_values_types_and_names_apart():
    inputs = [
        {"a": 1},
        {"a": 1.0},
        {"a": "1"},
        {"b": 1},
        {"a": (1,)},
        {"a": MIXTURE},
        {"a": 0.3},
        {"a": 0.1 + 0.2},
    ]
    assert len({key(**each) for each in inputs}) == len(inputs)


def test_the_code_counts(monkeypatch):
    before = key(a=1)
    monkeypatch.setattr("pubpriv.tasks.boundary._code_fingerprint", lambda: "other code")
    assert key(a=1) != before
    assert len(_code_fingerprint()) == 64


def test_what_is_refused_has_no_key():
    assert key(a=RUN) is None
    assert key(a=ROWS) is None


# --- in Prefect --------------------------------------------------------------------------------------------


@pytest.fixture
def curator(tmp_path):
    """A run over a planted table, in a ledger."""
    others = np.random.default_rng(0).normal(5000, 1000, (200, 2))
    table = PrivateTable.open(plant(tmp_path / "visits", CANARIES, ["age", "cost"], others), ["age", "cost"])
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1), table=table)
        yield Curator(table, ledger, "visits", ZeroConcentratedDP("0.5"), release_id="r")


def count(curator: Curator, label: str) -> float:
    """An honest private step."""
    answer = curator.release(Counts(Everything(), 1 << 30), label)
    return float(answer.values["count"][0])


def rows_of(curator):
    """What no step may do: the first row of the private table."""
    return next(next(iter(curator._table.chunks())).blocks())[:, :250].T.tolist()


def fail_with_rows(curator: Curator, kind: str) -> None:
    """A step whose errors quote rows."""
    rows = rows_of(curator)
    print("rows are open", len(rows))
    if kind == "base":
        raise Dead(rows)
    if kind == "note":
        error = ValueError("plain")
        error.add_note(str(rows))
        raise error
    try:
        float(str(rows))
    except ValueError as error:
        if kind == "chained":
            raise RuntimeError("plain") from error
        raise


def return_rows(curator: Curator) -> list:
    """A step that returns rows."""
    return rows_of(curator)


COUNT = private_task(name="count")(count)
FAIL = private_task(name="fail")(fail_with_rows)
RETURN = private_task(name="return rows")(return_rows)


@public_task(name="twice")
def twice(x: float) -> float:
    """A public step."""
    return 2 * x


@public_task(name="column means")
def column_means(public: PublicTable, scale: float = 1.0) -> tuple[float, ...]:
    """A public step over a table."""
    return tuple((scale * public.rows.mean(axis=0)).tolist())


def states(count, name):
    """Names of the states of a flow's `count` tasks once all of them are final."""
    with get_client(sync_client=True) as client:
        for _ in range(240):
            runs = client.read_task_runs(flow_filter=FlowFilter(name=FlowFilterName(any_=[name])))
            if len(runs) >= count and all(run.state and run.state.is_final() for run in runs):
                return sorted(run.state.name for run in runs)
            time.sleep(0.25)
    raise AssertionError([(run.name, run.state) for run in runs])


@pytest.mark.prefect
def test_steps_as_tasks_give_the_same_answers_and_public_ones_are_cached(curator, tmp_path, prefect_server):
    counting, means = crossing(COUNT, tmp_path / "public"), crossing(column_means, tmp_path / "public")
    table = PublicTable(("age", "cost"), ROWS)

    @safe_flow(name="twice the same")
    def run(factor: float) -> tuple:
        return counting(curator, label="count"), means(table, scale=factor), means(public=table, scale=factor)

    first, second = run(1.5), run(1.5)
    assert first == second == (count(curator, "count"), first[1], first[1])
    assert first[1] == tuple((1.5 * ROWS.mean(axis=0)).tolist())
    prefect_server.settle()
    assert states(6, "twice the same") == ["Cached"] * 3 + ["Completed"] * 3


@pytest.mark.prefect
def test_large_values_cross_as_they_are(tmp_path, prefect_server):
    large = row_tuples(np.random.default_rng(0).normal(size=(2000, 50)))

    @public_task(name="first row")
    def first_row(rows: tuple) -> tuple:
        return rows[0] if isinstance(rows, tuple) and len(rows) == 2000 else ()

    @safe_flow(name="large")
    def run(n: int) -> tuple:
        return tuple(crossing(first_row, tmp_path)(rows=large) for _ in range(n))

    assert run(3) == (large[0],) * 3
    prefect_server.settle()
    assert states(3, "large") == ["Cached", "Cached", "Completed"]


@pytest.mark.prefect
def test_private_rows_are_nowhere_in_prefect(curator, tmp_path, prefect_server, capfd, caplog):
    """However a step fails with rows, or returns them; what is kept of all of them is searched once."""
    caplog.set_level(logging.DEBUG)
    failing, returning = crossing(FAIL, tmp_path), crossing(RETURN, tmp_path)
    kinds = ("plain", "chained", "note", "base", "return")
    for kind in kinds:

        @safe_flow(name=f"hostile {kind}")
        def run(dataset: str, kind: str) -> None:
            returning(curator) if kind == "return" else failing(curator, kind)

        with pytest.raises(PubPrivError) as raised:
            run("visits", kind)
        assert type(raised.value) is (CrossingError if kind == "return" else PrivateStepFailed)
    prefect_server.settle()
    for kind in kinds:
        assert states(1, f"hostile {kind}") == ["Failed"]
    console = capfd.readouterr()
    texts = {
        "console": console.out + console.err,
        "log": caplog.text,
        "ledger": (tmp_path / "ledger.db").read_bytes(),
    }
    assert not search(prefect_server.folders, texts, WANTED)


@pytest.mark.prefect
def test_an_honest_run_leaves_no_row_anywhere(curator, tmp_path, prefect_server, capfd):
    counting = crossing(COUNT, tmp_path)

    @safe_flow(name="honest")
    def run(dataset: str) -> float:
        return twice(counting(curator, "count"))

    assert run("visits") == 2 * count(curator, "count")
    prefect_server.settle()
    states(2, "honest")
    console = capfd.readouterr()
    ledger = [path for path in tmp_path.iterdir() if path.is_file()]
    assert not search([*prefect_server.folders, *ledger], [console.out + console.err], WANTED)


@pytest.mark.prefect
def test_a_flow_raises_nothing_but_ours(prefect_server):
    value = CANARIES.rows[0, 0]

    @safe_flow(name="careless")
    def careless(n: int) -> None:
        raise KeyError(value)

    @safe_flow(name="mistaken")
    def mistaken(n: int) -> None:
        raise InvalidInput("no such column: 'age'")

    with pytest.raises(PubPrivError) as raised:
        careless(1)
    assert str(raised.value) == _FLOW_FAILED
    with pytest.raises(InvalidInput, match="no such column"):
        mistaken(1)
    prefect_server.settle()
    assert not search(prefect_server.folders, [], WANTED)
    kept = [path.read_text() for path in prefect_server.folders[0].glob("storage/*") if path.is_file()]
    assert any("no such column" in text for text in kept)
    assert not any("gASV" in text for text in kept if "error" in text)


@pytest.mark.prefect
def test_public_tasks_refuse_runs(curator):
    @safe_flow(name="confused")
    def run(n: int) -> None:
        crossing(twice, "unused")(curator)

    with pytest.raises(CrossingError, match="RunHandle"):
        run(1)


@pytest.mark.prefect
def test_a_publishing_task_writes_each_time_and_takes_no_run(curator, tmp_path):
    """What it writes may have been lost since, so nothing is remembered; runs and rows stay outside."""
    written = []

    @publishing_task(name="write")
    def write(text: str) -> None:
        written.append(text)

    @safe_flow(name="writing")
    def run(n: int) -> None:
        for _ in range(n):
            crossing(write, tmp_path)("same")

    @safe_flow(name="writing a run")
    def confused(n: int) -> None:
        crossing(write, tmp_path)(curator)

    run(2)
    assert written == ["same", "same"]
    with pytest.raises(CrossingError, match="RunHandle"):
        confused(1)


@pytest.mark.prefect
def test_flows_refuse_debug_mode():
    @safe_flow(name="debugged")
    def run(n: int) -> int:
        return n

    with (
        temporary_settings({PREFECT_DEBUG_MODE: True}),
        pytest.raises(InvalidInput, match="PREFECT_DEBUG_MODE"),
    ):
        run(1)


def test_generators_and_coroutines_are_no_flows():
    async def body() -> None:
        """Not guarded."""

    with pytest.raises(TypeError, match="plain functions"):
        safe_flow(name="late")(body)


def test_what_is_kept_of_public_rows_is_for_this_user_alone(tmp_path):
    """Also in a folder that was open to all."""
    folder = tmp_path / "public-tables"
    folder.mkdir(mode=0o755)
    handle = PublicHandle.store(PublicTable.open(np.ones((2, 2))), folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert Path(handle.path).stat().st_mode & 0o777 == 0o600


def test_a_handle_of_public_rows_knows_where_they_were_read(tmp_path):
    """So that a step that begins a run with them is asked what the driver is asked."""
    (tmp_path / "p.csv").write_text("a\n1\n2\n")
    table = PublicTable.open(tmp_path / "p.csv")
    assert PublicHandle.store(table, tmp_path / "kept").load().source == table.source == str(tmp_path / "p.csv")
