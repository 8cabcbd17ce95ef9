"""Would a second round pay, in which each large group is asked in coordinates of its own? Raw answers of both ways.

Six groups of 50 to 50,000 standard normal rows in 5 columns, whose means lie so many standard deviations apart. *One*:
one question with all of rho, in coordinates in which all rows are standard, as a release by group asks it. *Two*: half
of rho for that question, and half for one in which groups of 5,000 rows or more have frames of their own, from its
answer. Errors are root mean squares over runs: of a coordinate of the mean, and of the covariance in Frobenius norm
over d, in standard deviations of a group's own rows.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import LiftedGram
from pubpriv.estimators.groups.plan import _GRAM_SHARES
from pubpriv.estimators.groups.steps import group_frame
from pubpriv.estimators.matrices import floored

_SIZES = np.array([50_000, 20_000, 5_000, 1_000, 300, 50])
_BY = ByCategory("group", tuple("abcdef"))
_COLUMNS, _LARGE, _APART = 5, 5_000, (0.3, 1.0, 3.0)
_RADIUS = _COLUMNS**0.5 + 2.5
"""Clip radius of one region for each group: about one Gaussian row in a thousand lies further out."""

_PRICE = Fraction(12, 100)
"""mu^2 of the groups' part, six tenths of rho 0.1."""

_Told = list[tuple[np.ndarray, np.ndarray]]


def bench(runs: int, first_seed: int = 0) -> dict[str, Any]:
    """Measure both ways at each distance.

    Args:
        runs: of each distance.
        first_seed: of the first run; the next ones follow.
    """
    rows: list[dict[str, Any]] = []
    for apart in _APART:
        found = np.array([_run(apart, first_seed + i) for i in range(runs)])
        errors = np.sqrt((found**2).mean(axis=0))  # (way, group, mean or covariance)
        for i, size in enumerate(_SIZES.tolist()):
            (mean, covariance), (mean_two, covariance_two) = errors[:, i]
            one = {"apart": apart, "rows": size, "mean": mean, "covariance": covariance}
            two = {"mean_ratio": mean_two / mean, "covariance_ratio": covariance_two / covariance}
            rows.append(one | two)
    return {"bench": "group frames", "runs": runs, "first_seed": first_seed, "rows": rows}


def _run(apart: float, seed: int) -> list[list[list[float]]]:
    random = np.random.default_rng([seed, int(10 * apart)])
    means = apart * random.standard_normal((len(_SIZES), _COLUMNS))
    whose = np.repeat(np.arange(len(_SIZES)), _SIZES)
    rows = means[whose] + random.standard_normal((len(whose), _COLUMNS))
    groups = _BY, np.array(_BY.values, dtype=object)[whose]
    curator = Curator.simulation(rows, "zcdp:0.2", seed, groups=groups)
    curator.begin("bench", {}, "0" * 64)
    covariance = row_tuples(np.cov(rows.T))
    whole = (group_frame(tuple(rows.mean(axis=0).tolist()), covariance),) * len(_SIZES)
    one, first = _asked(curator, "one", whole, _PRICE), _asked(curator, "first", whole, _PRICE / 2)
    own = [_own(*told) if size >= _LARGE else frame for told, size, frame in zip(first, _SIZES, whole, strict=True)]
    return [_errors(each, means) for each in (one, _asked(curator, "second", tuple(own), _PRICE / 2))]


def _own(mean: np.ndarray, covariance: np.ndarray) -> Frame:
    """A group's own standard coordinates, by an answer that may be mostly noise."""
    return Frame.of(mean, np.linalg.inv(np.linalg.cholesky(floored(covariance, 0.05))))


def _asked(curator: Curator, label: str, frames: tuple[Frame, ...], price: Fraction) -> _Told:
    """Mean and covariance of each group, as the answer has them."""
    radii = (_RADIUS,) * len(frames)
    answer = curator.release(LiftedGram.priced(_BY, frames, radii, price, _GRAM_SHARES), label)
    n = np.maximum(answer.values["count"], 2.0)
    sums, seconds = answer.values["sum"].reshape(len(n), -1), answer.values["moment"]
    found = []
    for frame, count, total, second in zip(frames, n, sums, seconds, strict=True):
        center, matrix = frame.dense()
        colour, y = np.linalg.inv(matrix), total / count
        found.append((center + colour @ y, colour @ (second / count - np.outer(y, y)) @ colour.T))
    return found


def _errors(told: _Told, means: np.ndarray) -> list[list[float]]:
    return [
        [float(np.sqrt(np.mean((mean - true) ** 2))), float(np.sqrt(np.mean((covariance - np.eye(len(mean))) ** 2)))]
        for (mean, covariance), true in zip(told, means, strict=True)
    ]
