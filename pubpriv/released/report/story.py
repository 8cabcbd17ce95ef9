"""The story of a run: its questions, their prices and the result, from a model file or from the ledger.

It has names, prices and sizes of noise, but no times, because the duration of a step may depend on rows.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pubpriv.privacy.ledger.views import Balance, RunView
from pubpriv.privacy.units import UNIT
from pubpriv.privacy.wording import for_people, plain_words
from pubpriv.released.estimate import Estimate
from pubpriv.released.numbers import counted
from pubpriv.released.report.lead import lead
from pubpriv.released.report.words import headline

_FILLED = "missing cells are completed by a public rule"

_WORDS = {
    "Bisection": "how far out a given share of the rows lies",
    "BoundedScore": "which of two models describes the rows better",
    "ClippedSums": "sums of the rows in each region",
    "CompletedGram": f"count, sums and products of columns, in each region; {_FILLED}",
    "Counts": "how many rows lie in each region",
    "FourthMoments": "how heavy the tails are: sums of fourth powers",
    "JointCounts": "how many rows lie in each region, of several ways to cut",
    "LiftedGram": "count, sums and products of columns, in each region",
    "Moments": "count, sums and squared lengths, in each region",
    "PersonSizes": "how many persons there are, by their numbers of rows",
    "Selection": "which of many candidates fits best",
    "StableCells": "which cells of a grid hold the most rows",
}
"""Descriptions of questions (`data.questions`) for people who have not read the papers."""

_OF_ONE_ROW = ("Selection", "StableCells")
"""Questions that are not sums: only the last row of each person is asked (`data.questions.per_person`)."""


_WRAPPED = {"Completed": _FILLED, "InShares": "a row is divided among them"}
"""Descriptions of questions about another question."""


def in_words(question: str) -> str:
    """Describe what a question asks; a question without a description keeps its name."""
    radial = re.fullmatch(r"Radial\((.+)\)", question)
    if radial is not None:
        return in_words(radial[1])
    dated = re.fullmatch(r"(.+) in ([0-9][0-9QW-]+)", question)
    if dated is not None:
        return f"{in_words(dated[1])}; only rows of {dated[2]}"
    for wrapper, words in _WRAPPED.items():
        wrapped = re.fullmatch(rf"{wrapper}\((.+)\)", question)
        if wrapped is not None:
            return f"{in_words(wrapped[1])}; {words}"
    if question.endswith(" of a sample"):
        return f"{in_words(question.removesuffix(' of a sample'))}; of some of the rows, those that a public rule picks"
    if question.endswith(" per person"):
        inner = question.removesuffix(" per person")
        counted = "one row of each person counts" if inner in _OF_ONE_ROW else "a person's rows share one weight"
        return f"{in_words(inner)}; {counted}"
    return _WORDS.get(question, question)


@dataclass(frozen=True)
class Asked:
    """A question that was asked, or several of one kind that differ in a number of their label.

    Attributes:
        label: label of the first.
        question: name of the question.
        times: number of such questions.
        price: price of all of them, in the run's currency.
        numbers: number of noisy numbers that they released; None if only the ledger knows.
    """

    label: str
    question: str
    times: int
    price: float
    numbers: int | None

    @property
    def words(self) -> str:
        """Description of the question, and how often it was asked."""
        return in_words(self.question) + (f" ({self.times} times)" if self.times > 1 else "")


@dataclass(frozen=True)
class Story:
    """Content of the picture of a run.

    Attributes:
        title: title of the picture.
        rows: description of the private rows; `unit`: what is protected.
        public: description of the public rows; empty if nothing is known about them.
        asked: questions in their order.
        currency: currency of prices.
        spent: spending of the run, in words.
        guarantees: guarantee of the run, and of the dataset's budget if a ledger was read.
        outcome: sentences about the result.
        meaning: explanation of the guarantee for people who have never heard of differential privacy.
        simulation: whether it was a simulation, in which nothing is private.
    """

    title: str
    rows: str
    unit: str
    public: str
    asked: tuple[Asked, ...]
    currency: str
    spent: str
    guarantees: tuple[str, ...]
    outcome: tuple[str, ...]
    meaning: tuple[str, ...]
    simulation: bool = False

    @property
    def price(self) -> float:
        """Price of all questions together."""
        return sum(each.price for each in self.asked)

    @classmethod
    def of_model(cls, estimate: Estimate) -> "Story":
        """Make the story of a release from its model file.

        Args:
            estimate: the release.
        """
        stated, facts = estimate.privacy, estimate.provenance
        guarantee, bill = stated["guarantee"], stated["charges"]
        asked = [(line["label"], line["question"], float(line["cost"].split()[0]), None) for line in bill]
        numbers = f"{counted(len(estimate.numbers()), 'number')} with their errors"
        return cls(
            title=headline(estimate),
            rows=f"{estimate.counted} {estimate.counted_as}",
            unit=stated["unit"],
            public=f"{facts['n_public']:,}, known to all" if facts["n_public"] else "",
            asked=_grouped(asked),
            currency=stated["spent"].split()[-1],
            spent=for_people(stated["spent"]),
            guarantees=(f"this run: {guarantee['text']}",),
            outcome=(numbers, lead(estimate)),
            meaning=tuple(plain_words(stated["unit"], guarantee, bill, None, stated.get("person", ()))),
            simulation=estimate.is_simulation,
        )

    @classmethod
    def of_run(cls, balance: Balance, run: RunView, published: Mapping[str, int]) -> "Story":
        """Make the story of a run in the ledger.

        Args:
            balance: balance of its dataset.
            run: the run, finished or not.
            published: number of published noisy numbers, by label.
        """
        asked = [
            (charge.label, charge.question, charge.price_run.main / UNIT, published.get(charge.label, 0))
            for charge in run.charges
        ]
        guarantee = run.allotment.guarantee([charge.event for charge in run.charges])
        numbers = f"{counted(sum(published.values()), 'noisy number')}, from which the estimate was computed"
        return cls(
            title=f"What run {run.release_id} of {balance.dataset} asked",
            rows=f"the table of {balance.dataset}",
            unit=balance.unit,
            public="",
            asked=_grouped(asked),
            currency=run.allotment.currency,
            spent=for_people(run.allotment.amount_text(run.state.spent)),
            guarantees=(f"this run: {guarantee['text']}", f"all runs together: {balance.budget.guarantee()['text']}"),
            outcome=(numbers,) if run.state.closed else (numbers, "The run is open, and may ask more."),
            meaning=(),
        )

    def table_rows(self) -> list[list[str]]:
        """Return questions as text: label, description, price, share of the total and, if known, numbers released."""
        whole = self.price or 1.0
        return [
            [
                each.label + (f" and {each.times - 1} more" if each.times > 1 else ""),
                in_words(each.question),
                f"{each.price:.4g}",
                f"{each.price / whole:.1%}",
                *([] if each.numbers is None else [f"{each.numbers:,}"]),
            ]
            for each in self.asked
        ]

    def table_heads(self) -> tuple[str, ...]:
        """Return the heads of the columns of `table_rows`."""
        numbers = any(each.numbers is not None for each in self.asked)
        return ("step", "what was asked", f"cost ({self.currency})", "share", *(("noisy numbers",) if numbers else ()))

    def summary(self) -> str:
        """Summarise in a phrase how many questions were asked and their price."""
        number = sum(each.times for each in self.asked)
        return f"{counted(number, 'question')} asked of {self.rows}, {self.spent} in all"


def _grouped(asked: Iterable[tuple[str, str, float, int | None]]) -> tuple[Asked, ...]:
    """Combine questions whose labels differ only in a number: rounds, columns, components."""
    groups: dict[tuple[str, str], list[tuple[str, str, float, int | None]]] = {}
    for each in asked:
        groups.setdefault((re.sub(r"\d+", "#", each[0]), each[1]), []).append(each)
    return tuple(
        Asked(
            label=group[0][0],
            question=kind,
            times=len(group),
            price=sum(price for _, _, price, _ in group),
            numbers=None if group[0][3] is None else sum(count or 0 for _, _, _, count in group),
        )
        for (_, kind), group in groups.items()
    )
