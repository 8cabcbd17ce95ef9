"""What goes onto a page belongs to its release: public rows by their hash, a budget's history by dataset and run."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.report.history import History
from pubpriv.report.words import of_whom


def check_public(estimate: Any, public: PublicTable | None) -> None:
    """Public rows are those that the release was made with.

    Raises:
        InvalidInput: they are others.
    """
    if public is not None and public.sha256 != estimate.provenance["public_sha256"]:
        raise InvalidInput(
            f"the public rows (sha256 {public.sha256[:12]}...) are not those that {of_whom(estimate)} was made "
            f"with ({str(estimate.provenance['public_sha256'])[:12]}...): give that file, with all its rows, or none"
        )


def check_history(estimate: Any, history: History | None) -> None:
    """The ledger that the history is from knows the release.

    Raises:
        InvalidInput: it does not.
    """
    if history is None:
        return
    told = estimate.provenance
    known = history.dataset == told.get("dataset") and told["release_id"] in {run.release_id for run in history.runs}
    if not known:
        raise InvalidInput(
            f"the ledger's dataset {history.dataset} does not have what this model says to be "
            f"({of_whom(estimate)}): name the ledger that it was charged to, or none"
        )


FACTS = ("dataset", "release_id", "n_private", "n_public", "public_sha256", "created")


def check_whole(estimate: Any) -> None:
    """A release that was read from a file has every number, each with its errors, and says where it comes from.

    Raises:
        InvalidInput: it does not: somebody edited the file, or lost part of it.
    """
    lacking = next(_lacking(estimate), None)
    if lacking is not None:
        raise InvalidInput(f"the model is damaged: {lacking}. Take it from its backup, or fit the same release again")


def _lacking(estimate: Any) -> Iterator[str]:
    """What is missing or does not fit, in words."""
    d = len(estimate.columns)
    k = len(estimate.weights) if estimate.kind == "gaussian-mixture" else 0
    shapes: dict[str, tuple[int, ...]] = {"mean": (d,), "covariance": (d, d)}
    if k:
        shapes = {"weights": (k,), "means": (k, d), "covariances": (k, d, d)}
    elif estimate.kind == "mean":
        shapes = {"mean": (d,)}
    for name, shape in shapes.items():
        if not _numbers(getattr(estimate, name), shape):
            yield f"{name} should be finite numbers, {' x '.join(map(str, shape))}"
        for source in ("sampling", "privacy"):
            part = estimate.standard_errors.get(name, {})
            if not isinstance(part, Mapping) or not _numbers(part.get(source), shape):
                yield f"the standard errors of {name} ({source}) are not there for every number"
    yield from (f"its provenance has no {name}" for name in FACTS if name not in estimate.provenance)
    told = estimate.privacy
    whole = {"unit", "neighbouring", "spent", "guarantee", "charges"} <= set(told) and "text" in told["guarantee"]
    if not whole:
        yield "its privacy statement is not whole"


def _numbers(values: Any, shape: tuple[int, ...]) -> bool:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return False
    return array.shape == shape and bool(np.isfinite(array).all())
