"""Where missing cells are estimated, and what a release says of them.

What a release can be right about is said with it: cells that are missing for reasons that observed columns show do no
harm; whether the reasons are the missing values themselves, no number of the table can show.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.curator import Curator
from pubpriv.data.questions.radial import GAUSSIAN
from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.estimators._whole_rows import LOOK, WholeRows, end_if_too_few
from pubpriv.estimators.gaussian._information import Information
from pubpriv.estimators.gaussian._pattern_law import MOST_COLUMNS, PatternLaw
from pubpriv.estimators.gaussian.settings import AUTO, DROP, ESTIMATE
from pubpriv.ledger.unit import Size
from pubpriv.released.findings import DOUBTFUL, Finding

_UNSEEN = 0.05
"""Least part of the information of a covariance that must be there: below it a release would be the rounds' guess."""

_BOUNDLESS = 1e3
"""A clip radius, over the root of the number of columns, that clips no Gaussian row."""


def settled_missing(missing: str, curator: Curator, d: int, degenerate: tuple[str, ...] = ()) -> str:
    """Decide whether rows that lack cells are used, by public facts: `estimate` or `drop`.

    Args:
        missing: `estimate`, `drop`, or `auto`.
        curator: the run.
        d: number of columns.
        degenerate: columns whose spread the public rows do not show.

    Raises:
        InvalidInput: to `estimate` is asked for where that is not measured: persons, periods, groups, a pure budget,
            too many columns, or degenerate ones; the message says so.
    """
    if missing == DROP or (missing == AUTO and d == 1):
        return DROP
    where = ""
    if curator.budget.noise_law != GAUSSIAN:
        where = "the noise is Gaussian: take a zcdp or an approx budget"
    elif not curator.asks_of_samples:
        where = "the unit of the dataset is a row, and all rows are asked"
    elif d > MOST_COLUMNS:
        where = f"there are at most {MOST_COLUMNS} columns, not {d}"
    elif degenerate:
        where = f"the public rows show the spread of every column, which they do not of {degenerate[0]}"
    elif curator.groups is not None:
        where = "there are no groups"
    if not where:
        return ESTIMATE
    if missing == AUTO:
        return DROP
    raise InvalidInput(f"missing cells are estimated where {where}. With missing=drop rows that lack one are left out")


def end_without_cells(
    law: PatternLaw, size: Size, columns: tuple[str, ...], enough: Callable[[int], None] | None
) -> None:
    """End a run before its rounds if too few rows have a cell, or a column that few have.

    Args:
        law: of the patterns.
        size: of the table.
        columns: names.
        enough: refuses too few rows; None: the run is forced, and ends only if no row has a cell.

    Raises:
        NoAnswer: see above.
    """
    share = 1 - law.rows / size.rows
    said = f"about {share:.3g} of the private rows have no cell, or an infinite one"
    rows = WholeRows(law.rows, law.rows_sd, fewer=True)
    end_if_too_few(rows, (said,) if share * size.rows > SURELY * law.rows_sd else (), enough)
    empty = [name for name, lacking in zip(columns, law.columns, strict=True) if 1 - lacking <= SURELY * law.sd]
    if empty and enough is not None:
        raise NoAnswer(f"no answer: if any private row has {' or '.join(empty)}, it is too few to be seen. {LOOK}")


def unclipped(law: PatternLaw, colour: np.ndarray) -> Information:
    """Give the information of rows that nothing clips, in the frame whose inverse matrix is `colour` (d, d)."""
    return Information.of(law, colour, _BOUNDLESS * math.sqrt(len(colour)))


def unseen_pair(least: float, law: PatternLaw, columns: tuple[str, ...]) -> tuple[Finding, ...]:
    """Find that the information of some covariance is next to nothing, and name the columns that fewest rows have."""
    if least >= _UNSEEN:
        return ()
    has, shares = law.arrays
    together = (has.T * shares) @ has
    lone = int(np.argmin(np.diag(together)))
    pair = np.unravel_index(int(np.argmin(together)), together.shape)
    rare = {lone} if together[lone, lone] < _UNSEEN else {int(each) for each in pair}
    names = tuple(columns[i] for i in sorted(rare))
    text = (
        f"few rows have {' and '.join(names)}{' together' if len(names) > 1 else ''}: what is said of that is a guess"
    )
    remedy = "leave one of them out, or ask the rows that have it by themselves"
    return (Finding("unseen-pair", names, DOUBTFUL, text, {"information": least}, remedy=remedy),)


def of_columns(
    law: PatternLaw, information: Information, colour: np.ndarray, columns: tuple[str, ...], n: float
) -> dict[str, Any]:
    """Tell of each column the share that is missing, and of how many complete rows its mean would be as certain."""
    sampled, _ = information.mean_variances(colour, n, 0.0)
    best, _ = unclipped(_whole(law), colour).mean_variances(colour, n, 0.0)
    effective = n * np.minimum(best / sampled, 1.0)
    return {
        "columns": {
            name: {"share": share, "sd": law.sd, "effective_rows": float(rows)}
            for name, share, rows in zip(columns, law.columns, effective, strict=True)
        }
    }


def _whole(law: PatternLaw) -> PatternLaw:
    return replace(law, missing=((),), shares=(1.0,))


def sentence(law: PatternLaw) -> str:
    """Say what was done, and what it is right about."""
    share = 1 - law.cells()[-1]
    return (
        f"about {share:.3g} of the private rows lack some cells; these rows are used, and what they lack is estimated "
        "from their other cells. That is right if what is missing depends on the columns here; whether it also depends "
        "on the missing values themselves, no number here can show"
    )
