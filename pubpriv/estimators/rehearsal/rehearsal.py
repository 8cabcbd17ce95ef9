"""Rehearse a run, and say in words what is likely: errors, doubtful numbers and whose fault they are, what to mend."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from pubpriv.common.lists import in_words
from pubpriv.data.columns import parse_columns
from pubpriv.data.tables import PublicTable
from pubpriv.errors import PubPrivError
from pubpriv.estimators.estimator import Estimator
from pubpriv.estimators.gaussian.hints import loses_its_tail
from pubpriv.estimators.groups.plan import parts_of
from pubpriv.estimators.rehearsal._columns import sentences_of_columns
from pubpriv.estimators.rehearsal._rows import FEWEST_ROWS
from pubpriv.estimators.rehearsal._trials import Stage, Trial
from pubpriv.estimators.settings import OF_GROUPS, Settings, chosen
from pubpriv.privacy.budgets import Budget
from pubpriv.released.numbers import Z95

_TRIALS, _FIRST = 6, 3
"""Trials of a run, and after how many of them it ends if no number was doubtful in any: more take longer, and tell the
chance of doubtful numbers more finely."""

_LIKELY = 2 / 3
"""Doubtful numbers are likely if there were some in so large a share of the trials. With a smaller share more sound
runs are stopped, with a larger one fewer doubtful ones: of open tables, three in four runs that are called so end so
(`pubpriv bench rehearsal`)."""

_MOST_COLUMNS = 20
"""Most columns of a rehearsal: twenty take five seconds, fifty half a minute."""

_BETTER = 2 / 3
"""A logarithm is advised if it leaves at most this share of the error: less is not worth other units."""

_LOGARITHMS = ("log", "ln")
"""Names of columns that are logarithms already begin so."""


@dataclass(frozen=True)
class Width:
    """What a number of a column is likely to come to.

    Attributes:
        column: its column.
        quantity: `mean`, `sd`, or `quantile`.
        rank: of a quantile; None for other quantities.
        value: median of the trials.
        half: half of the 95% interval, median of the trials.
        without_privacy: the part of it that sampling makes.
    """

    column: str
    quantity: str
    rank: float | None
    value: float
    half: float
    without_privacy: float


@dataclass(frozen=True)
class Doubt:
    """A column whose numbers are likely to be doubtful.

    Attributes:
        column: the column.
        trials: number of trials in which they were.
        reason: of the first of these.
        remedy: what would help; empty: nothing is known to.
    """

    column: str
    trials: int
    reason: str
    remedy: str


@dataclass(frozen=True)
class Rehearsal:
    """What trials of a run came to.

    Attributes:
        trials: their number; 0: there were none.
        widths: likely intervals.
        doubts: columns with numbers that were doubtful, those of most trials first.
        doubtful: number of trials with any.
        advice: sentences on what to mend before the run.
        refused: why there were no trials.
    """

    trials: int = 0
    widths: tuple[Width, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    doubtful: int = 0
    advice: tuple[str, ...] = ()
    refused: str = ""

    @property
    def likely_doubtful(self) -> bool:
        """Whether the run is likely to end with a doubtful number."""
        return self.trials > 0 and self.doubtful >= _LIKELY * self.trials

    def verdict(self) -> str:
        """Say whether doubtful numbers are likely, and of which columns."""
        if not self.trials:
            return f"no rehearsal: {self.refused}"
        if not self.doubtful:
            return f"no number was doubtful in {self.trials} rehearsals on rows like the public ones"
        how = "likely" if self.likely_doubtful else "possible"
        columns = in_words([each.column for each in self.doubts if 2 * each.trials >= self.doubtful])
        return (
            f"doubtful numbers are {how}: in {self.doubtful} of {self.trials} rehearsals on rows like the public ones "
            f"some were{f', of {columns}' if columns else ''}"
        )

    def sentences(self) -> tuple[str, ...]:
        """Say what is likely to go wrong and what would be better; empty if nothing is."""
        doubtful = (self.verdict(),) if self.doubtful else ()
        reasons = (
            f"{each.column}: {each.reason}{f'; {each.remedy}' if each.remedy else ''}"
            for each in (self.doubts if self.likely_doubtful else ())
        )
        return (*doubtful, *reasons, *self.advice)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {**asdict(self), "likely_doubtful": self.likely_doubtful, "verdict": self.verdict()}


def rehearse(
    estimator: Estimator,
    settings: Settings,
    public: PublicTable,
    n: int,
    budget: Budget,
) -> Rehearsal:
    """Run an estimator in simulation on rows like the public ones, and say what is likely.

    Args:
        estimator: the estimator; one that is not `rehearsed` is not run.
        settings: its settings; groups are not rehearsed, only their share of the budget is left out.
        public: public rows, as a run would use them.
        n: number of private rows, or of persons, who are rehearsed as one row each.
        budget: of the run.

    Privacy: free; nothing private is read.
    """
    if not len(public.rows):
        return Rehearsal(refused="there are no public rows")
    advice = sentences_of_columns(public, estimator.by_column)
    if not estimator.rehearsed:
        return Rehearsal(advice=advice, refused=f"fit {estimator.name} is not rehearsed")
    if len(public.rows) < FEWEST_ROWS:
        few = f"{len(public.rows)} public rows are too few to draw others from: it takes {FEWEST_ROWS}"
        return Rehearsal(advice=advice, refused=few)
    if len(public.columns) > _MOST_COLUMNS:
        many = (
            f"trials of {len(public.columns)} columns take longer than a few seconds: it takes {_MOST_COLUMNS} at most"
        )
        return Rehearsal(advice=advice, refused=many)
    whole = budget if getattr(settings, "by", None) is None else parts_of(budget)[0]
    stage = Stage(estimator, _whole(settings), n, whole)
    try:
        trials = _made(stage, public)
        advice = (*_logarithms(stage, public, trials), *advice)
    except PubPrivError as refused:
        return Rehearsal(advice=advice, refused=str(refused))
    doubtful = sum(bool(trial.doubts) for trial in trials)
    return Rehearsal(len(trials), _widths(trials), _doubts(trials, public.columns), doubtful, advice)


def _whole(settings: Settings) -> Settings:
    """Return the settings without groups."""
    given = chosen(settings)
    kept = {name: value for name, value in given.items() if name not in OF_GROUPS}
    return type(settings)(**kept)


def _made(stage: Stage, public: PublicTable) -> list[Trial]:
    """Make trials until enough is known."""
    trials = stage.trials(public, range(_TRIALS))
    made = list(islice(trials, _FIRST))
    return [*made, *trials] if any(trial.doubts for trial in made) else made


def _widths(trials: Sequence[Trial]) -> tuple[Width, ...]:
    """Take the medians of each number."""
    return tuple(
        Width(
            str(numbers[0].column),
            numbers[0].quantity,
            numbers[0].rank,
            float(np.median([each.value for each in numbers])),
            float(np.median([Z95 * each.error for each in numbers])),
            float(np.median([Z95 * each.sampling for each in numbers])),
        )
        for numbers in zip(*(trial.numbers for trial in trials), strict=True)
    )


def _doubts(trials: Sequence[Trial], columns: tuple[str, ...]) -> tuple[Doubt, ...]:
    """Count in how many trials each column was doubtful, with the first reason."""
    counts, first = Counter[str](), dict[str, tuple[str, str]]()
    for trial in trials:
        of_columns = {name: each for each in reversed(trial.doubts) for name in each.columns or columns}
        counts.update(of_columns.keys())
        for name, each in of_columns.items():
            first.setdefault(name, (each.text, each.remedy))
    ranked = sorted(counts, key=lambda name: (-counts[name], columns.index(name)))
    return tuple(Doubt(name, counts[name], *first[name]) for name in ranked)


def _logarithms(stage: Stage, public: PublicTable, trials: Sequence[Trial]) -> tuple[str, ...]:
    """Advise logarithms of skewed columns that were tried in their place, and were much better."""
    skewed = [
        j
        for j, column in enumerate(parse_columns(public.columns))
        if column.function is None
        and not column.source.lower().startswith(_LOGARITHMS)
        and public.rows[:, j].min() >= 0
        and loses_its_tail(public.rows[:, j])
    ]
    if not skewed:
        return ()
    rows = public.rows.copy()
    rows[:, skewed] = np.log1p(rows[:, skewed])
    names = tuple(f"log1p({name})" if j in skewed else name for j, name in enumerate(public.columns))
    tried = list(stage.trials(PublicTable(names, rows, public.dropped), range(_FIRST)))
    before, after = _excess(trials), _excess(tried)
    return tuple(
        f"log1p({public.columns[j]}) would be estimated better: its error is {after[names[j]]:.2g} times that of "
        f"sampling alone, and that of {public.columns[j]} {before[public.columns[j]]:.2g} times"
        for j in skewed
        if names[j] in after and after[names[j]] <= _BETTER * before[public.columns[j]]
    )


def _excess(trials: Sequence[Trial]) -> dict[str, float]:
    """Give how many times the error of each column's mean is that of sampling alone: a median of trials."""
    ratios = dict[str, list[float]]()
    for number in (number for trial in trials for number in trial.numbers):
        if number.quantity == "mean" and number.sampling > 0:
            ratios.setdefault(str(number.column), []).append(number.error / number.sampling)
    return {name: float(np.median(each)) for name, each in ratios.items()}
