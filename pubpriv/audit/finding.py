"""Findings of an audit: one line per promise that was tried."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

Claims = Iterator[tuple[str, bool]]
"""Claims in words, each with whether it holds."""

_SHOWN = 4
"""Faults that a finding quotes; the others are counted."""


@dataclass(frozen=True)
class Finding:
    """One promise that was tried.

    Attributes:
        check: module of `pubpriv.audit` (`sensitivity`, `canary`, ...).
        mechanism: what was tried, in words (`LiftedGram over 3 regions`).
        claimed: the product's claim: mu of the release, or another figure named in `detail`.
        found: the lower bound that the attack reached; above `claimed` is a violation. None if a check has no figure.
        holds: whether the promise holds.
        detail: how it was tried, or what broke it; from public and synthetic data only.
        weak: it holds against an attack that had too few samples to come near the claim.
    """

    check: str
    mechanism: str
    claimed: float | None
    found: float | None
    holds: bool
    detail: str
    weak: bool = False

    @property
    def verdict(self) -> str:
        """`ok`, `ok (weak attack)` or `VIOLATION`."""
        if not self.holds:
            return "VIOLATION"
        return "ok (weak attack)" if self.weak else "ok"

    def to_json(self) -> dict[str, Any]:
        """Return plain data, with the verdict."""
        return asdict(self) | {"verdict": self.verdict}


def judged(
    check: str,
    mechanism: str,
    faults: Sequence[str],
    how: str,
    claimed: float | None = None,
    found: float | None = None,
) -> Finding:
    """Make a finding that holds if there are no `faults`; otherwise the first few of them replace `how`.

    Args:
        check: module of the finding.
        mechanism: what was tried, in words.
        faults: descriptions of what is wrong; duplicates are shown once.
        how: how it was tried.
        claimed: see `Finding`.
        found: see `Finding`.
    """
    once = list(dict.fromkeys(faults))
    rest = [f"and {len(once) - _SHOWN} more"] if len(once) > _SHOWN else []
    return Finding(check, mechanism, claimed, found, not once, "; ".join([*once[:_SHOWN], *rest]) or how)


def bounded(check: str, mechanism: str, claimed: float, found: float, least: float, how: str) -> Finding:
    """Make a finding that holds if a lower bound is no more than what is claimed.

    Args:
        check: module that finds.
        mechanism: what was tried, in words.
        claimed: see `Finding`.
        found: the lower bound that an attack reached.
        least: bound below which the attack had too few samples to say anything.
        how: how it was tried.
    """
    holds, weak = found <= claimed, found <= least
    why = "too few to come near what is claimed" if holds else "neighbours differ by more than was paid for"
    return Finding(check, mechanism, claimed, found, holds, f"{how}; {why}" if weak or not holds else how, weak)


def promised(check: str, mechanism: str, claims: Iterable[tuple[str, bool]], also: str = "") -> Finding:
    """Try claims one after another, and make a finding that holds if all of them do.

    Args:
        check: module that finds.
        mechanism: what was tried, in words.
        claims: each with whether it holds; an exception breaks the promise, and only its type is reported.
        also: text after the number of claims if all hold.
    """
    broken, count = [], 0
    try:
        for claim, holds in claims:
            count += 1
            if not holds:
                broken.append(claim)
    except Exception as error:  # whatever a broken product raises, its promise does not hold
        broken.append(f"the story ends; {type(error).__name__} came instead")
    number = "1 claim" if count == 1 else f"{count} claims"
    detail = "does not hold: " + "; ".join(broken) if broken else f"{number}{also}"
    return Finding(check, mechanism, None, None, not broken, detail)


def refuses(action: Callable[[], Any], *refusals: type[Exception]) -> bool:
    """Return whether `action` is refused in one of these ways; another exception goes on to whoever called."""
    try:
        action()
    except refusals:
        return True
    return False
