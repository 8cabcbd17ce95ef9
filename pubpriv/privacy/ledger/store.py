"""The ledger as its users call it: every method is one committed transaction, or nothing happened."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pubpriv.common.tables import canonical
from pubpriv.errors import InvalidInput, LedgerViolation
from pubpriv.privacy.budgets import Budget, BudgetLike, budget_of
from pubpriv.privacy.ledger import _custody, _succession, bundle
from pubpriv.privacy.ledger._access import Access
from pubpriv.privacy.ledger._database import Database, connect
from pubpriv.privacy.ledger._declared import check_declared, declare, private_owner
from pubpriv.privacy.ledger._names import check_name, check_text
from pubpriv.privacy.ledger._outlook import Outlook
from pubpriv.privacy.ledger._replay import replay
from pubpriv.privacy.ledger.past import Past, ended, newest_start
from pubpriv.privacy.ledger.period_terms import PeriodTerms, agreed
from pubpriv.privacy.ledger.records import Record
from pubpriv.privacy.ledger.run import LedgerRun
from pubpriv.privacy.ledger.summary import Checkpoint, Summary
from pubpriv.privacy.ledger.terms import ONE_PERSON, ONE_RECORD, PersonTerms, check_same_unit
from pubpriv.privacy.ledger.views import Asked, Balance, RunView, TableIdentity
from pubpriv.privacy.ledger.witness import witness_of_environment


class Ledger:
    """Append-only records of datasets' budgets; open one with `Ledger.open`."""

    def __init__(self, database: Database) -> None:
        self._access = Access(database)

    @staticmethod
    def asked(question: Any) -> Asked | None:  # noqa: ARG004 - see `pubpriv.Ledger`
        """Return the event and sizes of a stored question: the ledger alone reads questions as data, knowing none."""
        return None

    @classmethod
    def open(cls, url: str, create: bool = True, witness: str | Path | None = None) -> Self:
        """Return the ledger at `url`, migrated forwards if it is older.

        Args:
            url: `sqlite:///PATH`, or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` (a database of its own).
            create: make an empty one if there is none; otherwise that is an error.
            witness: an export of this ledger (`export`), kept elsewhere; default: the file that
                `PUBPRIV_LEDGER_WITNESS` names, if it names one. Datasets of which the ledger lacks some of it,
                because an older copy was restored, open for reading only: what was charged meanwhile would be
                spent twice. Of the others, the balance is followed from the witness's end before anything is added.

        Raises:
            InvalidInput: not a ledger URL, none there and `create` is false, or no export at `witness`.
            Unavailable: it cannot be read or written now.
        """
        witness = witness or witness_of_environment()
        ends = bundle.ends(Path(witness).expanduser()) if witness else {}
        ledger = cls(connect(url, create))
        try:
            ledger._access.look_for_guards()
            ledger._access.watch(ends, witness)
        except BaseException:
            ledger.close()
            raise
        return ledger

    @property
    def url(self) -> str:
        """Where it is, without a password."""
        return self._access.url

    @property
    def reference(self) -> str:
        """How a task finds this ledger; another process finds the password where `ledger.urls` says."""
        return self.url

    @property
    def read_only(self) -> Mapping[str, str]:
        """Datasets to which nothing can be charged, and why: the ledger lacks records that a witness has.

        Or it lacks triggers that keep it append-only; then no dataset can be charged.
        """
        return self._access.read_only

    def check_complete(self) -> None:
        """Raise why a dataset is open for reading only, if one is.

        Raises:
            LedgerViolation: the ledger lacks records that its witness has, or triggers.
        """
        if self._access.unguarded is not None:
            raise LedgerViolation(self._access.unguarded)
        for reason in self.read_only.values():
            raise LedgerViolation(reason)

    def close(self) -> None:
        """Let go of the database."""
        self._access.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def datasets(self) -> list[str]:
        """Return names of all datasets."""
        return self._access.datasets()

    def run(self, dataset: str, release_id: str) -> LedgerRun:
        """Return the run of `dataset` under `release_id`, whether it was opened yet or not.

        Raises:
            InvalidInput: a bad name.
        """
        return LedgerRun(self._access, self.asked, dataset, release_id)

    # -- what a dataset may spend ----------------------------------------------------------------------------

    def register(
        self,
        dataset: str,
        budget: BudgetLike,
        table: TableIdentity | None = None,
        unit: str = ONE_RECORD,
        raise_: bool = False,
        reason: str | None = None,
        person: str | Sequence[str] = (),
        persons: int | None = None,
        periods: PeriodTerms | None = None,
    ) -> None:
        """Give `dataset` a budget that all its snapshots share; again with the same budget: nothing happens.

        Args:
            dataset: its name, letters, digits and `._:-`.
            budget: the cap, or its text (`zcdp:2`), kept forever; its kind is the ledger's currency for this dataset.
            table: a private table of this dataset; more may be declared by calling again.
            unit: what one record stands for, in words (`one patient`).
            raise_: a higher cap is meant; needs `reason`.
            reason: recorded with a raised cap.
            person: id column or columns, where all rows of a person are protected together; said once, it holds for
                ever. None: each row by itself, or as it is registered.
            persons: how many persons there are, if that may be public: nothing checks it. A table's own count is
                private, and stays so if it is not given here.
            periods: where the table grows: what each period may give away. None: as it is registered.

        Raises:
            SpecMismatch: another budget or unit without `raise_`, or a table of another dataset; a dataset of rows that
                is to become one of persons, or back; other periods.
            InvalidInput: a bad name, another kind of budget, a raise without a reason; id columns among those of the
                table; periods that do not fit the budget (`period_terms.agreed`), or runs are open without any.
            BudgetExceeded: the cap would fall below what is spent and held.
        """
        check_name(dataset, "dataset")
        check_text(unit, "privacy unit")
        if reason:
            check_text(reason, "reason")
        if table is not None and not hasattr(table, "uri"):
            raise InvalidInput("a private table is declared opened: table=PrivateTable.open(PATH, COLUMNS)")
        budget = budget_of(budget)
        names = (person,) if isinstance(person, str) else tuple(person)
        if persons is not None and not names:
            raise InvalidInput("--persons says how many persons there are: name their id columns too, with --person")
        whose = PersonTerms(names, persons) if names else None
        with self._access.locked(dataset, create=True, tables=table is not None) as book:
            if book.state is None:
                body = {"budget": budget.to_json(), "unit": unit, "cap": budget.cap}
                if whose is not None:
                    body |= {"unit": ONE_PERSON if unit == ONE_RECORD else unit, **whose.to_json()}
                given = agreed(dataset, None, periods, budget, whose is not None, reason)
                if given is not None:
                    body |= {**given.to_json(), "period_cap": given.cap(whose is not None), "reason": reason}
                book.append("registered", body)
            else:
                terms = book.terms
                check_same_unit(dataset, PersonTerms.of(terms), whose)
                known = PeriodTerms.of(terms)
                given = agreed(dataset, known, periods, book.registered, book.person is not None, reason)
                if budget.to_json() != terms["budget"] or unit not in (terms["unit"], ONE_RECORD):
                    book.raise_cap(budget, unit, raise_, reason)
                if given != known:
                    book.change_terms(budget, given, reason)
            if table is not None:
                declare(book, table)

    def bind(self, dataset: str, table: TableIdentity) -> None:
        """Check that `table` is a declared table of `dataset`; a dataset that has none yet takes this one.

        Raises:
            SpecMismatch: a table, or columns, that were not declared, or a table of another dataset.
        """
        with self._access.reading(dataset) as book:
            if book.tables():
                check_declared(book, table, self.url)
                return
        with self._access.locked(dataset, tables=True) as book:
            if not book.tables():  # nobody was quicker
                declare(book, table)
                return
            check_declared(book, table, self.url)

    def check_declared(self, dataset: str, table: TableIdentity, first: bool = False) -> bool:
        """Check that `table` is a declared table of `dataset`, and declare nothing. Raises as `bind` does.

        Args:
            dataset: its name.
            table: of which nothing but its name may be known.
            first: where nothing is declared yet, any table will do that is not another dataset's.

        Returns:
            Whether the dataset declares any table.
        """
        with self._access.reading(dataset) as book:
            check_declared(book, table, self.url, first)
            return bool(book.tables())

    def person(self, dataset: str) -> PersonTerms | None:
        """Return whose rows are protected together, as it is registered; None: each row by itself."""
        with self._access.reading(dataset) as book:
            return book.person

    def periods(self, dataset: str) -> PeriodTerms | None:
        """Return what is asked period by period, each with a cap of its own; None: the dataset has no periods."""
        with self._access.reading(dataset) as book:
            return book.periods

    def refuse_to_count(self, uri: str) -> None:
        """Refuse to say how many rows a table has, where that is private.

        Raises:
            InvalidInput: it shares files with a table of a dataset whose unit is a person.
        """
        with self._access.database.transaction(write=False) as connection:
            found = private_owner(connection, canonical(uri))
        if found is not None and self.person(found[0]) is not None:
            raise InvalidInput(
                f"{uri} is a table of dataset {found[0]!r}, whose unit is a person: the number of its rows is private. "
                "Give --persons N, a number that may be known"
            )

    def refuse_private(self, *public: str) -> None:
        """Refuse public files that could be those of a private table, whichever dataset it was declared for.

        Args:
            public: names of files, folders or globs; nothing in them is looked at.

        Raises:
            InvalidInput: one of them shares a file with a private table, or could.
        """
        with self._access.database.transaction(write=False) as connection:
            for uri in public:
                found = private_owner(connection, canonical(uri))
                if found is not None:
                    raise InvalidInput(
                        f"the public table {uri} shares files with {found[1]}, a private table of dataset "
                        f"{found[0]!r}: rows cannot be both. Nothing of it was read; name the table of public rows, "
                        "and look whether the two were given the wrong way round"
                    )

    # -- what it spent -------------------------------------------------------------------------------------------

    def balance(self, dataset: str) -> Balance:
        """Return what is spent, held and left."""
        with self._access.reading(dataset) as book:
            return book.balance()

    def outlook(self, dataset: str) -> Outlook:
        """Return the balance, what one more run like the last costs, how many fit, who is at work, who spent most."""
        with self._access.reading(dataset) as book:
            return Outlook.of(book)

    def fitting(self, dataset: str, allotment: Budget) -> int:
        """Return how many runs with this allotment could be opened now, none of them closed before the next.

        Where the dataset has periods: in periods that have room each.

        Raises:
            InvalidInput: an allotment of a kind that the dataset's budget does not take.
        """
        with self._access.reading(dataset) as book:
            state = book.known_state()
            return allotment.how_many(book.registered, state.cap, state.remaining)

    def fitting_in(self, dataset: str, allotment: Budget, period: str | None) -> int:
        """Return how many such runs could be opened now for one period; None: for all rows, which count in every one.

        Raises:
            InvalidInput: see `fitting`.
        """
        fits = self.fitting(dataset, allotment)
        with self._access.reading(dataset) as book:
            state = book.known_state()
            terms, own = book.periods, book.in_period(state, "opened", period).periods
            if terms is None or own is None:
                return fits
            return min(fits, allotment.how_many(terms.budget, own.cap, own.remaining))

    def history(self, dataset: str) -> list[RunView]:
        """Return all runs of a dataset, oldest first."""
        with self._access.reading(dataset) as book:
            return [book.run(str(record.release_id)) for record in book.all("opened")]

    def past(self, dataset: str, most: int) -> Past:
        """Return the newest runs of a dataset, and what those before them spent in sum."""
        with self._access.reading(dataset) as book:
            return Past.of(book, most)

    def ended(self, dataset: str, release_ids: Collection[str]) -> dict[str, bool]:
        """Return of each of these runs that was ever opened whether it was closed."""
        with self._access.reading(dataset) as book:
            return ended(book, release_ids)

    def newest_start(
        self, dataset: str, method: str, wanted: Callable[[str], bool]
    ) -> tuple[str, dict[str, Any]] | None:
        """Release id and settings of the newest run of a method whose id is wanted; None if there is none."""
        with self._access.reading(dataset) as book:
            return newest_start(book, method, wanted)

    def records(self, dataset: str) -> list[Record]:
        """Return all records of a dataset, oldest first."""
        with self._access.reading(dataset) as book:
            return book.all()

    def verify(self, dataset: str, expected_head: str | None = None, since: Checkpoint | None = None) -> Summary:
        """Replay every record and compare chain, balances, prices, and events with the questions they are of.

        Args:
            dataset: whose records.
            expected_head: a chain head kept outside the ledger (model files carry one). Without one, records
                missing at the very end cannot be noticed.
            since: a checkpoint of an earlier call that is trusted: only what follows is read.

        Returns:
            What the records come to.

        Raises:
            LedgerViolation: the first record that does not follow from those before it, or `expected_head` is
                not in the chain.
        """
        with self._access.reading_rows(dataset, 0 if since is None else since.records - 1) as rows:
            return replay(dataset, rows, expected_head, self.asked, since)

    # -- copies that are kept elsewhere ------------------------------------------------------------------------

    def export(self, path: Path, datasets: Sequence[str] = (), after: Path | None = None) -> dict[str, bundle.End]:
        """Write the auditor's bundle of some datasets, or of all; it replaces an older export of the same ledger.

        Args:
            path: of the bundle.
            datasets: which; default: all.
            after: an export of this ledger, of which only what came later is written; all datasets then.

        Returns:
            Where each chain ends.

        Raises:
            InvalidInput: an unknown dataset, or something else is at `path`, or an export of more datasets, or one
                that continues another than `after`.
            LedgerViolation: the export at `path`, or `after`, has records that this ledger has not.
            Unavailable: it cannot be written.
        """
        return _custody.export(self._access, path, datasets, after)

    def lacks(self, ends: Mapping[str, bundle.End]) -> dict[str, str]:
        """Return what the ledger lacks of an export that ended there, in words, by dataset; empty if it has it all."""
        return self._access.lacks(ends)

    def restore(self, path: Path, datasets: Sequence[str] = (), after: Sequence[Path] = ()) -> dict[str, int]:
        """Append what a bundle has and this ledger lacks: an older copy catches up, an empty ledger is filled.

        Args:
            path: an export; every record of it is checked first.
            datasets: which; default: all.
            after: the exports that it continues, oldest first.

        Returns:
            How many records were appended, by dataset.

        Raises:
            InvalidInput, LedgerViolation: see `bundle.verify`; or the ledger's own records are others.
        """
        return _custody.restore(self._access, self.asked, path, datasets, after)

    # -- books that are closed, and go on in another ledger ------------------------------------------------------

    def carry_on(self, new: "Ledger", archive: Path) -> dict[str, int]:
        """Close these books, keep all of them in `archive`, and go on in `new`; see `succession.carry_on`."""
        return _succession.carry_on(self._access, new._access, archive, self.asked)

    def check_carried(self, archive: Path) -> dict[str, int]:
        """Compare what these books begin with, with what those of `archive` come to; see `succession.check`."""
        return _succession.check(self._access, archive, self.asked)
