"""Runs of an estimator in simulation, with as much noise for each row as a real run has."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.common.column_names import quoted
from pubpriv.curator import Curator
from pubpriv.data.columns import parse_columns
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.estimator import Estimator
from pubpriv.estimators.rehearsal._rows import SmoothBootstrap
from pubpriv.estimators.steps import plain
from pubpriv.privacy.budgets import Budget, PureDP, Purse, ZeroConcentratedDP
from pubpriv.released.estimate import Estimate
from pubpriv.released.findings import Finding, doubts
from pubpriv.released.numbers import Number, of_quantity

_MOST_ROWS, _MOST_CELLS = 20_000, 300_000
"""Most rows of a run in simulation, and most cells: more take seconds, and change what sampling leaves, which is known,
but hardly what noise and tails do."""


@dataclass(frozen=True)
class Trial:
    """A run in simulation.

    Attributes:
        numbers: of columns: means, standard deviations, quantiles, with the errors of a run of all rows.
        doubts: findings that make numbers doubtful.
    """

    numbers: tuple[Number, ...]
    doubts: tuple[Finding, ...]


@dataclass(frozen=True)
class Stage:
    """Where trials are made.

    Attributes:
        estimator: the estimator.
        settings: its settings, without groups.
        n: number of private rows.
        budget: of the run.
    """

    estimator: Estimator
    settings: Any
    n: int
    budget: Budget

    def trials(self, public: PublicTable, seeds: Iterable[int]) -> Iterable[Trial]:
        """Yield a run for each seed.

        Raises:
            PubPrivError: the estimator refuses to run.
        """
        named = _with_plain_names(public)
        rows, bootstrap = min(self.n, _MOST_ROWS, _MOST_CELLS // len(public.columns)), SmoothBootstrap(named)
        for seed in seeds:
            drawn = bootstrap.draw(rows, np.random.default_rng([seed, rows]))
            for cells, column in zip(drawn.T, parse_columns(named.columns), strict=True):
                with np.errstate(all="ignore"):
                    column.undo(cells)  # the curator maps it
            curator = Curator.simulation(drawn, _scaled(self.budget, self.n / rows), seed, named.columns)
            yield _trial(
                self.estimator.driver(self.settings, named, curator, plain), rows / self.n, named.columns, public
            )


def _trial(estimate: Estimate, share: float, names: tuple[str, ...], public: PublicTable) -> Trial:
    """Take from an estimate what a run of all rows would show; sampling errors shrink with the number of rows."""
    back = dict(zip(names, public.columns, strict=True))
    numbers = [number for what in ("mean", "sd", "quantile") for number in of_quantity(estimate.numbers(), what)]
    shrunk = (
        replace(each, column=back[str(each.column)], sampling=each.sampling * math.sqrt(share)) for each in numbers
    )
    findings = (
        replace(each, columns=tuple(back[name] for name in each.columns)) for each in doubts(estimate.findings or ())
    )
    return Trial(tuple(shrunk), tuple(findings))


def _with_plain_names(public: PublicTable) -> PublicTable:
    """Name quotients as columns of their own: rows in memory have no columns to divide."""
    columns = zip(public.columns, parse_columns(public.columns), strict=True)
    names = {name: quoted(name) if column.is_computed else name for name, column in columns}
    left_out = tuple(replace(each, column=names[each.column]) for each in public.left_out)
    return PublicTable(tuple(names.values()), public.rows, public.dropped, left_out=left_out)


def _scaled(budget: Budget, times: float) -> Budget:
    """Give a budget whose noise is so many times smaller."""
    if budget.noise_law != "gaussian":
        return PureDP(f"{float(budget.cap.main) / 1e12 * times:.12f}")
    return ZeroConcentratedDP(f"{Purse.of(budget).rho * times**2:.12f}")
