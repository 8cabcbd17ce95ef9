"""What a user may choose about a mean, and about a Gaussian."""

from collections.abc import Mapping
from dataclasses import dataclass

from pubpriv.settings import setting

WORDS = ("identity", "unknown")
"""What a covariance may be besides a file."""

MEAN_METHODS = ("two-step", "clip-and-noise", "coinpress")
MOST_ROUNDS = 50
TARGETS = ("auto", "gaussian", "moments")
METHODS = ("learner", "algorithm-2")


@dataclass(frozen=True)
class MeanSettings:
    """Settings of `estimate_mean`, in names and numbers; see there."""

    covariance: str = setting("identity", help="Of a row: identity, a CSV file with the known matrix, or unknown")
    method: str = setting(
        "two-step", choices=MEAN_METHODS, help="two-step; or, to compare with, clip-and-noise or coinpress"
    )
    rounds: int = setting(2, least=1, most=MOST_ROUNDS, help="Rounds of coinpress")
    force: bool = setting(False, help="Run where the private rows can tell little; the model says so")


@dataclass(frozen=True)
class GaussianSettings:
    """Settings of `estimate_gaussian`, in names and numbers; see there."""

    target: str = setting(
        "auto",
        choices=TARGETS,
        planned=True,
        help="gaussian: of the law, if it is Gaussian; moments: of the table itself; auto: as the rows suggest",
    )
    method: str = setting("learner", choices=METHODS, help="learner; or, to compare with, algorithm-2")
    scale: Mapping[str, float] = setting(
        default_factory=dict,
        planned=True,
        help="By column: about one standard deviation, where the public rows do not show it",
    )
    force: bool = setting(False, help="Run where the answers will be mostly noise; the model says so")
