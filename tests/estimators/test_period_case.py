"""What a plan of a period predicts is what runs of one come to."""

from dataclasses import replace

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.audit._worlds import in_memory
from pubpriv.data.persons import keys_in_memory
from pubpriv.errors import InvalidInput
from pubpriv.estimators import MEAN
from pubpriv.estimators.period_case import PeriodCase
from pubpriv.estimators.person_case import PersonCase
from pubpriv.estimators.planning import Size, make_plan
from pubpriv.privacy.ledger.terms import PersonTerms
from pubpriv.privacy.noise import SimulatedNoise
from pubpriv.privacy.runs import SimulatedRun

BUDGET, ROWS, COLUMNS, PUBLIC = pp.parse_budget("zcdp:0.02"), 1500, 3, 20


def simulated(seed, persons, columns=COLUMNS):
    """A simulation of the rows of a month, which are a third of all."""
    rows = np.random.default_rng(seed).standard_normal((3 * ROWS, columns))
    keys = np.where(np.arange(len(rows)) % 3 == 0, keys_in_memory(np.arange(len(rows)), len(rows)), np.uint64(0))
    table = replace(in_memory(rows), persons=keys, period="2026-06")
    curator = pp.Curator.simulation(rows, BUDGET, seed)
    terms = PersonTerms(("who",)) if persons else None
    curator._assemble(table, SimulatedRun(BUDGET), SimulatedNoise(seed), None, terms, 1)
    return curator


@pytest.mark.long
@pytest.mark.parametrize("persons", [False, True])
def test_errors_of_a_mean_are_those_that_were_predicted(persons):
    """Root mean squares over 24 runs of three columns; and what was planned is what each run asked."""
    case = MEAN.case(MEAN.settings(covariance="identity"), Size(PUBLIC, COLUMNS))
    plan = make_plan(PeriodCase(PersonCase(case) if persons else case, "2026-06"), ROWS, BUDGET)
    found = []
    for seed in range(24):
        public = np.random.default_rng([seed, 1]).standard_normal((PUBLIC, COLUMNS))
        found.append(pp.estimate_mean(public, simulated(seed, persons), covariance="identity"))
    measured = float(np.sqrt(np.mean([each.mean**2 for each in found])))
    assert measured == pytest.approx(plan.forecast.errors[0].error, rel=0.25)
    asked = [(charge["label"], charge["question"]) for charge in found[0].privacy["charges"]]
    assert asked == [(step.label, step.question) for step in plan.steps]
    assert all(question.endswith("in 2026-06") for _, question in asked)


def test_what_is_no_sum_is_not_asked_of_rows_of_a_period():
    """Of persons of one it is; here it is refused before anything is asked."""
    ways = {"no-public": (None, {}), "hypotheses": (np.arange(-2.0, 3.0)[:, None] / 2**0.5, {"covariance": "identity"})}
    for method, (public, more) in ways.items():
        curator = simulated(0, persons=False, columns=1)
        with pytest.raises(InvalidInput, match="another period is not proven"):
            pp.estimate_mean(public, curator, method=method, **more)
        assert not curator.statement().charges
