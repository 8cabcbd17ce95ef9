"""How well a release fits: its picture over the public rows, its own evidence in sentences, and the first sentence."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from helpers.releases import gaussian_release, mean_release, mixture_release, of_old, public_for, simulated

from pubpriv.released.digits import MINUS
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding
from pubpriv.released.histograms import Histogram, public_part
from pubpriv.released.law import Mixture
from pubpriv.released.report import page
from pubpriv.released.report._fit import fit_charts
from pubpriv.released.report.evidence import hints, ladder, missing_cells, reason, sentences
from pubpriv.released.report.lead import lead

TOLD = {
    "beyond_clip": {"share": 0.0132, "sd": 0.0011},
    "could_hide": {"rows": 14, "beyond": 9.4},
    "misfit": {"divergence": 0.31, "limit": 0.005, "noise": 0.001, "unexplained": 0.123, "fits": False},
    "coverage": {"uncovered_rows": 2031.2, "noise": 40.0, "added": 0, "component": False},
    "ladder": [{"components": k, "nats_per_row": -5.76 + 0.1 * k, "noise": 0.02} for k in (1, 2, 4)],
    "k_apart": 1,
    "k_fit": 3,
}
"""What estimators may tell of their fit."""


def telling(make=mixture_release, **changed):
    """A release with such diagnostics; None takes one out."""
    told = {name: value for name, value in (TOLD | changed).items() if value is not None}
    return make(diagnostics={"warnings": [], **told})


def bars_of(chart):
    """Rectangles of a chart as (x, width, height) in pixels."""
    return [[float(bar.get(name)) for name in ("x", "width", "height")] for bar in chart.iter("rect")]


def test_bars_and_line_are_densities_on_one_axis():
    """Of many public rows from the released law itself the bars follow the line, wherever they stand."""
    law = Mixture.of([0.6, 0.4], [[0.0, 0.0], [6.0, 0.0]], [np.eye(2), np.diag([4.0, 1.0])])
    estimate = replace(mixture_release(means=[[0.0, 0.0], [6.0, 0.0]]), mixture=law)
    rows = law.sample(20_000, 1)
    chart = fit_charts(estimate, [0], [Histogram.of(rows[:, 0])])[0]
    whole = next(part for part in chart.iter("path") if part.get("stroke-width") == "2.4")
    points = np.array([[float(n) for n in pair.split()] for pair in re.split("[ML]", whole.get("d"))[1:]])
    bars = bars_of(chart)
    assert len(bars) == 20
    for x, width, height in bars:
        line = 150.0 - np.interp(np.linspace(x, x + width, 21), *points.T).mean()
        assert height == pytest.approx(line, abs=6.0)
    assert "mean 2.4, sd 3.2" in chart.findtext("desc") + "".join(chart.itertext())


def test_a_narrow_component_is_not_missed_and_flattens_nothing():
    """A component a thousandth as wide as the picture has its mass in it; the bars keep a third of the height."""
    law = Mixture.of([0.5, 0.5], [[0.0], [50.0]], [[[100.0]], [[1e-6]]])
    estimate = replace(mixture_release(("a",), means=[[0.0], [50.0]]), mixture=law)
    chart = fit_charts(estimate, [0], [Histogram.of(np.random.default_rng(1).normal(20, 20, 100))])[0]
    assert "cut off at the top" in chart.findtext("desc")
    assert max(height for _, _, height in bars_of(chart)) > 0.3 * 110
    assert {text.text for text in chart.iter("text")} >= {"1", "2"}


def test_a_mean_is_a_line_in_its_interval():
    """Over bars of the public rows; without them there is nothing to draw."""
    estimate = mean_release(("age",), [3.0], error=0.1)
    assert fit_charts(estimate, [0], []) == []
    chart = fit_charts(estimate, [0], [Histogram.of(np.arange(10.0))])[0]
    assert "mean 3.00 ± 0.20" in "".join(chart.itertext())


@pytest.mark.parametrize("make", [mean_release, gaussian_release, mixture_release], ids=["mean", "gaussian", "mixture"])
def test_a_page_draws_the_public_rows_that_the_model_file_keeps(make):
    """The same pictures as from the rows themselves; of a release that kept none, as an older version's, no bars."""
    public, estimate = public_for(make())
    kept = replace(estimate, public=public_part(public))
    again = type(kept).from_json(kept.to_json())
    assert (
        page(again).count("Grey bars are the 40 public rows")
        == page(estimate, public).count("Grey bars are the 40")
        == 1
    )
    assert "Grey bars" not in page(estimate)
    charts = [re.findall(r"<svg[^>]*fit-\d.*?</svg>", text, re.S) for text in (page(again), page(estimate, public))]
    assert charts[0] == charts[1] != []


def test_a_release_tells_how_it_fits():
    """Every part of it in a sentence, figures with their errors; what is not told is left out."""
    text = " ".join(sentences(telling()))
    for part in (
        "About 1.32% ± 0.22% of the records lie beyond the clip radius",
        "Fewer than about 14 records that lie more than 9.4 standard deviations out",
        "move a mean by 14 L / n standard deviations, and a variance by 14 L^2 / n of it",
        "a divergence of 0.31; up to 0.005 is accepted): it does not fit, and about 12% of the records",
        "About 2,031 ± 80 records lie where no public row is: no component could be made of them",
        "No two components lie apart; 3 of them predict records best",
    ):
        assert part in text
    assert sentences(mixture_release()) == hints(mixture_release()) == ladder(mixture_release()) == []
    assert ladder(telling())[0] == ("1", f"{MINUS}5.660 ± 0.020")
    written = page(telling())
    assert all(part in written for part in ("Numbers of components that were tried", f"{MINUS}5.660 ± 0.020"))


OUTSIDE = {
    "outside": {"share": 0.0121, "sd": 0.0021, "beyond": 6.07, "seen": True},
    "could_hide": {"rows": 34, "beyond": 6.07, "left_out": True},
    "clip_radius": 4.1,
}


def test_records_of_no_component_are_told():
    """How many there are, and how many could hide; first of all that they are left out."""
    found = telling(misfit=None, coverage=None, **OUTSIDE)
    text = " ".join(sentences(found))
    assert "1.21% ± 0.42% of the records belong to no component: they lie more than 6.07 standard" in text
    assert "Fewer than about 34 records more than 6.07 standard deviations from every component" in text
    assert "as if they were at most 4.1 standard deviations out" in text
    assert lead(found).endswith(" 1.21% of them belong to no group, and are left out.")
    assert "belong" not in lead(telling(**OUTSIDE | {"outside": OUTSIDE["outside"] | {"seen": False}}))


def test_what_is_not_there_is_said_to_be_not_there():
    """A share within its noise, a model that fits, no uncovered rows."""
    quiet = telling(
        beyond_clip={"share": 0.001, "sd": 0.001},
        misfit={"divergence": 0.001, "limit": 0.005, "fits": True},
        coverage={"uncovered_rows": -3.0, "noise": 40.0, "added": 0, "component": False},
    )
    text = " ".join(sentences(quiet))
    assert "No record was seen beyond the clip radius" in text
    assert "0.005 is accepted): it fits." in text
    assert "No group of records was seen away from all public rows (0 ± 80)" in text


def test_missing_cells_are_told_by_column():
    """The share that lacks each, and what its mean is worth; in a table of their own, if anything is known."""
    told = {"share": 0.3012, "sd": 0.0051, "effective_rows": 15_837.2}
    missing = {"columns": {"age": told, "cost": told | {"share": 0.0}}, "information": 0.5}
    estimate = gaussian_release(diagnostics={"warnings": [], "missing": missing})
    assert missing_cells(estimate)[0] == ("age", "30.12% ± 1.02%", "15,837")
    assert "complete rows that its mean is worth" in page(estimate)
    assert "Missing cells" not in page(gaussian_release())
    for odd in (None, "text", {"columns": [1]}, {"columns": {"age": {"share": "x"}}}):
        broken = gaussian_release(diagnostics={"warnings": [], "missing": odd})
        assert missing_cells(broken) == []
        page(broken)


@pytest.mark.parametrize("odd", [None, "text", {}, [1], {"share": None, "sd": "x"}, {"share": float("nan"), "sd": 1}])
def test_diagnostics_of_other_versions_break_nothing(odd):
    """Whatever stands under these names, the page is written."""
    estimate = mixture_release(diagnostics={"warnings": [], **dict.fromkeys([*TOLD, "hints"], odd)})
    assert sentences(estimate) == []
    assert ladder(estimate) == []
    page(estimate)


def test_hints_are_told_apart_from_warnings():
    """On the page, as text and not in the list of details."""
    estimate = gaussian_release(diagnostics={"warnings": [], "hints": ["<fare> has a long tail"]})
    written = page(estimate)
    assert "Hint: &lt;fare&gt; has a long tail." in written
    assert written.count("long tail") == 1


def test_the_first_sentence_says_what_was_found():
    """Means with half of their intervals; of a Gaussian also deviations, and whose they are; groups with places."""
    said = lead(mean_release(("age", "a", "b", "c", "d"), center=[32.1, 1, 1, 1, 1], error=0.2))
    assert said.startswith("The 20,000 records of visits have mean age 32.10 ± 0.39, mean a 1.00 ± 0.39 and mean b")
    assert "2 more columns" in said
    assert "1 more column below" in lead(mean_release(("a", "b", "c", "d")))
    told = gaussian_release(("age",), [5.0], [[4.0]], error=0.4, target="moments")
    assert "mean age 5.00 ± 0.78 (standard deviation 2.00 ± 0.20)" in lead(told)
    assert lead(replace(told, target="gaussian")).startswith("Taken to be Gaussian, the 20,000 records")
    said = lead(mixture_release())
    assert "three groups" in said
    assert "50.00% ± " not in said
    assert "50.00% of them around age 0 and cost 0; 33.33% of them around age 6 and cost 6" in said
    assert "one group" in lead(mixture_release(means=np.zeros((1, 2))))
    assert "and" not in lead(mixture_release(("age",), means=np.zeros((1, 1)))).split("around")[1]
    assert "nine groups" in (said := lead(mixture_release(means=np.arange(18.0).reshape(9, 2) * 4)))
    assert "five smaller ones" in said
    kept = lead(mixture_release(diagnostics={"warnings": [], "private_model_chosen": False}))
    assert "show no better model than that of the public rows, which is released: three groups" in kept
    assert lead(simulated(mean_release())).startswith("The 20,000 simulated records")


FEW = Finding("few-rows", (), DOUBTFUL, "too few private records for this budget", remedy="a larger budget")
TAIL = Finding("could-hide", ("cost",), DOUBTFUL, "rows like it could hide", quantities=("mean",))


def test_what_is_not_to_be_used_is_said_first_with_the_reason():
    """The page begins with it, before any number; a note is no reason."""
    note = Finding("long-tail", ("age",), NOTE, "its tail is long")
    estimate = replace(telling(), findings=(note, FEW), converged=False)
    assert reason(estimate) == FEW.text
    assert lead(estimate) == f"Do not use these numbers: {FEW.text}."
    written = page(estimate)
    assert written.index("Do not use these numbers") < written.lower().index("estimated on")
    assert 'class="lead unusable"' in written
    assert 'class="lead unusable"' not in page(telling())


def test_one_doubtful_column_leaves_the_others():
    """The numbers are told, then which are doubtful and why; the page lists the column with what would help."""
    estimate = replace(mean_release(), findings=(replace(TAIL, remedy="bound it"),), converged=False)
    assert lead(estimate).startswith("The 20,000 records of visits have mean age")
    assert lead(estimate).endswith("But 1 of 2 columns is good; cost: doubtful, because rows like it could hide.")
    written = page(estimate)
    assert "In part: 1 of 2 columns is good" in written
    assert "<td>doubtful</td><td>rows like it could hide</td><td>bound it</td>" in written


def test_a_file_of_an_older_version_has_no_states():
    """It opens, says so, and gives the warnings as reasons; a page of it is made all the same."""
    old = of_old(mean_release(converged=False, diagnostics={"warnings": ["the rounds did not converge"]}))
    assert old.states is None
    assert "no states" in old.verdict
    assert "the rounds did not converge" in reason(old)
    assert lead(old).startswith("Do not use these numbers: it did not converge")
    assert "no states" in page(old)


def test_pictures_of_fit_are_whole_elements():
    """Ids of their own, and text that stays on the sheet, for names of any length."""
    names = ["x" * 200, "<b>", "a b"]
    estimate = mixture_release(names)
    charts = fit_charts(estimate, [0, 1, 2], [])
    assert len({chart.get("aria-labelledby") for chart in charts}) == 3
    for chart in charts:
        assert ET.fromstring(ET.tostring(chart)).tag == "svg"
        assert max(len(text.text) for text in chart.iter("text")) <= 50
