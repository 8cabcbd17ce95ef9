"""What a user may choose about a mean."""

from dataclasses import dataclass

from pubpriv.estimators.settings import setting

WORDS = ("identity", "unknown")
"""What a covariance may be besides a file."""

MEAN_METHODS = ("two-step", "clip-and-noise", "coinpress")
MOST_ROUNDS = 50


@dataclass(frozen=True)
class MeanSettings:
    """Settings of `estimate_mean`, in names and numbers; see there."""

    covariance: str = setting(
        "identity", file_or=WORDS, help="Of a row: identity, a CSV file with the known matrix, or unknown"
    )
    method: str = setting(
        "two-step", choices=MEAN_METHODS, help="two-step; or, to compare with, clip-and-noise or coinpress"
    )
    rounds: int = setting(2, least=1, most=MOST_ROUNDS, help="Rounds of coinpress")
    force: bool = setting(False, help="Run where the private rows can tell little; the model says so")
