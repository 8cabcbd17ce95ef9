"""A quantity that nobody knew of is shown by its own name once it is listed: console, page, pictures, comparison."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from helpers.releases import common, errors

from pubpriv.cli.estimates import show
from pubpriv.released.compare import compare
from pubpriv.released.estimate import Estimate
from pubpriv.released.kinds import KINDS, load
from pubpriv.released.numbers import QUANTITIES
from pubpriv.released.report.page import page


@dataclass(frozen=True, kw_only=True, repr=False)
class Quartiles(Estimate):
    """Upper quartiles of columns: a kind made up for this test."""

    kind: ClassVar[str] = "quartiles"
    quantities: ClassVar[Mapping[str, str]] = {"quartiles": "quartile"}
    center: tuple[float, ...]

    @property
    def estimand(self):
        """In words."""
        return "upper quartile of each column"

    @property
    def quartiles(self):
        """(d,)."""
        return np.array(self.center)

    @classmethod
    def read_parts(cls, data):
        """From a file."""
        return {"center": tuple(data["quartiles"])}


@pytest.mark.parametrize("columns", [("age",), ("age", "cost"), ("age", "cost", "stay")])
def test_it_is_shown_wherever_a_mean_would_be(columns, monkeypatch, tmp_path, capsys):
    """With its value, and never called a mean."""
    monkeypatch.setitem(QUANTITIES, "quartile", 1)
    monkeypatch.setitem(KINDS, "quartiles", Quartiles)
    values = tuple(41.5 + 10 * i for i in range(len(columns)))
    made = Quartiles(center=values, standard_errors={"quartiles": errors(len(columns), 0.1)}, **common(columns))
    made.save(tmp_path / "model.json")
    release = load(tmp_path / "model.json")
    assert release.center == values
    assert len(compare(release, release).differences) == len(columns)
    show(release)
    for written in (capsys.readouterr().out, page(release)):
        assert "quartile" in written
        assert "41.5" in written
        assert not any(f"mean {name}" in written or f"mean of {name}" in written for name in columns)
