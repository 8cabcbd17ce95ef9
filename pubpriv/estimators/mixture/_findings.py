"""What a run concludes of its mixture.

Rows that are not Gaussian about their components are a note: weights, means and covariances are those of the best
mixture all the same. Numbers are doubtful where components are not where rows are, where many rows belong to none, or
where the last round could not tell.
"""

from dataclasses import replace

from pubpriv.estimators._whole_rows import of_persons
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._coverage import Coverage
from pubpriv.estimators.mixture._misfit import Fit
from pubpriv.estimators.mixture._verdict import Doubt, Verdict
from pubpriv.ledger.unit import Size
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding

_UNEXPLAINED = 1e-3
"""A share of rows beyond what the model explains that is worth a figure."""

INCOMPLETE = Finding(
    "incomplete",
    (),
    DOUBTFUL,
    "not all components were found, or what was measured of them cannot be relied on",
    remedy="more rows, a larger budget or fewer components",
)


def findings_of(
    last: Round, measured: bool, fit: Fit, covered: Coverage, verdict: Verdict, size: Size
) -> tuple[Finding, ...]:
    """Say what makes a mixture doubtful.

    Args:
        last: the round that was measured last, with what was read of tails.
        measured: the released model is that round's, not the model of the public rows.
        fit: its test against counts of private rows.
        covered: whether rows were seen away from all public ones.
        verdict: judgement of the round.
        size: of the table.
    """
    found = []
    if not fit.fits:
        found.append(_misfit(fit))
    if last.outside is not None and not last.outside.few(last.rows):
        share = last.outside.share(last.rows)
        text = f"{share:.2%} of the records belong to no component: too many to be outliers"
        found.append(_doubt("many-outside", text, "look for what these rows are", share=share))
    if last.tails is not None and last.tails.crowded:
        text = "a second group of rows lies far out among those of components"
        found.append(_doubt("second-group", text, "ask for one more component"))
    if not (covered.complete or fit.explains):
        text = "some of the records lie where no public row is, and no component could be found there"
        found.append(_doubt("uncovered", text, "public rows from there, or a larger budget"))
    if not measured:
        text = "the private records support no better model than that of the public rows, which is released"
        found.append(_doubt("public-model", text, "more private rows, or a larger budget"))
    found += [_of_last_round(doubt, measured) for doubt in verdict.doubts]
    return *found, *of_persons(size)


def _of_last_round(doubt: Doubt, measured: bool) -> Finding:
    """Make a finding of a doubt, whose last sentence, if it has two, says what would help."""
    text, _, remedy = doubt.text.partition(". Give ")
    found = _doubt(
        "last-round", text, f"give {remedy}" if remedy else "more rows, a larger budget, or fewer components"
    )
    return replace(found, components=doubt.components, quantities=doubt.quantities) if measured else found


def _misfit(fit: Fit) -> Finding:
    more = fit.unexplained if fit.unexplained >= _UNEXPLAINED else 0.0
    unexplained = f", and about {more:.2g} of the records are not explained by it" if more else ""
    if not fit.wrong:
        text = f"rows are not spread about their components as Gaussians are{unexplained}"
        return Finding("not-gaussian", (), NOTE, text, {"unexplained": fit.unexplained})
    text = "a component stands for several, or lies where none is" if fit.hollow else "the model does not fit"
    return _doubt(
        "misfit", text + unexplained, "more components, or a map of skewed columns", unexplained=fit.unexplained
    )


def _doubt(code: str, text: str, remedy: str, **figures: float) -> Finding:
    return Finding(code, (), DOUBTFUL, text, figures, remedy=remedy)
