"""Sentences of a report: headline, opening, warnings, answers to common questions, columns in words."""

from statistics import median

from pubpriv.data.columns import parse_columns
from pubpriv.released.digits import percent, rounded
from pubpriv.released.estimate import Estimate
from pubpriv.released.numbers import MISSING, Number, counted, of_all, of_columns, of_quantity
from pubpriv.released.quantiles import QuantilesEstimate

_METHODS = {
    "auto": "the default pipeline for mixtures",
    "two-step": "the two-step estimator of a mean",
    "declared-bounds": "one sum between the declared bounds",
    "quantiles": "counts of cells that close in on the ranks",
    "learner": "the learner of a mean and covariance",
    "moments": "measuring the table's own moments",
    "no-public": "a search for the columns, and the learner of a mean and covariance from there",
}


_PARTS = {0.1: "A tenth", 0.25: "A quarter", 0.5: "Half", 0.75: "Three quarters", 0.9: "Nine tenths"}
"""Ranks that have a word."""

_MOST_LEVELS = 4
"""Most levels in a sentence."""

_FEWEST = 0.005
"""Smallest share of missing cells of which a sentence speaks."""


def headline(estimate: Estimate) -> str:
    """Return the title of the page."""
    return f"{estimate.subject[0].upper()}{estimate.subject[1:]} of {estimate.of_whom}"


def opening(estimate: Estimate) -> str:
    """Return the opening sentence: what was estimated, when, from which rows and how."""
    facts = estimate.provenance
    made = str(facts.get("created", "")).replace("T", " ").replace("+00:00", " UTC")
    rows = f"{estimate.counted} {'simulated' if estimate.is_simulation else 'private'} {estimate.counted_as}"
    names = ", ".join(estimate.columns[:12]) + (
        f" and {len(estimate.columns) - 12} more" * (len(estimate.columns) > 12)
    )
    public = facts["n_public"]
    helped = f"with the help of {counted(public, 'public row')}" if public else "without public rows"
    what = f"{estimate.estimand[0].upper()}{estimate.estimand[1:]}"
    return f"{what}: estimated on {made} from {rows} {helped}, by {_how(estimate)}. Columns: {names}."


def _how(estimate: Estimate) -> str:
    """The method in words, or its own name."""
    name, _, rest = str(estimate.method).partition(" (")
    return _METHODS.get(name, f"the method {name}") + (f" ({rest}" if rest else "")


def warnings(estimate: Estimate) -> list[str]:
    """Return warnings to read before using a number; empty if there are none."""
    found = []
    if estimate.is_simulation:
        found.append("This is a simulation. Nothing about it is private: do not publish it if its rows are.")
    if not estimate.usable:
        found.append("Do not use its numbers: all columns are doubtful.")
    elif not estimate.converged:
        found.append(f"Do not use the numbers of doubtful columns: {estimate.verdict}.")
    return found + [str(warning) for warning in estimate.diagnostics.get("warnings", [])]


def mapped_columns(estimate: Estimate) -> str | None:
    """Return a remark about columns like `log1p(cost)`; None if there are none."""
    mapped = [column for column in parse_columns(estimate.columns) if column.function and not column.levels]
    if not mapped:
        return None
    named = ", ".join(column.name for column in mapped)
    back = {"log1p": "expm1(x)", "log": "exp(x)", "sqrt": "x squared"}
    ways = [
        f"{back[name]} for {name}" for name in dict.fromkeys(str(column.function) for column in mapped) if name in back
    ]
    text = f"Numbers of {named} are in the units of the map, because the rows were mapped before anything was asked"
    if not ways:
        return f"{text}."
    return (
        f"{text}; to map a value back: {', '.join(ways)}. A mean that is mapped back is a middle value, not the mean: "
        "of a logarithm it is the geometric mean, and of a root the mean is that of the squares."
    )


def glance(estimate: Estimate, protected: str, budget: str) -> list[tuple[str, str]]:
    """Answer a hurried reader's questions: may it be used, what is protected, what did privacy cost, what is left.

    Args:
        estimate: the release.
        protected: sentence on the most that somebody could find out; empty for a simulation.
        budget: sentence on the remaining budget of the dataset; empty if no ledger was read.
    """
    use = f"{'In part' if estimate.usable else 'No'}: {estimate.verdict}."
    if estimate.converged:
        use = "Yes, once the warnings are read" if warnings(estimate) else "Yes, it came with no warning"
        use += "." if estimate.states is None else f": {estimate.verdict}."
    if estimate.is_simulation:
        use = "Only for trying things out: it is a simulation."
    unit = str(estimate.privacy["unit"])
    asked = [
        ("May it be used?", use),
        ("What is protected?", f"{unit[:1].upper()}{unit[1:]}. {protected}" if protected else "Nothing."),
        ("What did privacy cost?", _wider(estimate)),
        ("What is left?", budget),
    ]
    return [(question, answer) for question, answer in asked if answer]


def _wider(estimate: Estimate) -> str:
    """Say how much wider intervals of means are than from sampling alone, as the median over columns."""
    means = of_columns(of_all(estimate.numbers()))
    ratios = [number.error / number.sampling for number in means if number.sampling]
    if not ratios:
        return ""
    wider = median(ratios) - 1
    if wider < 0.005:
        return f"Next to nothing: intervals of {means[0].quantity}s are as wide as without privacy."
    return f"Intervals of {means[0].quantity}s that are {wider:.0%} wider than sampling alone would make them (median)."


def sentence(estimate: QuantilesEstimate, column: str) -> str:
    """Describe a column: its middle, values with many rows, missing cells.

    For example: `Half of income lie at or below 21,200 (19,960 to 22,620).`
    """
    own = [n for n in of_all(estimate.numbers()) if n.column == column]
    shares = [n for n in of_quantity(own, "share") if n.level != MISSING]
    lacking = next((n for n in of_quantity(own, "share") if n.level == MISSING and n.interval[0] > _FEWEST), None)
    rest = "" if lacking is None else f"; {share_in_words(lacking)} of all rows have none"
    if column in estimate.unranked:
        first = sorted(shares, key=lambda n: -n.value)[:_MOST_LEVELS]
        more = f", and {len(shares) - len(first)} more" if len(shares) > len(first) else ""
        text = ", ".join(f"{share_in_words(n)} {n.level}" for n in first)
        return f"Of {own[0].source}, {text}{more}{rest}."
    middle = min(of_quantity(own, "quantile"), key=lambda n: abs((n.rank or 0.0) - 0.5))
    rank = middle.rank or 0.0
    part = _PARTS.get(rank, percent(rank))
    text = f"{part} of {column} lie at or below {with_interval(middle)}"
    told = [(n, "" if str(n.level).startswith(">") else "exactly ") for n in shares]
    text += "".join(f"; {share_in_words(n)} are {exactly}{n.level}" for n, exactly in sorted(told, key=_told_first)[:2])
    return f"{text}{rest}."


def _told_first(share: tuple[Number, str]) -> tuple[bool, float]:
    """Order shares: what lies above a value that was asked for, then values by their shares."""
    return bool(share[1]), -share[0].value


def value_in_words(number: Number) -> str:
    """Write a value to two digits of its error."""
    return rounded(number.value, number.error)


def with_interval(number: Number) -> str:
    """Write a number and its interval to two digits of its error."""
    low, high = (rounded(end, number.error) for end in number.interval)
    return f"{value_in_words(number)} ({low} to {high})"


def share_in_words(number: Number) -> str:
    """Write a share as a percentage, with its interval."""
    low, high = (percent(end, number.error) for end in number.interval)
    return f"{percent(number.value, number.error)} ({low} to {high})"
