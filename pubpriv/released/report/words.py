"""What a report says in sentences: headline, what to read first, how to read an error."""

from pubpriv.data.columns import parse_columns
from pubpriv.released.estimate import Estimate

SHARE = (
    "Sharing this page costs no privacy beyond what is promised above: all of it follows from answers that were paid "
    "for, from settings and from public rows."
)

METHODS = {
    "auto": "the default pipeline for mixtures",
    "two-step": "the two-step estimator of a mean",
    "learner": "the learner of a mean and covariance",
    "moments": "measuring the table's own moments",
}

ERRORS = (
    "Each number comes with a 95% interval: estimate ± 1.96 standard errors. The error has two sources, told apart: "
    "the noise that was added for privacy, whose size is known exactly, and sampling, which is there without privacy "
    "too because the table is finite. Intervals hold for each number by itself, not for all of them at once."
)


def is_simulation(estimate: Estimate) -> bool:
    """The estimate was made from rows in memory, and nothing about it is private."""
    return estimate.provenance.get("dataset") is None or "epsilon" not in estimate.privacy["guarantee"]


def what(estimate: Estimate) -> str:
    """What was released, in words."""
    columns = counted(len(estimate.columns), "column")
    if estimate.kind == "mean":
        return f"the mean of {columns}"
    if estimate.kind == "gaussian":
        return f"the mean and covariance of {columns}"
    return f"a mixture of {counted(estimate.n_components or 0, 'Gaussian component')} over {columns}"


def of_whom(estimate: Estimate) -> str:
    """`visits, release 2026-11`, or that it is a simulation."""
    told = estimate.provenance
    return "a simulation" if is_simulation(estimate) else f"{told['dataset']}, release {told['release_id']}"


def headline(estimate: Estimate) -> str:
    """The title of the page."""
    return f"{what(estimate)[0].upper()}{what(estimate)[1:]} of {of_whom(estimate)}"


def opening(estimate: Estimate) -> str:
    """The first sentence: what, from what, when."""
    told = estimate.provenance
    made = str(told.get("created", "")).replace("T", " ").replace("+00:00", " UTC")
    rows = f"{told['n_private']:,} {'simulated' if is_simulation(estimate) else 'private'} records"
    names = ", ".join(estimate.columns[:12]) + (
        f" and {len(estimate.columns) - 12} more" * (len(estimate.columns) > 12)
    )
    public = counted(told["n_public"], "public row")
    return f"Estimated on {made} from {rows} with the help of {public}, by {_how(estimate)}. Columns: {names}."


def _how(estimate: Estimate) -> str:
    """The method in words; those with a name of their own keep it."""
    name, _, rest = str(estimate.method).partition(" (")
    return METHODS.get(name, f"the method {name}") + (f" ({rest}" if rest else "")


def first_of_all(estimate: Estimate) -> list[str]:
    """What has to be known before a number is used; empty where there is nothing."""
    told = []
    if is_simulation(estimate):
        told.append("This is a simulation. Nothing about it is private: do not publish it if its rows are.")
    if not estimate.converged:
        told.append("The estimate did not converge. Do not use its numbers.")
    return told + [str(warning) for warning in estimate.diagnostics.get("warnings", [])]


def mapped_columns(estimate: Estimate) -> str | None:
    """What is to be known of columns like `log1p(cost)`; None where there are none."""
    mapped = [column for column in parse_columns(estimate.columns) if column.function]
    if not mapped:
        return None
    named = ", ".join(column.name for column in mapped)
    back = {"log1p": "expm1", "log": "exp"}[str(mapped[0].function)]
    return (
        f"Numbers of {named} are in the logarithm's units, because the rows were mapped before anything was asked; "
        f"{back}(x) takes a value back. The mean of a logarithm taken back is a middle value, not the mean."
    )


def counted(number: int, noun: str) -> str:
    """`1 column`, `2 columns`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
