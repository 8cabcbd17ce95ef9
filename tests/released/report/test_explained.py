"""The page that explains a run: every question has words, prices add up, names are text, nothing is loaded."""

import dataclasses
from xml.etree import ElementTree as ET

import pytest
from helpers.releases import common, mean_release

from pubpriv.data.questions import QUESTIONS
from pubpriv.data.questions.of_rows import OF_ONE_ROW
from pubpriv.released.report._route import route
from pubpriv.released.report.explained import explained
from pubpriv.released.report.story import Story, in_words

WRAPPERS = {"Completed", "InPeriod", "InShares", "OfSample", "PerPerson", "Radial"}


def asked_often(**privacy):
    """A released mean whose run asked 40 questions of 20 kinds, two of each."""
    bill = [
        {
            "label": f"part-{'abcdefghijklmnopqrst'[i // 2]}/{i}",
            "question": "Counts",
            "noise_scale": [9],
            "cost": "0.01 rho",
        }
        for i in range(40)
    ]
    stated = common(("age",))["privacy"] | {"charges": bill, "spent": "0.4 rho"} | privacy
    return mean_release(columns=("age",), privacy=stated)


@pytest.mark.parametrize("question", [each.__name__ for each in QUESTIONS if each.__name__ not in WRAPPERS])
def test_every_question_has_words(question):
    """Also inside others: of a person's rows, of a period's, and with radial noise."""
    words = in_words(question)
    assert words != question
    assert in_words(f"Radial({question})") == words
    assert in_words(f"{question} per person").startswith(f"{words};")
    one_row = question in [each.__name__ for each in OF_ONE_ROW]
    assert ("one row of each" in in_words(f"{question} per person")) == one_row
    assert in_words(f"{question} in 2026-W47") == f"{words}; only rows of 2026-W47"
    assert in_words(f"{question} of a sample") == f"{words}; of some of the rows, those that a public rule picks"


def test_a_model_tells_its_questions_in_order_with_their_prices():
    """Two questions, a quarter and three quarters of what was spent."""
    story = Story.of_model(mean_release())
    assert story.table_rows() == [
        ["step-1", "how many rows lie in each region", "0.125", "25.0%"],
        ["step-2", "count, sums and products of columns, in each region", "0.375", "75.0%"],
    ]
    assert story.price == 0.5
    assert "50% would be pure chance" in " ".join(story.meaning)


def test_questions_that_differ_in_a_number_are_one_line_and_the_rest_is_put_together():
    """40 questions are 20 lines, of which 14 are drawn; none is lost."""
    story = Story.of_model(asked_often())
    assert [each.times for each in story.asked] == [2] * 20
    assert story.price == pytest.approx(0.4)
    drawn = ET.tostring(route(story), encoding="unicode")
    assert "more questions (14 times)" in drawn
    assert "40 questions asked of 20,000 records, 0.4 rho in all" in drawn


def test_names_are_text_and_nothing_is_loaded():
    """Whoever names a unit or a dataset puts no markup on the page."""
    estimate = mean_release(dataset="<b>x</b>")
    privacy = dict(estimate.privacy) | {"unit": "<script>alert(1)</script>"}
    text = explained(Story.of_model(dataclasses.replace(estimate, privacy=privacy)))
    assert "<script" not in text
    assert "<b>x" not in text
    assert "&lt;script&gt;" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_a_simulation_says_so():
    """Red, and no word of a ledger or a guarantee."""
    stated = common(())["privacy"] | {"guarantee": {"kind": "none", "text": "none (simulation)"}, "spent": "0.5 rho"}
    estimate = mean_release(dataset=None, privacy=stated)
    text = explained(Story.of_model(estimate))
    assert "Simulation: not private" in text
    assert "no door: a simulation" in text
    assert "written into the ledger" not in text


def test_a_question_in_shares_has_the_words_of_the_question_inside():
    """And says that a row is divided."""
    assert in_words("InShares(Moments)") == f"{in_words('Moments')}; {in_words('InShares(?)').partition('; ')[2]}"
    assert "divided" in in_words("InShares(LiftedGram) per person")
