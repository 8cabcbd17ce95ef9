"""A clock that jumps: what was paid, what is answered and whether the chain holds does not hang on the time."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from pubpriv.data.codec import to_json
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Everything
from pubpriv.ledger import Ledger, event_of
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import _stamps, run

ASKED = Counts.priced(Everything(), Fraction(1, 10))
PAID = to_json(ASKED), event_of(ASKED)


@pytest.mark.parametrize("jump", [timedelta(days=-365), timedelta(hours=-1), timedelta(days=365)], ids=str)
def test_a_clock_that_jumps_between_a_charge_and_its_answer_changes_nothing(tmp_path, monkeypatch, jump):
    """The lease of the first attempt lies in the future or long ago: the next one resumes the charge all the same."""

    class Skewed(datetime):
        """This machine's clock after the jump."""

        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + jump

    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:1"))
        release = ledger.run("visits", "r1")
        release.open(parse_budget("zcdp:0.5"))
        release.charge("mean/one", *PAID)
        for module in (run, _stamps):
            monkeypatch.setattr(module, "datetime", Skewed)
        again = release.charge("mean/one", *PAID)
        assert again.answer is None
        assert release.publish("mean/one", again.attempt, {"count": [7]}) == {"count": [7]}
        release.close("done")
        ledger.verify("visits")
        records = ledger.records("visits")
        bill = ledger.run("visits", "r1").bill()
    assert [charge.answered for charge in bill.charges] == [True]
    assert bill.state.charged.main == bill.charges[0].price_ledger.main
    skewed = datetime.fromisoformat(records[-1].at) - datetime.now(UTC)
    assert abs(skewed - jump) < timedelta(minutes=5)
