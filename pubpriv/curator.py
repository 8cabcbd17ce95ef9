"""THE DOOR: the only place where questions are asked of private rows and answers are released.

`Curator.release` is the only function of the project through which a number computed from private rows gets
out. Read it together with `privacy.ledger` (what is paid), `data.questions` (what is asked, with proofs) and
`data.scan` (exact totals).
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Self
from weakref import WeakValueDictionary

import numpy as np

from pubpriv.data.categories import ByCategory
from pubpriv.data.cluster import Cluster
from pubpriv.data.codec import to_json
from pubpriv.data.confined import Confined
from pubpriv.data.contents import Contents
from pubpriv.data.looks import Looks
from pubpriv.data.outages import failure_of_scan
from pubpriv.data.placement import check_places, check_shape
from pubpriv.data.questions.base import Question, Totals, check_totals
from pubpriv.data.questions.radial import GAUSSIAN, draws_of
from pubpriv.data.rehearsal import check_groups_asked, checked, rehearse
from pubpriv.data.tables import ArrayTable, PrivateTable, PublicTable, source_of
from pubpriv.errors import (
    BudgetExceeded,
    InvalidInput,
    NoAnswer,
    PubPrivError,
    RunClosed,
    SpecMismatch,
    without_trace,
)
from pubpriv.ledger import answer_to, event_of, new_release_id, public_value_of, question_of
from pubpriv.ledger.unit import Size, as_begun, check_room, check_unit, hash_of, made_again, unit_of
from pubpriv.privacy.ahead import DrawnAhead, expect_draws, giving_way, stop_drawing
from pubpriv.privacy.budgets import Budget, BudgetLike, Purse, budget_of
from pubpriv.privacy.ledger.terms import PersonTerms
from pubpriv.privacy.ledger.texts import canonical
from pubpriv.privacy.noise import NoiseSource, OperatingSystemNoise, SimulatedNoise, drawn_beside
from pubpriv.privacy.runs import RecordedRun, Run, SimulatedRun
from pubpriv.privacy.statement import Statement


@dataclass(frozen=True)
class Answer:
    """A published answer: the stored question and its values as floats; anything computed from it is free."""

    label: str
    question: Any
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class RunHandle:
    """Names and paths by which a task on another thread or machine finds an open run; no rows, no password.

    Attributes:
        ledger: URL without a password, or the name of the environment variable that holds the URL.
        scheduler: address of the Dask cluster that reads blocks; None: threads.
    """

    ledger: str
    dataset: str
    release_id: str
    table: PrivateTable
    scheduler: str | None = None

    def open(self, executor: Executor | None = None) -> "Curator":
        """Return a curator of this run; call `Curator.leave` at the end of the task."""
        if executor is None and self.scheduler is not None:
            executor = Cluster(self.scheduler)
        return Curator._enter(self, executor)


@dataclass(frozen=True)
class SimulationHandle:
    """A random token for a simulated curator of this process."""

    token: str

    def open(self, executor: Executor | None = None) -> "Curator":  # noqa: ARG002 - same shape as RunHandle.open
        """Return the curator itself, since simulations stay in their process."""
        return _SIMULATIONS[self.token]


_SIMULATIONS: "WeakValueDictionary[str, Curator]" = WeakValueDictionary()  # weak: frees rows with their curator


class Curator(Confined):
    """One run: a private table, a ledger that is charged before rows are read, and noise from the system.

    Args:
        private: the table.
        ledger: the ledger in which the dataset is registered.
        dataset: name of the dataset. A dataset registered without a table is bound to this one.
        budget: the run's whole allotment, or its text (`zcdp:0.5`); it is held at once, before anything is read.
        release_id: name of the run; default: a new one. An existing id resumes its run and replays answers for free.
        executor: executor that scans blocks; default: threads.
        rows_per_person: if the unit of the dataset is a person: as how many rows each person counts at most (more rows
            share that weight); `auto`: chosen from released sizes.

    Raises:
        InvalidInput: unregistered dataset, a budget kind that does not fit the ledger, an invalid id.
        SpecMismatch: a table bound elsewhere, columns not declared, an id opened with another budget or another table.
        BudgetExceeded: no room for the hold; nothing is held.

    Warns:
        FilesNotRead: the run is new, and its table is a folder or glob of which not all files are read; see `Contents`.
    """

    def __init__(
        self,
        private: PrivateTable,
        ledger: Any,
        dataset: str,
        budget: BudgetLike,
        release_id: str | None = None,
        executor: Executor | None = None,
        rows_per_person: int | str = 1,
    ) -> None:
        release_id = new_release_id() if release_id is None else release_id
        allotment = budget_of(budget)
        if not hasattr(ledger, "bind"):
            raise InvalidInput("a curator charges a ledger: open one with Ledger.open(URL)")
        terms = ledger.person(dataset)
        private = made_again(private, terms, dataset, executor, ledger.periods(dataset))
        ledger.bind(dataset, private)
        run = ledger.run(dataset, release_id)
        private = as_begun(private, run, release_id)
        most = check_unit(terms, rows_per_person, private.period, allotment)
        new = run.begun() is None  # a resumed run may have answers already
        if new:
            Contents.of(private).warn(stacklevel=2)  # before the hold: a program may make exceptions of warnings
        run.open(allotment, private.period or None)
        if new:
            ledger.record_layout(dataset, private)
        kept = RecordedRun(ledger, run, table=private, new=new)
        noise = DrawnAhead(OperatingSystemNoise()) if new else OperatingSystemNoise()
        self._assemble(private, kept, noise, executor, terms, most)
        at = executor.address if isinstance(executor, Cluster) else None
        self._handle: RunHandle | SimulationHandle = RunHandle(ledger.reference, dataset, release_id, private, at)

    @classmethod
    def simulation(
        cls,
        rows: Any,
        budget: BudgetLike,
        seed: int,
        columns: list[str] | tuple[str, ...] | None = None,
        executor: Executor | None = None,
        persons: Any = None,
        rows_per_person: int | str = 1,
        groups: tuple[ByCategory, Any] | None = None,
    ) -> "Curator":
        """Return a curator for rows in memory with seeded noise: NOT private, and its statement says so.

        Args:
            rows: (n, d) array.
            budget: allotment, which is enforced but not recorded.
            seed: seed of the simulated noise; each draw depends only on it and on the question's label.
            columns: names; for `log1p(x)` the array must contain x, which is mapped here; default x0, x1, ...
            executor: executor that scans blocks; default: threads.
            persons: (n,) integers that say whose row it is; None: the unit is a row.
            rows_per_person: see `Curator`.
            groups: groups of the rows, and the category of each row; None: there are none.
        """
        table = ArrayTable.of(rows, columns, persons, groups)
        terms = None if persons is None else PersonTerms(("person",))
        budget = budget_of(budget)
        most = check_unit(terms, rows_per_person)
        curator = cls.__new__(cls)
        curator._assemble(table, SimulatedRun(budget), SimulatedNoise(seed), executor, terms, most)
        curator._handle = SimulationHandle(secrets.token_hex(8))
        _SIMULATIONS[curator._handle.token] = curator
        return curator

    @classmethod
    def _enter(cls, handle: RunHandle, executor: Executor | None) -> "Curator":
        """The curator of an existing run; the contents of the handle are checked like arguments of a new curator.

        Raises:
            InvalidInput: no such ledger, dataset or run; not a private table.
            SpecMismatch: a table or columns that the dataset does not declare, or not the table of the run.
        """
        from pubpriv.privacy.ledger import Ledger

        ledger = Ledger.open(handle.ledger, create=False)
        try:
            terms = ledger.person(handle.dataset)
            table = made_again(handle.table, terms, handle.dataset, executor, ledger.periods(handle.dataset))
            ledger.check_declared(handle.dataset, table)
            run = ledger.run(handle.dataset, handle.release_id)
            run.bill()  # fails if there is no such run; a closed run replays its answers
            table = as_begun(table, run, handle.release_id)
        except BaseException:
            ledger.close()
            raise
        curator = cls.__new__(cls)
        kept = RecordedRun(ledger, run, owned=True, table=table)
        curator._assemble(table, kept, OperatingSystemNoise(), executor, terms, None)
        curator._handle = replace(handle, table=table)
        return curator

    def _assemble(self, table: Any, run: Run, noise: NoiseSource, executor: Executor | None, *unit: Any) -> None:
        self._table, self._run, self._noise, self._executor = table, run, noise, executor
        self._unit = unit_of(table, run, *unit)
        self._looks = Looks.of_run(run.name)
        # where an executor reads the rows, those of a sample are kept here
        source = self._unit.source(remembered=executor is None or self.asks_of_samples, shared=True)
        self._source = self._looks.shared(source)

    @property
    def size(self) -> Size:
        """Number of rows that questions count: n if it is public, else as this run released it."""
        return self._unit.size

    @property
    def n_rows(self) -> int:
        """`size.rows`, which drivers use for plans."""
        return self.size.rows

    @property
    def asks_of_one_row(self) -> bool:
        """Whether questions that are not sums over rows are accepted: not for a period if the unit is a row."""
        return self._unit.asks_of_one_row

    @property
    def asks_of_samples(self) -> bool:
        """Whether questions about a sample of the rows (`OfSample`) are accepted."""
        return self._unit.exact_rows is not None and self.budget.noise_law == GAUSSIAN

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the estimate."""
        return tuple(self._table.column_names)

    @property
    def groups(self) -> ByCategory | None:
        """Groups of the table's rows; None: there are none."""
        return self._table.by  # type: ignore[no-any-return]

    @property
    def handle(self) -> RunHandle | SimulationHandle:
        """Handle by which a task enters this run; notes are stored first, because the task continues from them."""
        self._run.keep()
        stop_drawing(self._noise)
        return self._handle

    @property
    def budget(self) -> Budget:
        """The run's allotment."""
        return self._run.allotment

    def check_public(self, public: Any) -> None:
        """Refuse public rows that are, or were read from, a private table of any dataset in the ledger.

        Raises:
            InvalidInput: they share files with a private table; rows in memory cannot be checked.
        """
        if (source := source_of(public)) is not None:
            self._run.refuse_private(source)

    def begin(
        self, method: str, configuration: Mapping[str, Any], public: PublicTable | str, budget: BudgetLike | None = None
    ) -> Purse:
        """Bind this run to one configuration of `method` and set aside its share of the allotment.

        Args:
            method: `mixture`, `gaussian`, ...; each may begin once in a run.
            configuration: settings that shape the questions (JSON data).
            public: the public rows, or the hash (hex digits) of rows that did not come from a file.
            budget: budget of the method, of the run's kind; None: all that is left.

        If the unit is a person, the run first asks how many persons and rows there are, for 3% of its allotment.

        Returns:
            The share, to be split over steps. Beginning again returns the same share.

        Raises:
            InvalidInput: see `check_public`; or a text that is not a hash.
            SpecMismatch: this run began the method with other settings, other public rows or another table.
            RunClosed: the run is closed and never began this method.
            BudgetExceeded: less is left than `budget`.
        """
        self.check_public(None if isinstance(public, str) else public)
        sha256 = hash_of(public)
        given = None if budget is None else budget_of(budget)
        self._unit.open(self.release, given, public)
        return self._unit.purse(self._run.begin(method, canonical(configuration), sha256, given))

    def rehearse(self, *plans: Sequence[Question]) -> None:
        """Check whole plans before the first charge: every question fits the table, and those of a plan fit the run.

        Args:
            plans: all plans to which answers may lead, with questions of the sizes, shapes and prices to come. Their
                frames may be placeholders; each real question is tried on hostile records when it is released.

        Raises:
            InvalidInput, BudgetExceeded: nothing was charged.
        """
        events = {}
        for number, question in {id(question): question for plan in plans for question in plan}.items():
            known = self._as_asked(question)
            check_room(known, self._unit)
            check_shape(known, len(self.columns))
            events[number] = event_of(known)
        self._run.afford([[events[id(question)] for question in plan] for plan in plans])

    def expect(self, questions: Sequence[Question]) -> None:
        """Announce questions that are likely to follow, so that their noise is drawn meanwhile."""
        expect_draws(self._noise, (draw for question in questions for draw in draws_of(self._as_asked(question))))

    def foresee(self, *questions: Question) -> None:
        """Announce questions that are likely to follow the next one, so that one pass over the rows sums them, too.

        Their totals stay inside the door until `release` asks for them, charges them and draws their noise, as it
        always does; what is not asked is thrown away. Everything that is published, and the order of it, is as
        without this. `data.looks` proves that privacy is, too.

        Args:
            questions: as they will be asked, except for the rank of a `Bisection`, which may be another. They replace
                those foreseen before. One that is not asked after all costs the pass some time.
        """
        self._looks.foresee([self._as_asked(question) for question in questions])

    @property
    def passes(self) -> int:
        """Number of passes over all private rows that this run made in this process; public, as questions are."""
        return self._looks.passes

    def release(self, question: Question, label: str) -> Answer:
        """Ask one question of the private rows, once, and return its published answer.

        Args:
            question: one of `data.questions`, built from public values and earlier releases only.
            label: structural name, unique in the run (`mixture/round-2/components`).

        Raises:
            BudgetExceeded, RunClosed, InvalidInput: before anything was read or spent.
            PrivateStepFailed: after the charge; with the same text for every failure.
            Unavailable: also after the charge, if table or cluster are out of reach; see `failure_of_scan`.

        Privacy: a Gaussian mechanism at `question.squared_distance`, except for failures that its event states; in a
        pure run a radial mechanism (`Radial`), and for a `Selection` a pure one. It is charged before rows are opened
        for it, or before its totals are used if an earlier pass summed them (`foresee`); the charge stays, and at most
        one answer is ever published for it.
        """
        # 1 price: exact, from the question's own integers, after checking that it fits the table
        question = self._as_asked(question)
        event = event_of(question)
        # 2, 3 replay: an existing answer under this label is returned with its question, at no cost
        stands = self._run.find(label)
        if stands is None or stands.answer is None:
            self._try(question)
            if not self._looks.needs_no_file(question, self._source):
                self._unit.check_table()  # nothing is spent unless the table exists and has n rows
            # 4 charge: committed before rows are read; a charge without an answer returns its stored question
            stands = self._run.charge(label, to_json(question), event)
            if stands.others:  # perhaps another copy of this process asks, with a copy of the draws that wait
                stop_drawing(self._noise)
        asked = question_of(stands, label)  # priced again: the ledger may have been tampered with
        answer = stands.answer
        if answer is None:
            if asked != question:
                # planted, or stored by another version: checked like the question that was asked now
                self._unit.check_stored(asked)
                self._try(checked(asked, len(self.columns)))
            attempt = stands.attempt
            # 5 scan, 6 noise; 7 publish: insert unless there is an answer, and read it back; only that is released
            read_back = without_trace(lambda: self._run.publish(label, attempt, self._look(asked, label)))
            answer = answer_to(asked, read_back, label)
        # 8 return, rescaled
        integers = {name: np.array(values, dtype=np.int64) for name, values in answer.items()}
        return Answer(label, self._unit.answered(asked), asked.values(integers))

    def _look(self, question: Question, label: str) -> dict[str, list[int]]:
        """Noisy integers of one question. A failure in here reveals only what can be seen from outside."""
        try:
            with drawn_beside(self._noise, label, draws_of(question)) as draw, giving_way(self._noise, self._executor):
                totals = self._totals(question)
                check_totals(question, totals, self._unit.exact_rows)
                noisy = question.answer(totals, draw)
            return {name: values.tolist() for name, values in noisy.items()}
        except Exception:  # noqa: S110 - the cause may quote a row, so it ends here
            pass
        raise failure_of_scan(self._table, self._executor)

    def _totals(self, question: Question) -> Totals:
        """Exact totals, of a pass over the rows that this question needs, or of an earlier one."""
        return self._looks.totals(question, self._source, self._fits, self._executor, not self._noise.private)

    def _fits(self, question: Question) -> bool:
        """Whether a foreseen question could be asked now; if not, it says so itself when it is."""
        try:
            self._try(question)
        except PubPrivError:
            return False
        return True

    def _try(self, question: Question) -> None:
        """Check that totals have room for a question, and that it fails on no record; InvalidInput if not."""
        check_room(question, self._unit)
        check_groups_asked(question, self.groups)
        rehearse(question, len(self.columns))
        check_places(question, len(self.columns))
        if isinstance(self._executor, Cluster):
            self._executor.check_trial(question, len(self.columns))

    def _as_asked(self, question: Question) -> Question:
        """Check the question, and wrap it for the unit of the dataset and the law of this run's noise."""
        return checked(self._unit.asked(question), len(self.columns), self.budget.noise_law)

    def settled(self, label: str, step: Callable[[], Any]) -> Any:
        """Return the result of a step on public rows and released answers; a resumed run returns the first result.

        Floating point differs between machines. So results between questions are stored with the next charge, and a
        resumed run continues from them: `step`, which returns a public value (`data.codec`), is called once per label.
        """
        known = self._run.noted(label)
        if known is None:
            known = to_json(step())
            self._run.note(label, known)
        return public_value_of(known)

    def noted(self, label: str) -> Any:
        """Return the result of a step that an earlier attempt settled under this label; None if there is none."""
        known = self._run.noted(label)
        return None if known is None else public_value_of(known)

    def statement(self) -> Statement:
        """Return the charges of this run so far, for reports: labels, kinds of questions, prices, guarantee."""
        return self._run.statement()

    def close(self, reason: str = "finished") -> None:
        """End the run: the rest of its hold returns to the dataset; answers can still be replayed."""
        self._source = self._unit.source(remembered=False)
        self._looks.forget()
        stop_drawing(self._noise)
        self._run.close(reason)

    def leave(self) -> None:
        """Release the ledger without closing the run, for tasks that entered by a handle."""
        self._source = self._unit.source(remembered=False)
        stop_drawing(self._noise)
        self._run.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close a run that is done, or was refused before it asked anything; after other failures it stays open."""
        if kind is None or issubclass(kind, NoAnswer):
            self.close()
            return
        refused = issubclass(kind, InvalidInput | BudgetExceeded) and not issubclass(kind, SpecMismatch | RunClosed)
        if refused and not self.statement().charges:
            self.close("refused before anything was asked")

    def __repr__(self) -> str:
        return f"Curator({self._run.describe()})"
