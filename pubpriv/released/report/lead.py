"""The first sentence of a report: the result in words, or why it should not be used."""

from pubpriv.released.digits import percent, rounded, small
from pubpriv.released.estimate import Estimate
from pubpriv.released.fitted import RegressionEstimate
from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.numbers import Z95, Number, counted, of_all, of_columns, of_quantity
from pubpriv.released.quantiles import QuantilesEstimate
from pubpriv.released.report.evidence import of_no_component, reason
from pubpriv.released.report.words import sentence

_MOST_COLUMNS, _MOST_GROUPS, _PLACED_BY = 3, 4, 2
"""Most columns and groups in a sentence, and most columns that locate a group."""

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def lead(estimate: Estimate) -> str:
    """Describe the result in a sentence or two; if every column is doubtful, say why not to use it."""
    if not estimate.usable:
        return f"Do not use these numbers: {reason(estimate)}."
    if isinstance(estimate, QuantilesEstimate):
        text = _quantiles(estimate)
    elif isinstance(estimate, RegressionEstimate):
        text = _coefficients(estimate)
    else:
        text = _groups(estimate) if isinstance(estimate, MixtureEstimate) else _columns(estimate)
    return text if estimate.converged else f"{text} But {estimate.verdict}."


def _records(estimate: Estimate) -> str:
    facts = estimate.provenance
    if estimate.is_simulation:
        return f"The {estimate.counted} simulated {estimate.counted_as}"
    return f"The {estimate.counted} {estimate.counted_as} of {facts['dataset']}"


def _columns(estimate: Estimate) -> str:
    """Means with their intervals, and standard deviations if they were released."""
    numbers = of_all(estimate.numbers())
    means = of_columns(numbers)[:_MOST_COLUMNS]
    deviations: list[Number | None] = [*of_quantity(numbers, "sd")] or [None] * len(means)
    parts = [_column(mean, sd) for mean, sd in zip(means, deviations, strict=False)]
    rest = len(estimate.columns) - len(means)
    more = f"; {counted(rest, 'more column')} below" if rest else ""
    taken = "Taken to be Gaussian, " if estimate.target == "gaussian" else ""
    records = _records(estimate)
    if taken:
        records = records[0].lower() + records[1:]
    return f"{taken}{records} have {_listed(parts)}{more}. The number after ± is half of a 95% interval."


def _coefficients(estimate: RegressionEstimate) -> str:
    """Some coefficients with their intervals: those that are surest not to be zero."""
    found = of_columns(of_all(estimate.numbers()))
    surest = sorted(found, key=lambda n: -abs(n.value) / max(n.error, 1e-300))[:_MOST_COLUMNS]
    parts = [f"{n.column} {rounded(n.value, n.error)} ± {small(Z95 * n.error)}" for n in surest]
    rest = len(found) - len(surest)
    more = f"; {counted(rest, 'more column')} below" if rest else ""
    records = _records(estimate)
    return (
        f"{estimate.outcome} changes, with one unit of each column and the others fixed, by {_listed(parts)}{more}. "
        f"These are {records[0].lower()}{records[1:]}. The number after ± is half of a 95% interval."
    )


def _column(mean: Number, deviation: Number | None) -> str:
    text = f"{mean.quantity} {mean.column} {rounded(mean.value, mean.error)} ± {small(Z95 * mean.error)}"
    if deviation is None:
        return text
    return f"{text} (standard deviation {rounded(deviation.value, deviation.error)} ± {small(Z95 * deviation.error)})"


def _quantiles(estimate: QuantilesEstimate) -> str:
    """A sentence for each of some columns."""
    records = _records(estimate)
    rest = len(estimate.columns) - _MOST_COLUMNS
    more = f" {counted(rest, 'more column')} below." if rest > 0 else ""
    told = " ".join(sentence(estimate, name) for name in estimate.columns[:_MOST_COLUMNS])
    return f"{told}{more} These are {records[0].lower()}{records[1:]}, with 95% intervals."


def _groups(estimate: MixtureEstimate) -> str:
    """Number, sizes and locations of the groups."""
    numbers, k = of_all(estimate.numbers()), estimate.n_components
    weights = of_quantity(numbers, "weight")
    chosen = [estimate.columns[i] for i in estimate.mixture.telling[:_PLACED_BY]]
    means = {(n.component, n.column): n for n in of_quantity(numbers, "mean")}
    parts = []
    for weight in weights[:_MOST_GROUPS]:
        places = [means[weight.component, name] for name in chosen]
        around = " and ".join(f"{place.column} {rounded(place.value)}" for place in places)
        share = "" if k == 1 else f"{percent(weight.value, weight.error)} of them "
        parts.append(f"{share}around {around}")
    rest = k - len(parts)
    if rest:
        parts.append(f"{_count(rest)} smaller one{'s' * (rest > 1)}")
    number = f"{_count(k)} group{'s' * (k > 1)} (components of a Gaussian mixture)"
    if estimate.diagnostics.get("private_model_chosen") is False:
        return (
            f"{_records(estimate)} show no better model than that of the public rows, which is released: {number}, "
            f"{'; '.join(parts)}."
        )
    outside = of_no_component(estimate.diagnostics)
    rest_of_them = f" {percent(*outside)} of them belong to no group, and are left out." if outside else ""
    return f"{_records(estimate)} are described by {number}: {'; '.join(parts)}.{rest_of_them}"


def _count(number: int) -> str:
    return _COUNTS[number] if number < len(_COUNTS) else f"{number:,}"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
