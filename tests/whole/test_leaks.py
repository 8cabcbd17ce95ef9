"""No value of a private row is anywhere but in the private table, however a run ends."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.leaks import Hit, make_canaries, needles, plant, search
from helpers.prefect_database import lay

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]  # the scenarios start servers of their own

CANARIES = make_canaries(500, 3, seed=11, apart_from=[(2200, 2800), (7200, 7800)])  # where released means are
WANTED = needles(CANARIES.rows, CANARIES.strings)
# another table's, which a careless task leaks after all scenarios: to the same server, folders and console
SPILT = make_canaries(500, 3, seed=12, apart_from=[(2200, 2800), (7200, 7800)])
SPILT_WANTED = needles(SPILT.rows, SPILT.strings)


def private_folders(folder: Path) -> None:
    """Canaries among other rows; the same with damaged pages; the same with words where numbers are declared."""
    rng = np.random.default_rng(0)
    others = np.concatenate([rng.normal(2500, 300, (2000, 3)), rng.normal(7500, 300, (2000, 3))])
    columns = ["age", "cost", "stay"]
    plant(folder / "private", CANARIES, columns, others)
    plant(folder / "spilt", SPILT, columns, others)
    damaged = next(plant(folder / "damaged", CANARIES, columns, others).rglob("*.parquet"))
    data = bytearray(damaged.read_bytes())
    data[4:30_000] = bytes(29_996)
    damaged.write_bytes(data)
    words = next(plant(folder / "words", CANARIES, columns, others).rglob("*.parquet"))
    table = pq.read_table(words)
    pq.write_table(table.set_column(1, "cost", table["patient"].cast(pa.string())), words)
    frame = table.to_pandas().astype({"cost": object})
    frame.loc[::7, "cost"] = frame["patient"].astype(str)[::7]  # words among numbers, and a quote that is not closed
    lines = frame.to_csv(index=False).splitlines()
    (folder / "lines.csv").write_text("\n".join(line + '"' * (i % 11 == 10) for i, line in enumerate(lines)))
    (folder / "headless.csv").write_text("\n".join(lines[1:]))
    public = np.concatenate([rng.normal(2500, 300, (30, 3)), rng.normal(7500, 300, (30, 3))]).round(1)
    pd.DataFrame(public, columns=columns).to_parquet(folder / "public.parquet")
    (folder / "out").mkdir()
    lay(folder / "out" / ".pubpriv" / "prefect" / "prefect.db")


def run_scenarios(folder: Path) -> str:
    """Everything that the scenarios, and the careless task at the end, wrote to the console."""
    command = [sys.executable, str(Path(__file__).with_name("leak_scenarios.py")), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


def places(hits: list[Hit]) -> set[str]:
    return {hit.place for hit in hits}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """(folder, console) after all scenarios."""
    folder = tmp_path_factory.mktemp("leaks")
    private_folders(folder)
    return folder, run_scenarios(folder)


def test_the_scenarios_end_as_they_should(finished):
    """Normal runs release; damaged pages and a broken scan give the fixed text; bad types and refusals their own."""
    _, console = finished
    endings = dict(zip(*[iter(line[3:] for line in console.splitlines() if line.startswith("## "))] * 2, strict=True))
    for way in ("flow", "plain"):
        assert endings[f"{way}-normal"] == "released"
        assert endings[f"{way}-unreadable"].startswith("PrivateStepFailed a private step failed")
        assert endings[f"{way}-types"].startswith("InvalidInput")
        assert endings[f"{way}-refused"].startswith("BudgetExceeded")
        assert endings[f"{way}-broken"] == endings[f"{way}-unreadable"]
    assert endings["plain-lines"] == "released"
    assert "the first line of a CSV file names its columns" in endings["plain-headless"]


def test_nothing_leaks(finished):
    """No canary is in Prefect's database, storage, logs, artifacts, in the ledger, a model, or on the console."""
    folder, console = finished
    kept = folder / "out"
    names = {path.name for path in kept.rglob("*")}
    assert {"ledger.db", "prefect.db", "flow-normal.json", "flow-1.html", "flow-1.parquet"} <= names
    assert not search([kept], {"console": console}, WANTED), places(search([kept], {"console": console}, WANTED))


def test_the_search_would_have_found_a_leak(finished):
    """What a careless task says of its table is found in Prefect's database, its storage and the console: all those
    places were searched for the other table's rows when nothing more was written to them."""
    folder, console = finished
    assert not set(SPILT.rows.ravel()) & set(CANARIES.rows.ravel())
    found = places(search([folder / "out"], {"console": console}, SPILT_WANTED))
    assert "console" in found
    assert any("storage" in place for place in found)
    assert any("prefect.db" in place for place in found)
