"""The frozen bundles of steps: the one seam between a driver and whoever runs its steps.

The defaults are the plain functions. An orchestrator passes the same names with its own wrapping; the driver cannot
tell the difference, and the bits are the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

from pubpriv.gaussian.awkward import assembled, examine, learn_scale
from pubpriv.gaussian.decision import decide
from pubpriv.gaussian.learner import approach, measure, pool
from pubpriv.gaussian.mean_steps import clipped_mean, combine_means
from pubpriv.gaussian.moments import measure_table, spread_quantile
from pubpriv.gaussian.preconditioner import precondition
from pubpriv.gaussian.ranks import count_rows
from pubpriv.gaussian.reference_gaussian import bound, covariance_round, mean_round
from pubpriv.ingest import Step, ingest_private, ingest_public


@dataclass(frozen=True)
class GaussianSteps:
    """Steps of `estimate_gaussian`, in the order in which they run.

    Private steps take a `Curator` first; the others see public values and released answers only. `bound`,
    `covariance_round` and `mean_round` are those of `method="algorithm-2"`; `examine`, `count_rows`, `learn_scale`,
    `assemble`, `spread_quantile`, `decide` and `measure_table` those of the targets `moments` and `auto`.
    """

    ingest_public: Step = ingest_public
    ingest_private: Step = ingest_private
    examine: Step = examine
    precondition: Step = precondition
    approach: Step = approach
    count_rows: Step = count_rows
    learn_scale: Step = learn_scale
    assemble: Step = assembled
    spread_quantile: Step = spread_quantile
    decide: Step = decide
    measure_table: Step = measure_table
    measure: Step = measure
    pool: Step = pool
    bound: Step = bound
    covariance_round: Step = covariance_round
    mean_round: Step = mean_round

    def wrapped(self, around: Callable[[str, Step], Step]) -> "GaussianSteps":
        """The same bundle with `around(name, step)` in the place of every step."""
        return GaussianSteps(**{field.name: around(field.name, getattr(self, field.name)) for field in fields(self)})


PLAIN = GaussianSteps()


@dataclass(frozen=True)
class MeanSteps:
    """Steps of `estimate_mean`; `clipped_mean` is private and runs once a round."""

    ingest_public: Step = ingest_public
    ingest_private: Step = ingest_private
    clipped_mean: Step = clipped_mean
    combine_means: Step = combine_means

    def wrapped(self, around: Callable[[str, Step], Step]) -> "MeanSteps":
        """The same bundle with `around(name, step)` in the place of every step."""
        return MeanSteps(**{field.name: around(field.name, getattr(self, field.name)) for field in fields(self)})


PLAIN_MEAN = MeanSteps()
