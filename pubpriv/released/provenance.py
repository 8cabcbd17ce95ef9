"""Does a model file say what the ledger says? What a reader of a release can have checked.

A model carries its bill and the head that its dataset's chain had when it was made. A model that was made up, or
whose privacy statement was touched, has no such bill; a ledger that was rewritten has no such head.
"""

import json
from pathlib import Path
from typing import Any

from pubpriv.errors import LedgerViolation
from pubpriv.ledger import Ledger
from pubpriv.privacy.runs import RecordedRun
from pubpriv.released.kinds import load


def check_model(ledger: Ledger, path: Path) -> None:
    """Compare a model's privacy statement with the ledger's, line by line, and find its chain head.

    The numbers of the model follow from the answers in the ledger: fitting again with the same release id replays
    them at no cost.

    Raises:
        InvalidInput: no model there, or of a dataset or run that the ledger does not know.
        LedgerViolation: the ledger does not account for it.
    """
    model = load(path)
    dataset, release_id = (str(model.provenance.get(name)) for name in ("dataset", "release_id"))
    statement = RecordedRun(ledger, ledger.run(dataset, release_id)).statement().to_json()
    stated, known = _plain(model.privacy), _plain(statement)
    for name in sorted({*stated, *known}):
        if stated.get(name) != known.get(name):
            raise LedgerViolation(
                f"{path} is not the release {release_id!r} that the ledger has: its {name} is "
                f"{_short(stated.get(name))}, and the ledger's is {_short(known.get(name))}"
            )
    ledger.verify(dataset, expected_head=str(model.provenance.get("chain_head")))


def _plain(data: Any) -> dict[str, Any]:
    """As it reads back from a file."""
    plain: dict[str, Any] = json.loads(json.dumps(data))
    return plain


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
