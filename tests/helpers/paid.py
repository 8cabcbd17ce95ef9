"""What a ledger must say of a release, whatever happened on the way to it."""

from collections import Counter

from pubpriv.privacy.ledger import Ledger


def assert_paid_once(url: str, dataset: str, release_id: str) -> None:
    """The books hold; the run is closed, and each of its questions was charged and answered once."""
    with Ledger.open(url, create=False) as ledger:
        ledger.verify(dataset)
        assert ledger.run(dataset, release_id).bill().state.closed
        mine = [record for record in ledger.records(dataset) if record.release_id == release_id]
    kinds = Counter((record.kind, record.key) for record in mine if record.kind in ("charged", "published"))
    assert kinds
    assert set(kinds.values()) == {1}
    assert {key for kind, key in kinds if kind == "charged"} == {key for kind, key in kinds if kind == "published"}
