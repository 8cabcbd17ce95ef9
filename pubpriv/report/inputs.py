"""What goes onto a page belongs to its release: public rows by their hash, a budget's history by dataset and run."""

from typing import Any

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
