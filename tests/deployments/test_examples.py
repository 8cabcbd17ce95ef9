"""The example tables: each takes the way through a run that it is there to show."""

import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.cli.demo import demo
from pubpriv.deployments.examples import STATES, machines
from pubpriv.deployments.randhie import write_tables
from pubpriv.errors import InvalidInput
from pubpriv.estimators.steps import plain


def test_the_machines_show_private_pca_and_a_partition():
    """States lie apart and public rows are few, so the run looks for private components; it finds the states."""
    seen = []

    def noting(step, place, /, *args):
        seen.append(step.at(place))
        return plain(step, place, *args)

    parts = machines()
    columns = list(parts.private.columns)
    curator = pp.Curator.simulation(parts.private.to_numpy(), pp.parse_budget("zcdp:0.1"), 1, columns=columns)
    estimate = pp.estimate_mixture(parts.public, curator, n_components=len(STATES), runner=noting)
    assert {"private PCA", "partition", "per-component estimation 2 of 2", "weight counting"} <= set(seen)
    assert estimate.diagnostics["regime"] == "separated-scarce"
    assert estimate.diagnostics["warnings"] == []
    assert estimate.converged
    assert estimate.weights == pytest.approx([share for share, _ in STATES.values()], abs=0.02)


def test_the_demo_of_machines_has_no_choice_of_unit():
    """--unit is of the RAND tables; nothing is written before that is said."""
    with pytest.raises(InvalidInput, match="leave it out with --separated"):
        demo(unit="person-year", separated=True)


def test_tables_for_people_have_no_person_twice_and_replace_nothing(tmp_path):
    """Readable names, an id where a person has several rows, and a refusal where files are there."""
    private, public = write_tables(tmp_path / "tables", "all-years")
    tables = [pd.read_csv(file) for file in (private, public)]
    assert [list(table) for table in tables] == [["patient_id", "visits", "diseases", "limitation"]] * 2
    assert not set(tables[0].patient_id) & set(tables[1].patient_id)
    with pytest.raises(InvalidInput, match="exists: choose another folder"):
        write_tables(tmp_path / "tables", "person")
