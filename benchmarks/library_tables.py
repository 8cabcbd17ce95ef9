"""Open tables that come with libraries, and files in their place."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.common.column_names import split_columns
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput

MOST_PUBLIC = 60
"""Most rows of a table that are drawn as public ones; a file in its place has twice as many at least."""


BLOCK = 5
"""Columns of a block."""


@dataclass(frozen=True)
class OpenTable:
    """A table that comes with a library, and what it holds.

    Attributes:
        told: in words.
        load: gives a DataFrame.
        columns: those that are used.
    """

    told: str
    load: Callable[[], Any]
    columns: tuple[str, ...]


def _of_statsmodels(name: str) -> Callable[[], Any]:
    """Make what loads a table of statsmodels."""

    def load() -> Any:
        from importlib import import_module

        return import_module(f"statsmodels.datasets.{name}").load_pandas().data

    return load


def _tumours() -> Any:
    """Load the tumours that come with scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(as_frame=True).data


SKEWED = {
    "fares": OpenTable(
        "840 offers to travellers: cost, time, waiting time, income",
        _of_statsmodels("modechoice"),
        ("invc", "invt", "ttme", "hinc"),
    ),
    "visits": OpenTable(
        "20,190 person-years: visits to a doctor, chronic illness, payments",
        _of_statsmodels("randhie"),
        ("mdvis", "disea", "lpi", "fmde"),
    ),
    "towns": OpenTable(
        "944 voters: inhabitants of the town in thousands, age, income",
        _of_statsmodels("anes96"),
        ("popul", "age", "income"),
    ),
    "affairs": OpenTable(
        "6,366 wives: time in affairs, years married, children, age",
        _of_statsmodels("fair"),
        ("affairs", "yrs_married", "children", "age"),
    ),
    "areas": OpenTable(
        "569 tumours: area, its spread, concavity",
        _tumours,
        ("mean area", "area error", "mean concavity", "concavity error"),
    ),
}
"""Tables with skewed columns, by name."""


PLAIN = {
    "voters": OpenTable(
        "944 voters: age, education, income, place", _of_statsmodels("anes96"), ("age", "educ", "income", "selfLR")
    ),
    "marriages": OpenTable(
        "6,366 wives: rating of the marriage, age, education, religion",
        _of_statsmodels("fair"),
        ("rate_marriage", "age", "educ", "religious"),
    ),
    "plans": OpenTable(
        "20,190 person-years: coinsurance, payments, limits, chronic illness",
        _of_statsmodels("randhie"),
        ("lncoins", "lpi", "fmde", "disea"),
    ),
    "cells": OpenTable(
        "569 tumours: radius, texture, smoothness, symmetry",
        _tumours,
        ("mean radius", "mean texture", "mean smoothness", "mean symmetry"),
    ),
}
"""Tables without long tails, by name."""


_FEWEST_ROWS = 300
"""Least whole rows of a table that `bundled` takes."""

_STATSMODELS = ("anes96", "cancer", "co2", "fair", "modechoice", "randhie", "star98", "sunspots")
"""All tables of statsmodels with so many rows of numbers; the others have fewer, or none."""

_SKLEARN = ("load_breast_cancer", "load_diabetes")
"""All of scikit-learn's that come with it and have so many rows; digits are images, and no columns."""


def bundled() -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Load every bundled table with at least 300 whole rows of numbers: (columns, rows), by name.

    Raises:
        InvalidInput: a library is missing.
    """
    try:
        import sklearn.datasets

        frames = {name: _of_statsmodels(name)() for name in _STATSMODELS}
        for name in _SKLEARN:
            frames[name.removeprefix("load_")] = getattr(sklearn.datasets, name)(as_frame=True).data
    except ImportError:
        raise InvalidInput("the open tables come with statsmodels: pip install 'pubpriv[demo]'") from None
    tables = {}
    for name, frame in frames.items():
        numbers = frame.select_dtypes("number").dropna()
        assert len(numbers) >= _FEWEST_ROWS, name
        tables[name] = tuple(map(str, numbers.columns)), numbers.to_numpy(dtype=float)
    return tables


@cache
def blocks_of_tables() -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Blocks of columns (names, rows) of the bundled tables, by name, without columns of one value."""
    blocks = {}
    for name, (columns, rows) in bundled().items():
        varied = [j for j in range(len(columns)) if np.ptp(rows[:, j]) > 0]
        for at in range(0, len(varied), BLOCK):
            own = varied[at : at + BLOCK]
            blocks[f"{name} {at // BLOCK + 1}"] = tuple(columns[j] for j in own), rows[:, own]
    return blocks


def opened(table: OpenTable) -> tuple[tuple[str, ...], np.ndarray]:
    """Load a table: (columns, rows without missing values).

    Raises:
        InvalidInput: its library is missing.
    """
    try:
        frame = table.load()
    except ImportError:
        raise InvalidInput("the open tables come with statsmodels: pip install 'pubpriv[demo]'") from None
    return table.columns, PublicTable.open(frame, table.columns).rows


def opened_file(file: Path, columns: str | None) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Load a file in the place of the tables: (columns, rows), by its name.

    Raises:
        InvalidInput: it cannot be read, or is too short.
    """
    names = None if columns is None else split_columns(columns)
    table = PublicTable.open(file, names)
    if len(table.rows) < 2 * MOST_PUBLIC:
        raise InvalidInput(
            f"{file} has {len(table.rows)} usable rows: {MOST_PUBLIC} are drawn as public ones, give a longer table"
        )
    return {file.name: (table.columns, table.rows)}
