"""The canary search finds what leaks, and only that."""

import base64
import gzip
import json
import pickle
import sqlite3
import time
import zlib

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from prefect import flow, task
from prefect.artifacts import create_table_artifact

from helpers.leaks import make_canaries, needles, plant, search
from pubpriv.data.tables import PrivateTable

CANARIES = make_canaries(500, 3, seed=3)
WANTED = needles(CANARIES.rows, CANARIES.strings)
VALUE = float(CANARIES.rows[7, 1])
DIGITS = repr(VALUE).replace(".", "")
ROW = CANARIES.rows[8]
WORD = CANARIES.strings[9]


def test_canaries_are_distinct_and_have_nine_digits():
    assert len(np.unique(CANARIES.rows)) == CANARIES.rows.size
    assert all(len(repr(value).replace(".", "")) == 9 for value in CANARIES.rows.ravel().tolist())


def test_canaries_keep_out_of_spans():
    """As many as asked for, on both sides of a span and none inside."""
    rows = make_canaries(50, 3, seed=3, apart_from=[(2000, 3000), (7000, 7500)]).rows
    assert rows.shape == (50, 3)
    assert not (((rows >= 2000) & (rows <= 3000)) | ((rows >= 7000) & (rows <= 7500))).any()
    assert rows.min() < 2000
    assert rows.max() > 7500


FORMS = {
    "repr": repr(VALUE),
    "six digits": f"mean {VALUE:.6g}",
    "cut to seven digits": repr(VALUE)[:8],
    "scientific": f"{VALUE:.8e}",
    "seventeen digits": f"{VALUE:.17g}",
    "negative": repr(-VALUE),
    "a frame": repr(pd.DataFrame(CANARIES.rows[:3])),
    "bare digits": DIGITS,
    "bare digits between letters": f"row a{DIGITS}b",
    "bare digits beside a UUID": f"0197a7c3-12ab-7c3d-9e8f-0a1b2c3d4e5f{DIGITS}",
    "decimals beside a digest": f"{VALUE!r}{'abcdef0123456789' * 4}",
    "numpy": b"x" + np.array([VALUE]).tobytes(),
    "big-endian": b"xyz" + np.array([VALUE], dtype=">f8").tobytes(),
    "float32 row": b"x" + ROW.astype("<f4").tobytes(),
    "pickle": pickle.dumps({"rows": [1.0, VALUE]}),
    "base64 of a pickle": base64.encodebytes(pickle.dumps([[0.5] * 40, VALUE])),
    "base64 in the middle of a word": "abcde" + base64.b64encode(pickle.dumps(VALUE)).decode() + "f",
    "url-safe base64": base64.urlsafe_b64encode(pickle.dumps(ROW)),
    "zlib": b"head" + zlib.compress(repr(VALUE).encode()) + b"tail",
    "gzip": gzip.compress(pickle.dumps(VALUE)),
    "json of base64 of zlib": json.dumps({"result": base64.encodebytes(zlib.compress(pickle.dumps(ROW))).decode()}),
    "string": f"no such patient: {WORD!r}",
    "base64 of a string": base64.b64encode(f"id {WORD}".encode()),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS.keys())
def test_every_form_is_found(text):
    assert search([], [text], WANTED)


@pytest.mark.parametrize(
    "text",
    [
        f"{VALUE:.4g}",
        f"{VALUE + 0.0007:.9g}",
        f"1{VALUE!r}",
        f"{VALUE / 10!r}",
        "2026-11-21 08:57:18.123456 id 7391548210",
        f"0197a7c3-12ab-7c3d-9e8f-a{DIGITS}bc",
        f"sha256 {'0123456789abcdef' * 3}ab{DIGITS}cdefa",
        np.random.default_rng(0).bytes(2_000_000),
        np.random.default_rng(1).normal(5000, 2000, 100_000).tobytes(),
        json.dumps(np.random.default_rng(1).normal(5000, 2000, 50_000).tolist()),
        base64.b64encode(np.random.default_rng(2).bytes(500_000)),
    ],
    ids=[
        *("few digits", "near", "longer", "another size", "times", "UUID", "digest", "noise", "doubles", "numbers"),
        "base64",
    ],
)
def test_nothing_else_is_found(text):
    assert not search([], [text], WANTED)


def test_files_and_their_names_are_searched(tmp_path):
    folder = tmp_path / f"ward={WORD}"
    folder.mkdir()
    (folder / "plain").write_text(repr(VALUE))
    found = {(hit.form, hit.place.startswith("name of")) for hit in search([tmp_path], [], WANTED)}
    assert found == {("text", False), ("string", True)}


def test_databases_are_searched_cell_by_cell_and_in_their_logs(tmp_path):
    connection = sqlite3.connect(tmp_path / "some.db")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("CREATE TABLE kept (x REAL, note TEXT)")
    # the text is split over overflow pages, so that only its cell holds it in one piece
    secret = base64.b64encode(pickle.dumps([0.25] * 700 + [float(CANARIES.rows[0, 0])])).decode()
    connection.execute("INSERT INTO kept VALUES (?, ?)", (VALUE, secret))
    connection.commit()
    hits = search([tmp_path], [], WANTED)
    connection.close()
    assert any(hit.place.endswith("some.db-wal") for hit in hits)
    assert any(hit.place.endswith("kept.x") and hit.canary == repr(VALUE) for hit in hits)
    assert any(hit.place.endswith("kept.note") and hit.canary == repr(float(CANARIES.rows[0, 0])) for hit in hits)


def test_deleted_rows_are_found_in_free_pages(tmp_path):
    connection = sqlite3.connect(tmp_path / "some.db")
    connection.execute("PRAGMA secure_delete=OFF")
    connection.execute("CREATE TABLE kept (note TEXT)")
    connection.executemany("INSERT INTO kept VALUES (?)", [(repr(value),) for value in ROW.tolist()])
    connection.commit()
    connection.execute("DELETE FROM kept")
    connection.commit()
    connection.close()
    assert search([tmp_path], [], WANTED)


def test_a_planted_table_opens_and_holds_every_canary(tmp_path):
    others = np.random.default_rng(0).normal(5000, 1000, (2000, 3))
    folder = plant(tmp_path / "visits", CANARIES, ["age", "cost", "stay"], others)
    assert PrivateTable.open(folder, ["age", "cost", "stay"]).n_rows == 2500
    (file,) = folder.rglob("*.parquet")
    assert WORD in pq.read_table(file)["patient"].to_pylist()
    places = {hit.place.partition(" ")[0] for hit in search([folder], [], WANTED)}
    assert len(places) == 2  # the file, and the name of its folder


@pytest.mark.long
def test_searching_is_fast(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "noise").write_bytes(rng.bytes(10_000_000))
    (tmp_path / "numbers").write_text(json.dumps(rng.normal(size=100_000).tolist()))
    start = time.process_time()  # of this process alone: others may be at work
    assert not search([tmp_path], [], WANTED)
    assert time.process_time() - start < 5


# --- Prefect: what leaks is found, what is guarded is not --------------------------------------------------


def comes_to_be_found(server, value):
    """Whether Prefect's files come to hold the value; states and logs arrive a little late."""
    server.settle()
    until, pause = time.monotonic() + 60, 0.25
    while not (found := search(server.folders, [], needles([value]))) and time.monotonic() < until:
        time.sleep(pause)
        pause *= 2  # to search all that a server keeps takes a second itself
    return bool(found)


def leak_by_print(value):
    @task(log_prints=True)
    def show(path):
        print("first row", value)

    @flow(name="print")
    def run():
        show("visits")

    run()


def leak_by_exception(value):
    @task
    def fail():
        raise ValueError(f"could not use {value}")

    @flow(name="exception")
    def run():
        fail()

    with pytest.raises(ValueError, match="could not"):
        run()


def leak_by_result(value):
    @task(persist_result=True)
    def load():
        return pd.DataFrame({"age": [1.0, value]})

    @flow(name="result")
    def run():
        load()

    run()


def leak_by_parameter(value):
    @flow(name="parameter")
    def run(rows: list):
        pass

    run([{"age": value}])


def leak_by_artifact(value):
    @flow(name="artifact")
    def run():
        create_table_artifact([{"age": value}], key="rows")

    run()


LEAKS = [leak_by_print, leak_by_exception, leak_by_result, leak_by_parameter, leak_by_artifact]


@pytest.fixture(scope="module")
def unseen(prefect_server):
    """Values that Prefect's files do not hold, one for each leak."""
    values = make_canaries(len(LEAKS), 1, seed=11).rows[:, 0].tolist()
    assert not search(prefect_server.folders, [], needles(values))
    return values


@pytest.mark.prefect
@pytest.mark.parametrize(
    "number",
    # a log, an exception and a file in every run; what a person would have to write on purpose among the slow ones
    [0, 1, 2, *(pytest.param(i, marks=pytest.mark.slow) for i in (3, 4))],
    ids=[leak.__name__ for leak in LEAKS],
)
def test_a_leaking_task_is_found(number, unseen, prefect_server):
    LEAKS[number](unseen[number])
    assert comes_to_be_found(prefect_server, unseen[number])
