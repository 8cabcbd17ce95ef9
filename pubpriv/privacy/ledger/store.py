"""The ledger's public interface: each method is one transaction, which is committed or has no effect."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from pubpriv.common.column_names import name_of
from pubpriv.common.tables import canonical, identified
from pubpriv.errors import InvalidInput, LedgerViolation, Unavailable
from pubpriv.privacy.budgets import Budget, BudgetLike, budget_of
from pubpriv.privacy.ledger import _custody, _succession, bundle
from pubpriv.privacy.ledger._access import Access
from pubpriv.privacy.ledger._database import Database, connect
from pubpriv.privacy.ledger._declared import (
    check_declared,
    check_lines,
    declare,
    has_whole_lines,
    is_new,
    layout_of,
    private_owner,
)
from pubpriv.privacy.ledger._names import check_name, check_text
from pubpriv.privacy.ledger._outlook import Outlook
from pubpriv.privacy.ledger._registration import Terms, register
from pubpriv.privacy.ledger._replay import replay
from pubpriv.privacy.ledger.past import Past, ended, newest_start
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.records import Record
from pubpriv.privacy.ledger.run import LedgerRun
from pubpriv.privacy.ledger.summary import Checkpoint, Summary
from pubpriv.privacy.ledger.terms import ONE_RECORD, PersonTerms
from pubpriv.privacy.ledger.views import Asked, Balance, NamedTable, RunView, SizedTable, TableIdentity
from pubpriv.privacy.ledger.witness import witness_of_environment


class Ledger:
    """Append-only records of datasets' budgets; open one with `Ledger.open`."""

    def __init__(self, database: Database) -> None:
        self._access = Access(database)

    @staticmethod
    def asked(question: Any) -> Asked | None:  # noqa: ARG004 - see `pubpriv.Ledger`
        """Return the event and sizes of a stored question; this base class knows no questions and returns None."""
        return None

    @classmethod
    def open(cls, url: str, create: bool = True, witness: str | Path | None = None) -> Self:
        """Open the ledger at `url`, and migrate it if it is older.

        Args:
            url: `sqlite:///PATH`, or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` (a database of its own).
            create: make an empty ledger if there is none; otherwise that is an error.
            witness: an export of this ledger (`export`), kept elsewhere; default: the file that
                `PUBPRIV_LEDGER_WITNESS` names, if any. If the ledger lacks records that the witness has of a dataset,
                because an older copy was restored, that dataset is open for reading only: otherwise its budget could
                be spent twice. For other datasets, records after the witness's end are checked before one is added.

        Raises:
            InvalidInput: not a ledger URL, no ledger there and `create` is false, or no export at `witness`.
            Unavailable: it cannot be read or written now.
        """
        witness = Path(witness).expanduser().absolute() if witness else witness_of_environment()
        ends = bundle.ends(witness) if witness else {}
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
        """URL of the ledger, without a password."""
        return self._access.url

    @property
    def reference(self) -> str:
        """Reference by which a task opens this ledger; another process finds the password as in `ledger.urls`."""
        return self.url

    @property
    def read_only(self) -> Mapping[str, str]:
        """Datasets to which nothing can be charged, and why: the ledger lacks records that a witness has.

        If it lacks triggers that keep it append-only, no dataset can be charged.
        """
        return self._access.read_only

    def check_complete(self) -> None:
        """Raise an error if any dataset is open for reading only.

        Raises:
            LedgerViolation: the ledger lacks records that its witness has, or triggers.
        """
        if self._access.unguarded is not None:
            raise LedgerViolation(self._access.unguarded)
        for reason in self.read_only.values():
            raise LedgerViolation(reason)

    def close(self) -> None:
        """Close the database."""
        self._access.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def datasets(self) -> list[str]:
        """Return names of all datasets."""
        return self._access.datasets()

    def run(self, dataset: str, release_id: str) -> LedgerRun:
        """Return the run of `dataset` under `release_id`, which need not be open yet.

        Raises:
            InvalidInput: an invalid name.
        """
        return LedgerRun(self._access, self.asked, dataset, release_id)

    # -- terms of a dataset -------------------------------------------------------------------------------

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
        no_line_breaks: bool = False,
        moved_from: str | None = None,
        another_table: bool = False,
    ) -> None:
        """Register `dataset` with a budget that all its snapshots share; the same call again has no effect.

        Args:
            dataset: name of letters, digits and `._:-`.
            budget: the cap, or its text (`zcdp:2`), kept forever; its kind is the ledger's currency for this dataset.
            table: a private table of this dataset; more may be declared by calling again.
            unit: what one record stands for, in words (`one patient`).
            raise_: `budget` is a higher cap; needs `reason`.
            reason: recorded with a raised cap.
            person: id column or columns, if all rows of a person are protected together; this never changes once a
                table is declared or a run was opened. None: those with which `table` was opened; else each row by
                itself, or as registered.
            persons: number of persons, if it may be public; nothing checks it. A table's own count is private, and
                stays private if it is not given here.
            periods: terms of periods, if the table grows. None: as registered.
            no_line_breaks: declares that no cell of `table` contains a line break, which a CSV file needs if all rows
                of a person are protected together; nothing checks it. Once declared, it stays.
            moved_from: name under which `table` was declared before it was moved; nothing checks that it is the same.
            another_table: `table` is no copy of a table of another dataset, though it has the same columns and, where
                their numbers are public, as many rows; nothing checks it.

        Raises:
            SpecMismatch: another budget or unit without `raise_`, or a table of another dataset; a change of the unit
                between rows and persons; other periods; a second table of a dataset whose cap is waived; a table that
                may be a copy of another dataset's, without `another_table`.
            InvalidInput: an invalid name, another kind of budget, a raise without a reason; id columns among those of
                the table; a CSV file of persons without `no_line_breaks`; periods that do not fit the budget
                (`period_terms.agreed`), or open runs without a period.
            BudgetExceeded: the cap would fall below what is spent and held.
        """
        check_name(dataset, "dataset")
        check_text(unit, "privacy unit")
        if reason:
            check_text(reason, "reason")
        if moved_from is not None and table is None:
            raise InvalidInput("a table that moved is declared where it is now: give --private and --columns too")
        if table is not None and not hasattr(table, "uri"):
            raise InvalidInput("a private table is declared opened: table=PrivateTable.open(PATH, COLUMNS)")
        if no_line_breaks and table is None:
            raise InvalidInput("--no-line-breaks says something of a private table: name it too, with its columns")
        opened_with = tuple(getattr(table, "person", ()))
        texts = ((person,) if isinstance(person, str) else tuple(person)) or opened_with
        if opened_with and {*texts} != {*opened_with}:
            raise InvalidInput(
                f"the table was opened with the person {', '.join(opened_with)}, and is registered with that of "
                f"{', '.join(texts)}: name the same columns"
            )
        whose = PersonTerms.asked(tuple(name_of(text, "a column that says whose row it is") for text in texts), persons)
        terms = Terms(budget_of(budget), unit, whose, periods, raise_, reason)
        of_persons = whose is not None or self._protects_persons(dataset)
        named = None if table is None else NamedTable.of(table, of_persons)
        if named is not None and table is not None:
            with suppress(InvalidInput, Unavailable):  # declared by name alone; the first run asks if it is a copy
                named = named.with_layout(table, of_persons)
        with self._access.locked(dataset, create=True, tables=table is not None) as book:
            register(book, terms)
            if named is not None:
                declare(book, named, no_line_breaks, moved_from, another_table)

    def _protects_persons(self, dataset: str) -> bool:
        """Return whether the unit is a person; no, if the dataset is not registered yet."""
        try:
            return self.person(dataset) is not None
        except InvalidInput:
            return False

    def bind(self, dataset: str, table: TableIdentity) -> None:
        """Check that `table` is a declared table of `dataset`; if none is declared yet, declare this one.

        Raises:
            SpecMismatch: a table or columns that were not declared, or a table of another dataset, or what may be a
                copy of one.
            InvalidInput: a CSV file of persons, of which nothing declares that no cell contains a line break.
        """
        declared = self.check_declared(dataset, table, first=True)
        with self._access.reading(dataset) as book:
            known = declared and not is_new(book, identified(table.uri))
        if known:
            return
        named = self._named(dataset, table)
        with self._access.locked(dataset, tables=True) as book:
            if book.tables():  # perhaps declared meanwhile
                check_declared(book, named, self.url)
                check_lines(book, named, self.url)
            declare(book, named)

    def record_layout(self, dataset: str, table: SizedTable) -> None:
        """Record what is public of a declared table's layout, unless that is recorded already.

        Older ledgers and datasets that are declared by name have none, and tables grow.
        """
        with self._access.reading(dataset) as book:
            known = layout_of(book, table.uri)
        if known is None or table.n_rows not in (None, known.rows):
            named = self._named(dataset, table)
            with self._access.locked(dataset, tables=True) as book:
                declare(book, named)

    def _named(self, dataset: str, table: TableIdentity) -> NamedTable:
        """Look up what a registered dataset's ledger keeps of a table, by the dataset's unit."""
        of_persons = self.person(dataset) is not None
        return NamedTable.of(table, of_persons).with_layout(table, of_persons)

    def check_declared(self, dataset: str, table: TableIdentity, first: bool = False) -> bool:
        """Check that `table` is a declared table of `dataset`, without declaring it. Raises as `bind` does.

        Args:
            dataset: name of the dataset.
            table: the table, perhaps known only by name.
            first: if no table is declared yet, accept any that does not belong to another dataset.

        Returns:
            Whether the dataset declares any table.
        """
        with self._access.reading(dataset) as book:
            check_declared(book, table, self.url, first)
            declared, unsure = bool(book.tables()), book.person is not None and not has_whole_lines(book, table.uri)
        if unsure and (named := NamedTable.of(table, of_persons=True)).delimited:
            with self._access.reading(dataset) as book:
                check_lines(book, named, self.url)
        return declared

    def person(self, dataset: str) -> PersonTerms | None:
        """Return the registered terms if the unit is a person; None: the unit is a row."""
        with self._access.reading(dataset) as book:
            return book.person

    def periods(self, dataset: str) -> PeriodTerms | None:
        """Return the terms of the dataset's periods; None: it has no periods."""
        with self._access.reading(dataset) as book:
            return book.periods

    def refuse_to_count(self, uri: str) -> None:
        """Refuse to count the rows of a table if their number is private.

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
        """Refuse public files that could belong to a private table of any dataset.

        Args:
            public: names of files, folders or globs, which are not opened.

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

    # -- spending -------------------------------------------------------------------------------------------

    def balance(self, dataset: str) -> Balance:
        """Return the amounts spent, held and left."""
        with self._access.reading(dataset) as book:
            return book.balance()

    def outlook(self, dataset: str) -> Outlook:
        """Return the balance, how many more runs like the last fit, who is at work, and who spent most."""
        with self._access.reading(dataset) as book:
            return Outlook.of(book)

    def fitting(self, dataset: str, allotment: Budget) -> int:
        """Return how many runs with this allotment could be opened now, if none is closed before the next.

        If the dataset has periods, each of the runs is assumed to be in a period with room.

        Raises:
            InvalidInput: an allotment of a kind that cannot be charged to the dataset's budget.
        """
        with self._access.reading(dataset) as book:
            state = book.state_in_force()
            return allotment.how_many(book.registered, state.cap, state.remaining)

    def fitting_in(self, dataset: str, allotment: Budget, period: str | None) -> int:
        """Return how many such runs could be opened now for one period; None: for all rows, which count in all periods.

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
        """Return the newest runs of a dataset, and the total that earlier runs spent."""
        with self._access.reading(dataset) as book:
            return Past.of(book, most)

    def ended(self, dataset: str, release_ids: Collection[str]) -> dict[str, bool]:
        """Return for each of these runs whether it is closed; runs that were never opened are left out."""
        with self._access.reading(dataset) as book:
            return ended(book, release_ids)

    def newest_start(
        self, dataset: str, method: str, wanted: Callable[[str], bool]
    ) -> tuple[str, dict[str, Any]] | None:
        """Return release id and settings of the newest run of a method whose id is wanted; None if there is none."""
        with self._access.reading(dataset) as book:
            return newest_start(book, method, wanted)

    def records(self, dataset: str) -> list[Record]:
        """Return all records of a dataset, oldest first."""
        with self._access.reading(dataset) as book:
            return book.all()

    def verify(self, dataset: str, expected_head: str | None = None, since: Checkpoint | None = None) -> Summary:
        """Replay every record and check the chain, balances, prices, and that events match their questions.

        Args:
            dataset: name of the dataset.
            expected_head: a chain head kept outside the ledger (model files contain one). Without one, records
                missing at the very end cannot be noticed.
            since: a trusted checkpoint of an earlier call: only later records are read.

        Returns:
            The summary of the records.

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
            path: path of the bundle.
            datasets: names; default: all.
            after: an export of this ledger: only later records are written, for all datasets.

        Returns:
            The end of each chain.

        Raises:
            InvalidInput: an unknown dataset; or the file at `path` is not an export, has more datasets, or continues
                another export than `after`.
            LedgerViolation: the export at `path`, or `after`, has records that this ledger does not have.
            Unavailable: it cannot be written.
        """
        return _custody.export(self._access, path, datasets, after)

    def lacks(self, ends: Mapping[str, bundle.End]) -> dict[str, str]:
        """Describe by dataset what the ledger lacks of an export with these ends; empty if it has all records."""
        return self._access.lacks(ends)

    def restore(self, path: Path, datasets: Sequence[str] = (), after: Sequence[Path] = ()) -> dict[str, int]:
        """Append the records that a bundle has and this ledger lacks: completes an older copy or fills an empty ledger.

        Args:
            path: an export; all its records are checked first.
            datasets: names; default: all.
            after: the exports that it continues, oldest first.

        Returns:
            Number of appended records, by dataset.

        Raises:
            InvalidInput, LedgerViolation: see `bundle.verify`; or the ledger has other records.
        """
        return _custody.restore(self._access, self.asked, path, datasets, after)

    # -- books that are closed, and go on in another ledger ------------------------------------------------------

    def carry_on(self, new: "Ledger", archive: Path) -> dict[str, int]:
        """Close these books, export them to `archive`, and continue them in `new`; see `succession.carry_on`."""
        return _succession.carry_on(self._access, new._access, archive, self.asked)

    def check_carried(self, archive: Path) -> dict[str, int]:
        """Compare the first records of these books with the books in `archive`; see `succession.check`."""
        return _succession.check(self._access, archive, self.asked)
