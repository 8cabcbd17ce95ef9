"""Settings of `estimate_regression`: what a user may choose."""

from dataclasses import dataclass

from pubpriv.errors import InvalidInput
from pubpriv.estimators.regression._formula import Design, Levels
from pubpriv.estimators.settings import setting


@dataclass(frozen=True)
class RegressionSettings:
    """Settings of a regression."""

    outcome: str | None = setting(None, planned=True, help="Column to regress on the others. Default: the last one")
    on: tuple[str, ...] = setting(
        (), planned=True, help='Columns to regress on: age,"log1p(pay)",product(age, pay),"levels(region)"'
    )
    formula: str | None = setting(
        None, planned=True, help="Outcome and terms in one text, instead of both: log1p(y) ~ a + b + a:b"
    )
    force: bool = setting(False, help="Run even if little would come of it")

    def sources_of_terms(self) -> tuple[str, ...] | None:
        """Columns of the terms that may be of texts; None: the columns are named elsewhere."""
        design = self.design()
        return None if design is None else design.sources

    def columns_of_terms(self, levels: Levels) -> tuple[str, ...]:
        """Return the columns that the terms stand for, and last the outcome; see `Design.columns`.

        Args:
            levels: texts of the columns `sources_of_terms`.
        """
        design = self.design()
        return () if design is None else design.columns(levels)

    def design(self) -> Design | None:
        """Return outcome and terms; None: the columns are named elsewhere, and the outcome is one of them.

        Raises:
            InvalidInput: a formula beside other names, a text that is none, or regressors without an outcome.
        """
        if self.formula is not None:
            if self.on or self.outcome is not None:
                raise InvalidInput("--formula names outcome and terms: leave out --outcome and --on")
            return Design.parse(self.formula)
        if not self.on:
            return None
        if self.outcome is None:
            raise InvalidInput("--on names columns to regress on: name the outcome, too, with --outcome COLUMN")
        return Design.of_columns(self.outcome, self.on)
