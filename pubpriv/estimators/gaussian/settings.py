"""Settings of `estimate_gaussian`: what a user may choose."""

from collections.abc import Mapping
from dataclasses import dataclass

from pubpriv.errors import InvalidInput
from pubpriv.estimators.public_rows import NO_PUBLIC
from pubpriv.estimators.settings import Grouped, setting

_TARGETS = ("auto", "gaussian", "moments")
AUTO, ESTIMATE, DROP = "auto", "estimate", "drop"
"""What is done with rows that lack cells; `auto`: they are used where that is measured."""

MISSING = (AUTO, ESTIMATE, DROP)
_METHODS = ("learner", "algorithm-2", NO_PUBLIC)


@dataclass(frozen=True)
class GaussianSettings(Grouped):
    """Settings of `estimate_gaussian`, described there, as names and numbers."""

    target: str = setting(
        "auto",
        choices=_TARGETS,
        planned=True,
        left_open="auto",
        otherwise="moments",
        help="gaussian: of the law, if it is Gaussian; moments: of the table itself; "
        "auto: moments, with a Gaussian's shape where it fits",
    )
    method: str = setting(
        "learner",
        choices=_METHODS,
        planned=True,
        help="learner; no-public, for where there are no public rows (approx budgets only); or, to compare with, "
        "algorithm-2",
    )
    scale: Mapping[str, float] = setting(
        default_factory=dict,
        planned=True,
        help="By column: about one standard deviation, where the public rows do not show it",
    )
    missing: str = setting(
        DROP,
        choices=MISSING,
        planned=True,
        help="Rows that lack cells: estimate uses the cells that they have; drop leaves them out; auto: estimate "
        "where the unit is a row, for up to 20 columns, without groups",
    )
    force: bool = setting(False, help="Run where the answers will be mostly noise; the model says so")


def _check_choice(name: str, given: object, accepted: tuple[str, ...]) -> None:
    """Refuse a value that is not on the list; the message gives the list."""
    if given not in accepted:
        raise InvalidInput(f"{name} must be one of {', '.join(accepted)}, not {given!r}")


def chosen_target(target: str, method: str, scale: Mapping[str, float] | None, missing: str = DROP) -> str:
    """Return the target that the method works for; methods other than the learner can only estimate a Gaussian.

    Raises:
        InvalidInput: unknown names, or a combination that does not exist.
    """
    _check_choice("target", target, _TARGETS)
    _check_choice("method", method, _METHODS)
    _check_choice("missing", missing, MISSING)
    if missing == ESTIMATE and method != "learner":
        raise InvalidInput("missing cells are estimated with the method learner only")
    if method != "learner" and target == "moments":
        raise InvalidInput(f"{method} estimates a Gaussian: use the target gaussian, or the method learner")
    if method != "learner" or target == "gaussian":
        if scale:
            raise InvalidInput("a scale is for columns that are not Gaussian: use the target moments or auto")
        return "gaussian"
    return target
