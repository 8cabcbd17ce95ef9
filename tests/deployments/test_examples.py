"""The example tables: each takes the way through a run that it is there to show."""

import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.cli.demo import _groups_of_people, demo
from pubpriv.deployments.examples import EXAMPLES, STATES, machines, make
from pubpriv.deployments.files import read
from pubpriv.deployments.randhie import ALL_YEARS, write_tables
from pubpriv.errors import InvalidInput
from pubpriv.estimators.steps import plain


@pytest.mark.long
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
    assert {"private PCA", "partition", "per-component estimation 4 of 4", "weight counting"} <= set(seen)
    assert estimate.diagnostics["regime"] == "separated-scarce"
    assert estimate.diagnostics["warnings"] == []
    assert estimate.converged
    assert estimate.weights == pytest.approx([share for share, _ in STATES.values()], abs=0.02)


def test_the_people_have_all_their_years_and_whose_they_are(tmp_path, monkeypatch):
    """In the tables of the scheduled example as in those of the demo; nobody is both public and private."""
    monkeypatch.setenv("PUBPRIV_DATA", str(tmp_path))
    monkeypatch.setenv("PUBPRIV_OUTPUT", str(tmp_path))
    make(tmp_path)
    dataset = read(EXAMPLES / "rand-people.yaml")
    private, public = (pd.read_parquet(path) for path in (dataset.private, dataset.public))
    assert pp.PrivateTable.open(dataset.private, dataset.columns, person=dataset.person).n_rows is None
    assert not set(private["person"]) & set(public["person"])
    assert private["person"].value_counts().max() > 20
    shown = _groups_of_people(ALL_YEARS)
    assert (shown.person, shown.unit) == (dataset.person, dataset.unit)
    assert shown.private.equals(private)


def test_the_demo_of_machines_has_no_choice_of_unit():
    """--unit is of the RAND tables; nothing is written before that is said."""
    with pytest.raises(InvalidInput, match="leave them out here"):
        demo(unit="person-year", separated=True)
    with pytest.raises(InvalidInput, match="leave out --mixture"):
        demo(separated=True, mixture=True)


def test_tables_for_people_have_no_person_twice_and_replace_nothing(tmp_path):
    """Readable names, an id where a person has several rows, and a refusal where files are there."""
    private, public = write_tables(tmp_path / "tables", "all-years")
    tables = [pd.read_csv(file) for file in (private, public)]
    assert [list(table) for table in tables] == [["patient_id", "visits", "diseases", "limitation", "plan"]] * 2
    assert not set(tables[0].patient_id) & set(tables[1].patient_id)
    with pytest.raises(InvalidInput, match="exists: choose another folder"):
        write_tables(tmp_path / "tables", "person")
