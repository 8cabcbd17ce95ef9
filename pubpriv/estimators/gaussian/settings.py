"""What a user may choose about a Gaussian."""

from collections.abc import Mapping
from dataclasses import dataclass

from pubpriv.estimators.settings import setting

TARGETS = ("auto", "gaussian", "moments")
METHODS = ("learner", "algorithm-2")


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
