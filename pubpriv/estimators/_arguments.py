"""What an estimate is called with from Python, looked at before anything else."""

from typing import Any

from pubpriv.curator import Curator
from pubpriv.errors import InvalidInput


def check_arguments(public: Any, curator: Curator) -> None:
    """Refuse what is no run, and public rows that are a private table; nothing is opened or charged.

    Raises:
        InvalidInput: the two were given the other way round, or there is no curator, or see `Curator.check_public`.
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
