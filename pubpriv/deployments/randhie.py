"""RAND Health Insurance Experiment: 20,190 person-years of an open data set that ships with statsmodels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.errors import InvalidInput

COLUMNS = ("log1p(mdvis)", "lpi", "fmde", "log1p(disea)", "lncoins")
ALL_YEARS = "all-years"
UNITS = {"person": "one person", "person-year": "one person-year", ALL_YEARS: "one person, all years"}
"""What is protected: the first year of a person, a year of a person, or all years of a person together."""

PERSON = "person"
"""Id column of the table whose unit is a person with all years."""

BUDGET, COMPONENTS = "approx:4,1e-6", 4
"""Budget and number of components of the demo."""

_N_PUBLIC = 100
_SEED = 0
_RENAMED = {"person": "patient_id", "mdvis": "visits", "disea": "diseases", "physlm": "limitation", "idp": "plan"}
_PLANS = {0: "family", 1: "individual"}
"""Names of columns in the tables, by their names in the data set."""


def renamed(name: str) -> str:
    """Return the name that a person reads of a column of the data set."""
    return _RENAMED.get(name, name)


@dataclass(frozen=True)
class Split:
    """Public, private and held-out rows without persons in common: DataFrames with the table's columns."""

    public: Any
    private: Any
    held_out: Any


def split(seed: int, unit: str = "person") -> Split:
    """Split into 100 public people, a quarter held out, the rest private.

    A person is a run of consecutive rows that agree in every column but the outcome `mdvis`. With unit
    `person` each contributes the first row of the run; with `person-year` all rows, also those of public people;
    with `all-years` too, and an id column says whose they are.

    Raises:
        InvalidInput: statsmodels is not installed, or an unknown unit.
    """
    table, person = rows_of(unit)
    people = np.random.default_rng(seed).permutation(person.max() + 1)
    held_out = _N_PUBLIC + len(people) // 4
    parts = people[:_N_PUBLIC], people[held_out:], people[_N_PUBLIC:held_out]
    return Split(*(table[person.isin(part)].reset_index(drop=True) for part in parts))


def rows_of(unit: str) -> tuple[Any, Any]:
    """Return (DataFrame, number of the person of each row): the first row of each person, or all rows.

    Raises:
        InvalidInput: statsmodels is not installed, or an unknown unit.
    """
    if unit not in UNITS:
        raise InvalidInput(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
    try:
        from statsmodels.datasets import randhie
    except ImportError:
        raise InvalidInput("the demo's data comes with statsmodels: pip install 'pubpriv[demo]'") from None
    table = randhie.load_pandas().data
    others = table.drop(columns="mdvis")
    first = (others != others.shift()).any(axis=1)
    person = first.cumsum() - 1
    if unit == "person":
        return table[first], person[first]
    return (table.assign(**{PERSON: person}) if unit == ALL_YEARS else table), person


def write_tables(folder: Path, unit: str) -> tuple[Path, Path]:
    """Write the private part as `patients.csv` and the public part as `volunteers.csv`, with readable column names.

    Columns are `visits` (to a doctor in a year), `diseases` (an index of chronic ones), `limitation` (physical, 0 to 1)
    and `plan` (whose deductible the insurance has, a family's or an individual's); with unit `all-years` there are
    several rows of each person, and `patient_id` says whose they are.

    Raises:
        InvalidInput: statsmodels is not installed, an unknown unit, or a file of these names is there.
    """
    files = folder / "patients.csv", folder / "volunteers.csv"
    for file in files:
        if file.exists():
            raise InvalidInput(f"{file} exists: choose another folder")
    parts = split(_SEED, unit)
    folder.mkdir(parents=True, exist_ok=True)
    for file, table in zip(files, (parts.private, parts.public), strict=True):
        named = table.assign(idp=table["idp"].map(_PLANS)).rename(columns=_RENAMED)
        named[[name for name in _RENAMED.values() if name in named]].round(2).to_csv(file, index=False)
    return files
