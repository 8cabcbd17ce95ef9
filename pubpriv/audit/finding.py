"""What an audit says: one line per promise that was tried."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One promise that was tried.

    Attributes:
        check: module of `pubpriv.audit` (`sensitivity`, `canary`, ...).
        mechanism: what was tried, in words (`LiftedGram over 3 regions`).
        claimed: what the product says: mu of the release, or another figure named in `detail`.
        found: the lower bound that the attack reached; above `claimed` is a violation. None where a check has
            no figure.
        holds: the promise stands.
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
        """Plain data, with the verdict."""
        return asdict(self) | {"verdict": self.verdict}
