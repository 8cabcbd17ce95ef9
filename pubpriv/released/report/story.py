"""What a run asked, what that cost and what came out: of a model file's statement, or of a run in the ledger.

Names, prices and sizes of noise are shown, no times: how long a step took may depend on rows.
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

_WORDS = {
    "Bisection": "how far out a given share of the rows lies",
    "BoundedScore": "which of two models describes the rows better",
    "ClippedSums": "sums of the rows in each region",
    "Counts": "how many rows lie in each region",
    "FourthMoments": "how heavy the tails are: sums of fourth powers",
    "JointCounts": "how many rows lie in each region, of several ways to cut",
    "LiftedGram": "count, sums and products of columns, in each region",
    "Moments": "count, sums and squared lengths, in each region",
    "PersonSizes": "how many persons there are, by their numbers of rows",
    "Selection": "which of many candidates fits best",
    "StableCells": "which cells of a grid hold the most rows",
}
"""Questions (`data.questions`) for somebody who has not read the papers."""

_OF_ONE_ROW = ("Selection", "StableCells")
"""Questions that are no sums: of a person's rows the last is asked (`data.questions.per_person`)."""


def in_words(question: str) -> str:
    """Say what a question asks; one that has no words here keeps its name."""
    radial = re.fullmatch(r"Radial\((.+)\)", question)
    if radial is not None:
        return in_words(radial[1])
    dated = re.fullmatch(r"(.+) in ([0-9][0-9QW-]+)", question)
    if dated is not None:
        return f"{in_words(dated[1])}; rows of {dated[2]} alone"
    if question.endswith(" per person"):
        inner = question.removesuffix(" per person")
        counted = "one row of each person counts" if inner in _OF_ONE_ROW else "a person's rows share one weight"
        return f"{in_words(inner)}; {counted}"
    return _WORDS.get(question, question)


@dataclass(frozen=True)
class Asked:
    """A question that was asked, or several of one kind that differ in a number of their label.

    Attributes:
        label: of the first.
        question: its name.
        times: how many there were.
        price: of all of them, in the run's currency.
        numbers: how many noisy ones they released; None where only the ledger knows.
    """

    label: str
    question: str
    times: int
    price: float
    numbers: int | None

    @property
    def words(self) -> str:
        """What was asked, and how often."""
        return in_words(self.question) + (f" ({self.times} times)" if self.times > 1 else "")


@dataclass(frozen=True)
class Story:
    """All that a picture of a run shows.

    Attributes:
        title: what it is of.
        rows: what the private rows are; `unit`: what is protected.
        public: what the public rows are; empty where nothing is known of them.
        asked: questions in their order.
        currency: of prices.
        spent: by the run, in words.
        guarantees: of the run, and of the dataset's budget where a ledger was asked.
        outcome: what came out, a sentence each.
        meaning: the guarantee for somebody who has never heard of differential privacy.
        simulation: nothing of it is private.
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
        """Read what a model file states.

        Args:
            estimate: that was released.
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
        """Read what the ledger has of a run.

        Args:
            balance: of its dataset.
            run: finished or not.
            published: how many noisy numbers, by label.
        """
        asked = [
            (charge.label, charge.question, charge.price_run.main / UNIT, published.get(charge.label, 0))
            for charge in run.charges
        ]
        guarantee = run.allotment.guarantee([charge.event for charge in run.charges])
        numbers = f"{counted(sum(published.values()), 'noisy number')}, from which the estimate was worked out"
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
        """List questions as text: label, what was asked, cost, share of it and, where it is known, numbers released."""
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
        """Name the columns of `table_rows`."""
        numbers = any(each.numbers is not None for each in self.asked)
        return ("step", "what was asked", f"cost ({self.currency})", "share", *(("noisy numbers",) if numbers else ()))

    def summary(self) -> str:
        """Say in a sentence how much was asked and what it cost."""
        number = sum(each.times for each in self.asked)
        return f"{counted(number, 'question')} asked of {self.rows}, {self.spent} in all"


def _grouped(asked: Iterable[tuple[str, str, float, int | None]]) -> tuple[Asked, ...]:
    """Put together what differs only in a number of its label: rounds, columns, components."""
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
