"""What goes onto a page belongs to its release: public rows by their hash, a budget's history by dataset and run."""

from collections.abc import Iterator

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.released.estimate import Estimate
from pubpriv.released.report.history import History
from pubpriv.released.report.words import of_whom


def check_public(estimate: Estimate, public: PublicTable | None) -> None:
    """Public rows are those that the release was made with.

    Raises:
        InvalidInput: they are others.
    """
    if public is not None and public.sha256 != estimate.provenance["public_sha256"]:
        raise InvalidInput(
            f"the public rows (sha256 {public.sha256[:12]}...) are not those that {of_whom(estimate)} was made "
            f"with ({str(estimate.provenance['public_sha256'])[:12]}...): give that file, with all its rows, or none"
        )


def check_history(estimate: Estimate, history: History | None) -> None:
    """The ledger that the history is from knows the release.

    Raises:
        InvalidInput: it does not.
    """
    if history is None:
        return
    stated = estimate.provenance
    known = history.dataset == stated.get("dataset") and stated["release_id"] in {
        run.release_id for run in history.runs
    }
    if not known:
        raise InvalidInput(
            f"the ledger's dataset {history.dataset} does not have what this model says to be "
            f"({of_whom(estimate)}): name the ledger that it was charged to, or none"
        )


_FACTS = ("dataset", "release_id", "n_private", "n_public", "public_sha256", "created")


def check_whole(estimate: Estimate) -> None:
    """A release that was read from a file has every number, each with its errors, and says where it comes from.

    Raises:
        InvalidInput: it does not: somebody edited the file, or lost part of it.
    """
    lacking = next(_lacking(estimate), None)
    if lacking is not None:
        raise InvalidInput(f"the model is damaged: {lacking}. Take it from its backup, or fit the same release again")


def _lacking(estimate: Estimate) -> Iterator[str]:
    """What is missing or does not fit, in words."""
    yield from estimate.lacking()
    yield from (f"its provenance has no {name}" for name in _FACTS if name not in estimate.provenance)
    stated = estimate.privacy
    whole = {"unit", "neighbouring", "spent", "guarantee", "charges"} <= set(stated) and "text" in stated["guarantee"]
    if not whole:
        yield "its privacy statement is not whole"
