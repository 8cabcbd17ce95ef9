"""Check a model file against the ledger, on behalf of a reader of a release.

A model contains its bill and the head of its dataset's chain at the time of the release. An invented model, or one
with a changed privacy statement, does not match a bill in the ledger; a rewritten ledger does not have the head.
"""

import json
from pathlib import Path
from typing import Any

from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.ledger import Ledger
from pubpriv.privacy.runs import RecordedRun
from pubpriv.released.kinds import load


def check_model(ledger: Ledger, path: Path) -> None:
    """Compare a model's privacy statement with the ledger's, line by line, and find its chain head.

    The numbers of the model are not checked here: they follow from the answers in the ledger, and fitting again with
    the same release id replays them at no cost.

    Raises:
        InvalidInput: no model there, or one of a dataset that is not in the ledger, or of books that are continued
            elsewhere.
        LedgerViolation: the ledger has no such run, or the statement or the chain head does not match the ledger.
    """
    model = load(path)
    dataset, release_id = (str(model.provenance.get(name)) for name in ("dataset", "release_id"))
    run = ledger.run(dataset, release_id)
    missing = False
    try:
        statement = RecordedRun(ledger, run).statement().to_json()
    except InvalidInput as error:
        missing = type(error) is InvalidInput and dataset in ledger.datasets() and run.begun() is None
        if not missing:
            raise
    if missing:
        raise LedgerViolation(
            f"{path} says that it is the release {release_id!r} of dataset {dataset!r}, and the ledger {ledger.url} "
            "has no such run: an older copy of the ledger was restored, or this is another ledger"
        )
    stated, known = _plain(model.privacy), _plain(statement)
    for name in sorted({*stated, *known}):
        if stated.get(name) != known.get(name):
            raise LedgerViolation(
                f"{path} is not the release {release_id!r} that the ledger has: its {name} is "
                f"{_short(stated.get(name))}, and the ledger's is {_short(known.get(name))}"
            )
    ledger.verify(dataset, expected_head=str(model.provenance.get("chain_head")))


def _plain(data: Any) -> dict[str, Any]:
    """The data as read back from a file."""
    plain: dict[str, Any] = json.loads(json.dumps(data))
    return plain


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
