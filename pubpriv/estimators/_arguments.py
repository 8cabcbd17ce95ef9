"""Check the arguments of an estimate called from Python before anything is opened or charged."""

from typing import Any

from pubpriv.curator import Curator
from pubpriv.errors import InvalidInput


def check_arguments(public: Any, curator: Curator) -> None:
    """Refuse swapped arguments, a missing curator, and public rows that belong to a private table.

    Nothing is opened or charged.

    Raises:
        InvalidInput: the arguments are swapped, there is no curator, or `Curator.check_public` refuses the rows.
    """
    if not isinstance(curator, Curator):
        swapped = (
            "the two are the wrong way round" if isinstance(public, Curator) else f"not a {type(curator).__name__}"
        )
        raise InvalidInput(
            "an estimate takes public rows first, then the curator of the private rows, as in "
            f"estimate_mean(public, Curator(private, ledger, dataset, 'zcdp:0.5')): {swapped}"
        )
    curator.check_public(public)
