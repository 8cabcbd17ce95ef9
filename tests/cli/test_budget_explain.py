"""`budget show`, `history --plot` and `report`: every answer about money can be explained from the ledger."""

import json
import re
from fractions import Fraction
from xml.etree import ElementTree

import pytest
from helpers.cli_world import URL

from pubpriv.errors import RunClosed
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.events import GaussianEvent, PureEvent
from pubpriv.privacy.ledger import Ledger


def charge(ledger, run, label, rho, publish=True):
    """One Gaussian charge with its answer."""
    event = GaussianEvent(2 * Fraction(rho), ((1 << 30, 1),))
    standing = ledger.run("visits", run).charge(label, {"type": "Counts"}, event)
    if publish:
        ledger.run("visits", run).publish(label, standing.attempt, {"count": [1]})


@pytest.fixture
def runs(folder):
    """On `visits` (zcdp:2): `done` spent 0.4 and is closed, `open` holds 0.5 and is at work."""
    with Ledger.open(URL) as ledger:
        for name, rho in (("done", "0.4"), ("open", "0.6")):
            ledger.run("visits", name).open(parse_budget(f"zcdp:{rho}"))
            charge(ledger, name, "mean/a", "0.1")
        charge(ledger, "done", "mean/b", "0.3")
        charge(ledger, "open", "mean/slow", "0.02", publish=False)
        ledger.run("visits", "done").close("done")
    return folder


def test_show_explains_to_people(program, runs):
    """Amounts in both units, the formal claim, the next run's cost, who spent, and who is at work."""
    shown = program("budget", "show", "visits", "--ledger", URL)
    assert shown.code == 0
    rows = {line.split("│")[1].strip(): line.split("│")[2:-1] for line in shown.out.splitlines() if "│" in line}
    cells = {name: [cell.strip() for cell in row] for name, row in rows.items()}
    assert cells["cap"] == ["2", "0", "11.69"]
    assert [cells[name][0] for name in ("spent so far", "held", "remaining")] == ["0.52", "0.48", "1"]
    words = [
        "epsilon at delta 1e-06", "guaranteed, whatever is asked: 2-zCDP, which implies (11.69, 1e-06)-DP",
        "last run open (0.6-zCDP", "held 0.6 rho, charged 0.12 rho so far", "1 more fit in what remains",
        "spent most: done by ", ": 0.4 rho; open by ", "open run open holds 0.48 rho since 20",
        "pubpriv budget recover open --dataset visits", "at work at mean/slow since 20",
    ]  # fmt: skip
    for word in words:
        assert word in shown.out
    assert "mean/a" not in shown.out  # which is answered


def test_show_says_why_no_more_run_fits(program, runs):
    """0 comes with the reason and with what would fit, and asking for that works."""
    with Ledger.open(URL) as ledger:
        ledger.run("visits", "large").open(parse_budget("zcdp:0.75"))
    told = json.loads(program("budget", "show", "visits", "--ledger", URL, "--json").out)
    assert told["runs_that_fit"] == 0
    shown = program("budget", "show", "visits", "--ledger", URL).out
    assert "one more run like it does not fit: it holds 0.75 rho, and 0.25 rho remain" in shown
    with Ledger.open(URL) as ledger:
        ledger.run("visits", "next").open(parse_budget(re.search(r"What fits: (\S+)", shown).group(1)))


@pytest.mark.parametrize(("cap", "delta"), [("zcdp:2", 1e-6), ("approx:4,1e-5", 1e-5), ("pure:1.5", None)])
def test_show_as_json_keeps_its_keys_and_adds_to_them(program, folder, cap, delta):
    """The keys others read are there, and the new ones say the same in the guarantee's terms."""
    program("budget", "set", "labs", cap, "--ledger", URL, "--unit", "one sample")
    with Ledger.open(URL) as ledger:
        ledger.run("labs", "r").open(parse_budget("pure:0.1"))
        ledger.run("labs", "r").charge("a", {"type": "Counts"}, PureEvent(Fraction(1, 20)))
        before = ledger.balance("labs").to_json()
    told = json.loads(program("budget", "show", "labs", "--ledger", URL, "--json").out)
    assert {name: told[name] for name in before} == before
    assert told["guarantee"]["epsilon"] == pytest.approx(told["epsilon"]["cap"], rel=1e-8)
    assert told["epsilon"].get("delta") == delta
    assert 0 < told["epsilon"]["spent"] <= told["epsilon"]["cap"]
    assert (told["last_run"]["release_id"], told["last_run"]["charged"]) == ("r", told["spent"])
    assert told["last_run"]["hold"] == pytest.approx(told["spent"] + told["held"])
    assert told["runs_that_fit"] >= 1
    assert [run["release_id"] for run in told["open_run_details"]] == list(told["open_runs"]) == ["r"]
    assert told["open_run_details"][0]["work"][0]["label"] == "a"


def test_show_before_the_first_run(program, folder):
    """No run, no extrapolation."""
    shown = program("budget", "show", "visits", "--ledger", URL)
    assert "no run was opened yet" in shown.out
    told = json.loads(program("budget", "show", "visits", "--ledger", URL, "--json").out)
    assert (told["last_run"], told["runs_that_fit"], told["open_run_details"]) == (None, None, [])


def test_history_has_a_total_per_run(program, runs):
    """Each run's line says what it spent, and what all runs up to it did."""
    told = program("budget", "history", "visits", "--ledger", URL).out
    assert "run done: 0.4-zCDP, 2 charges, closed; spent 0.4, with all runs before it 0.4" in told
    assert "run open: 0.6-zCDP, 2 charges, open; spent 0.12, with all runs before it 0.52" in told


def test_history_draws_an_svg(program, runs):
    """The picture has a title and a description; its words are those of the ledger; --json stays JSON."""
    told = program("budget", "history", "visits", "--ledger", URL, "--plot", "burn.SVG", "--json")
    assert (told.code, told.err) == (0, "plot written to burn.SVG\n")
    assert len(json.loads(told.out)) == 4
    picture = ElementTree.parse(runs / "burn.SVG").getroot()
    assert picture.tag.endswith("svg")
    assert picture.get("role") == "img"
    written = [part.text for part in picture.iter() if part.tag.endswith(("}text", "}title"))]
    for text in ("visits: what was spent of 2-zCDP", "cap: 2 rho, 1 left", "held by open runs", "done", "open"):
        assert text in written
    described = next(part.text for part in picture.iter() if part.tag.endswith("desc"))
    assert "0.52 were spent by 2 runs and 0.48 are held by open runs" in described


def test_a_dataset_without_runs_can_be_drawn(program, folder):
    """One record, no time span, nothing spent."""
    assert program("budget", "history", "visits", "--ledger", URL, "--plot", "empty.svg").code == 0
    assert "were spent by 0 runs" in (folder / "empty.svg").read_text()


@pytest.mark.parametrize(
    ("plot", "why"),
    [
        ("burn.png", "write burn.svg"), ("burn", "write burn.svg"), ("nowhere/burn.svg", "does not exist"),
        ("private.parquet/burn.svg", "does not exist"), ("folder.svg", "cannot be written"),
    ],
)  # fmt: skip
def test_a_plot_that_cannot_be_drawn_is_refused_before_anything(program, folder, plot, why):
    """A bad suffix or place is exit code 2, and not even the ledger was looked for."""
    (folder / "folder.svg").mkdir()
    told = program("budget", "history", "visits", "--ledger", "sqlite:///nowhere.db", "--plot", plot)
    assert told.code == 2
    assert why in told.err
    assert told.out == ""


@pytest.mark.long
def test_report_tells_guarantees_first_and_labels_the_figure(program, runs):
    """Cap, allotment, charges, spent, and the PLD line last, with its label."""
    told = program("budget", "report", "done", "--dataset", "visits", "--ledger", URL)
    assert told.code == 0
    marks = [
        "for all runs together: 2-zCDP",
        "for run done: 0.4-zCDP",
        "mean/a",
        "mean/b",
        "spent: 0.4 rho",
        "PLD of 2",
    ]
    places = [told.out.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "not a guarantee for adaptively chosen steps" in told.out.splitlines()[-1]
    still = program("budget", "report", "open", "--dataset", "visits", "--ledger", URL)
    assert "spent so far, the run is open: 0.12 rho" in still.out


def test_report_as_json_gives_the_figure_at_a_delta(program, runs):
    """The same as data; --delta moves the figure and not the guarantees; a bad delta or run is bad input."""
    line = ["budget", "report", "done", "--dataset", "visits", "--ledger", URL, "--json"]
    told, strict = (json.loads(program(*line, *more).out) for more in ([], ["--delta", "1e-9"]))
    assert told["pld"]["delta"] == 1e-6
    assert told["pld"]["epsilon"] < strict["pld"]["epsilon"]
    assert told["allotment"] == strict["allotment"]
    assert told["pld"]["epsilon"] <= told["allotment"]["epsilon_all_gaussian"] + 2e-4
    for more in (["--delta", "0"], ["--delta", "nan"], ["--delta", "1"]):
        assert program(*line, *more).code == 2
    assert program("budget", "report", "nobody", "--dataset", "visits", "--ledger", URL).code == 2


def test_recovering_a_run_at_work_says_whose_it_is(program, runs):
    """The attempt under way is named with its user and host; afterwards its charge fails and its draw is dropped."""
    done = program("budget", "recover", "open", "--dataset", "visits", "--ledger", URL)
    assert done.code == 0
    assert "was at work at mean/slow since 20" in done.err
    with Ledger.open(URL) as ledger:
        with pytest.raises(RunClosed):
            ledger.run("visits", "open").publish("mean/slow", "attempt", {"x": [1]})
        with pytest.raises(RunClosed):
            ledger.run("visits", "open").charge("mean/next", {"type": "Counts"}, PureEvent(Fraction(1, 20)))
        ledger.verify("visits")
    again = program("budget", "recover", "open", "--dataset", "visits", "--ledger", URL)
    assert "was at work" not in again.err
