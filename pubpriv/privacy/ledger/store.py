"""The ledger as its users call it: every method is one committed transaction, or nothing happened."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pubpriv.errors import BudgetExceeded, InvalidInput, SpecMismatch
from pubpriv.places import canonical
from pubpriv.privacy.budgets import Amount, Budget
from pubpriv.privacy.events import Event
from pubpriv.privacy.ledger.book import private_owner
from pubpriv.privacy.ledger.custody import Custody
from pubpriv.privacy.ledger.names import check_label, check_name, check_text
from pubpriv.privacy.ledger.records import charge_key, share_of
from pubpriv.privacy.ledger.replay import check_answer
from pubpriv.privacy.ledger.views import SizedTable, Standing, TableIdentity

LEASE = timedelta(minutes=10)
"""How long an attempt at a charged question is expected to take; told to readers, enforced by no clock."""


class Ledger(Custody):
    """Append-only books of datasets' budgets; open one with `Ledger.open`."""

    @property
    def reference(self) -> str:
        """How a task finds this ledger; another process finds the password where `ledger.urls` says."""
        return self.url

    # -- datasets --------------------------------------------------------------------------------------------

    def register(
        self,
        dataset: str,
        budget: Budget,
        table: TableIdentity | None = None,
        unit: str = "one record",
        raise_: bool = False,
        reason: str | None = None,
    ) -> None:
        """Give `dataset` a budget that all its snapshots share; again with the same budget: nothing happens.

        Args:
            dataset: its name, letters, digits and `._:-`.
            budget: the cap, kept forever; its kind is the ledger's currency for this dataset.
            table: a private table of this dataset; more may be declared by calling again.
            unit: what one record stands for, in words (`one patient`).
            raise_: a higher cap is meant; needs `reason`.
            reason: recorded with a raised cap.

        Raises:
            SpecMismatch: another budget or unit without `raise_`, or a table of another dataset.
            InvalidInput: a bad name, another kind of budget, a raise without a reason.
            BudgetExceeded: the cap would fall below what is spent and held.
        """
        check_name(dataset, "dataset")
        check_text(unit, "privacy unit")
        if reason:
            check_text(reason, "reason")
        with self._locked(dataset, create=True, tables=table is not None) as book:
            if book.state is None:
                body = {"budget": budget.to_json(), "unit": unit, "cap": budget.cap}
                book.append("registered", body)
            else:
                terms = book.terms
                if budget.to_json() != terms["budget"] or unit not in (terms["unit"], "one record"):
                    book.raise_cap(budget, unit, raise_, reason)
            if table is not None:
                book.declare(table)

    def bind(self, dataset: str, table: TableIdentity) -> None:
        """Check that `table` is a declared table of `dataset`; a dataset that has none yet takes this one.

        Raises:
            SpecMismatch: a table, or columns, that were not declared, or a table of another dataset.
        """
        with self._reading(dataset) as book:
            if book.tables:
                book.check_declared(table, self.url)
                return
        with self._locked(dataset, tables=True) as book:
            if not book.tables:  # nobody was quicker
                book.declare(table)
                return
            book.check_declared(table, self.url)

    def check_declared(self, dataset: str, table: TableIdentity, first: bool = False) -> bool:
        """Check that `table` is a declared table of `dataset`, and declare nothing. Raises as `bind` does.

        Args:
            dataset: its name.
            table: of which nothing but its name may be known.
            first: where nothing is declared yet, any table will do that is not another dataset's.

        Returns:
            Whether the dataset declares any table.
        """
        with self._reading(dataset) as book:
            book.check_declared(table, self.url, first)
            return bool(book.tables)

    def refuse_private(self, *public: str) -> None:
        """Refuse public files that could be those of a private table, whichever dataset it was declared for.

        Args:
            public: names of files, folders or globs; nothing in them is looked at.

        Raises:
            InvalidInput: one of them shares a file with a private table, or could.
        """
        with self._database.transaction(write=False) as connection:
            for uri in public:
                found = private_owner(connection, canonical(uri))
                if found is not None:
                    raise InvalidInput(
                        f"the public table {uri} shares files with {found[1]}, a private table of dataset "
                        f"{found[0]!r}: rows cannot be both. Nothing of it was read; name the table of public rows, "
                        "and look whether the two were given the wrong way round"
                    )

    def begun(self, dataset: str, release_id: str) -> tuple[str, int] | None:
        """Name and number of rows of the table that a run began with, if it began and they were written down."""
        with self._reading(dataset) as book:
            return book.begun(release_id)

    # -- runs ------------------------------------------------------------------------------------------------

    def open_run(self, dataset: str, release_id: str, allotment: Budget) -> None:
        """Hold the whole allotment for a run; the same id again re-enters it.

        Raises:
            SpecMismatch: the id was opened with another allotment.
            InvalidInput: the allotment's kind cannot be charged to this ledger.
            BudgetExceeded: no room; nothing is held.
        """
        check_name(release_id, "release id")
        registered = self._registered(dataset)
        allotment.hold_on(registered)  # refuses kinds; what is slow in it is worked out before the lock
        with self._locked(dataset) as book:
            if book.find("opened", release_id=release_id) is not None:
                known = book.allotment(release_id)
                if known != allotment:
                    raise SpecMismatch(
                        f"release id {release_id!r} of dataset {dataset!r} was opened with {known.written()}, "
                        f"not {allotment.written()}: use another release id"
                    )
                return
            state = book.known_state()
            hold = allotment.hold_on(registered, state.cap, state.remaining)
            body = {"allotment": allotment.to_json(), "allotted": allotment.cap, "hold": hold}
            with book.explaining(allotment):
                book.append("opened", body, release_id)

    def start(
        self,
        dataset: str,
        release_id: str,
        method: str,
        configuration: str,
        public_sha256: str,
        share: Amount | None,
        table: SizedTable | None = None,
    ) -> Amount:
        """Bind a run to one configuration of `method` and to its table, and set its share aside; again: the same share.

        Raises:
            SpecMismatch: other settings, other public rows, another private table or another number of its rows than
                the run began with.
            RunClosed: the run is closed and never began this method.
            BudgetExceeded: less is left than `share`.
            InvalidInput: a bad name, or a share of nothing.
        """
        check_name(method, "method")
        allotment = self._allotment(dataset, release_id)
        with self._locked(dataset) as book:
            if table is not None:
                _check_same(book.begun(release_id), table, release_id)
            for record in book.all("started", release_id=release_id):
                known = record.facts()
                if known["method"] != method:
                    continue
                same = known["configuration"] == configuration and known["public_sha256"] == public_sha256
                if not same or (share is not None and known["asked"] != share.to_json()):
                    raise SpecMismatch(
                        f"release id {release_id!r} of dataset {dataset!r} ran {method} with other settings "
                        f"or other public rows ({_difference(known, configuration, public_sha256)}): "
                        "use another release id"
                    )
                return Amount.from_json(known["share"])
            run = book.run_state(release_id)
            given = share_of(run, share)
            body = {
                "method": method,
                "configuration": configuration,
                "public_sha256": public_sha256,
                "asked": share,
                "share": given,
                **({} if table is None else {"table": table.uri, "n_rows": table.n_rows}),
            }
            if share is None and not run.closed and given.main < 1:
                raise BudgetExceeded(
                    f"nothing is left of the allotment of release id {release_id!r} for {method}",
                    spent=run.spent,
                    held=run.allotment - run.spent - run.unassigned,
                    remaining=run.unassigned,
                )
            with book.explaining(allotment, release_id):
                book.append("started", body, release_id)
            return given

    def charge(self, dataset: str, release_id: str, label: str, question: Any, event: Event) -> Standing:
        """Pay for one question before it is asked; a charge that stands already is resumed, never recomputed.

        Raises:
            BudgetExceeded, RunClosed: and nothing was charged.
            InvalidInput: the event has no price in the run's or the ledger's currency, or is not the question's.
            LedgerViolation: the charge under this label was not made by this ledger.
        """
        check_label(label)
        asked = self.asked(question)
        if asked is not None and asked.event != event:
            raise InvalidInput(f"the event under {label!r} is not what its question costs: the door makes one of it")
        key = charge_key(dataset, release_id, label)
        attempt = {"attempt": secrets.token_hex(16), "lease_until": (datetime.now(UTC) + LEASE).isoformat()}
        allotment, prices = self._priced(dataset, release_id, event)
        with self._locked(dataset) as book:
            standing = book.standing(release_id, label)
            if standing is not None:
                book.check_paid(release_id, label, allotment, self._registered(dataset))
                if standing.answer is None:
                    book.append("attempted", attempt, release_id, key)
                return replace(standing, attempt=attempt["attempt"])
            if isinstance(prices, InvalidInput):
                raise prices
            body = {"label": label, "question": question, "event": event.to_json(), **attempt, **prices}
            with book.explaining(allotment, release_id):
                book.append("charged", body, release_id, key)
            return Standing(question, None, attempt["attempt"], event)

    def publish(
        self, dataset: str, release_id: str, label: str, attempt: str, answer: Mapping[str, list[int]]
    ) -> dict[str, list[int]]:
        """Store the answer of a charge unless it has one, and return the one that stands.

        Raises:
            InvalidInput: nothing was charged under this label in this run, or the answer is not of the sizes
                that were paid for.
            RunClosed: the run was closed meanwhile and no answer stands: a late draw is dropped.
        """
        check_name(release_id, "release id")
        check_label(label)
        with self._locked(dataset) as book:
            standing = book.standing(release_id, label)
            if standing is None:
                raise InvalidInput(
                    f"nothing was charged under {label!r} in run {release_id!r} of dataset {dataset!r}, "
                    "so nothing can be published under it"
                )
            if standing.answer is not None:
                return standing.answer
            key, body = charge_key(dataset, release_id, label), {"attempt": attempt}
            book.append("published", body | {"answer": _checked(answer, standing, label)}, release_id, key)
            published = book.find("published", key=key)
            assert published is not None
            stored: dict[str, list[int]] = published.facts()["answer"]
        return stored

    def note(self, dataset: str, release_id: str, label: str, value: Any) -> Any:
        """Keep what a step made, unless it is kept, and return what is: post-processing, which costs nothing.

        A closed run keeps nothing more, and the value comes back as it is.
        """
        check_name(release_id, "release id")
        check_label(label)
        with self._locked(dataset) as book:
            known = book.noted(release_id, label)
            if known is None and not book.run_state(release_id).closed:
                book.append("noted", {"label": label, "value": value}, release_id)
            return value if known is None else known

    def close_run(self, dataset: str, release_id: str, reason: str) -> None:
        """End a run: what it held and did not charge returns. A closed run stays closed."""
        check_name(release_id, "release id")
        check_text(reason, "reason")
        with self._locked(dataset) as book:
            if not book.run_state(release_id).closed:
                book.append("closed", {"reason": reason}, release_id)

    def _priced(self, dataset: str, release_id: str, event: Event) -> tuple[Budget, "dict[str, Amount] | InvalidInput"]:
        """The run's allotment, and both prices or why there are none: worked out before the lock is taken."""
        allotment = self._allotment(dataset, release_id)
        try:
            return allotment, {
                "price_run": allotment.price(event),
                "price_ledger": self._registered(dataset).price(event),
            }
        except InvalidInput as refusal:
            return allotment, refusal


def _check_same(begun: tuple[str, int] | None, table: SizedTable, release_id: str) -> None:
    if begun is not None and begun != (table.uri, table.n_rows):
        raise SpecMismatch(
            f"release id {release_id!r} began with the table {begun[0]} of {begun[1]} rows, not with {table.uri} of "
            f"{table.n_rows}: use another release id"
        )


def _checked(answer: Mapping[str, list[int]], standing: Standing, label: str) -> dict[str, list[int]]:
    try:
        return check_answer(answer, standing.event)
    except ValueError as error:
        why = str(error)
    raise InvalidInput(f"nothing is published under {label!r}: {why}")


def _difference(known: dict[str, Any], configuration: str, public_sha256: str) -> str:
    old, new = json.loads(known["configuration"]), json.loads(configuration)
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    if names:  # first, for other columns are also other public rows
        return ", ".join(f"{name}: {old.get(name)} then, {new.get(name)} now" for name in names)
    return "another budget" if known["public_sha256"] == public_sha256 else "the public rows differ"
