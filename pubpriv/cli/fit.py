"""`pubpriv fit`: estimate, and write a model; a command for each estimator."""

from collections.abc import Callable
from typing import Any

import typer

from pubpriv.cli.derived import settings_from, with_settings
from pubpriv.cli.fit_common import (
    BudgetOption,
    DaskOption,
    DatasetOption,
    OutOption,
    OverwriteOption,
    PlainOption,
    PrefectOption,
    PrivateOption,
    PublicOption,
    ReleaseIdOption,
    execute,
    through_prefect,
)
from pubpriv.cli.options import ColumnsOption, LedgerOption, ledger_url
from pubpriv.cli.verbosity import LogJsonOption, QuietOption, VerboseOption, voice_of
from pubpriv.estimators import ESTIMATORS, Estimator

app = typer.Typer(
    no_args_is_help=True, help=f"Estimate from a private table: {', '.join(each.name for each in ESTIMATORS)}."
)


def _fit(estimator: Estimator) -> Callable[..., None]:
    def fit(
        private: PrivateOption,
        public: PublicOption,
        budget: BudgetOption,
        dataset: DatasetOption,
        out_: OutOption = None,
        ledger: LedgerOption = None,
        columns: ColumnsOption = None,
        release_id: ReleaseIdOption = None,
        plain: PlainOption = False,
        prefect: PrefectOption = False,
        dask: DaskOption = None,
        overwrite: OverwriteOption = False,
        quiet: QuietOption = False,
        verbose: VerboseOption = False,
        log_json: LogJsonOption = False,
        **given: Any,
    ) -> None:
        from pubpriv.data.columns import split_columns
        from pubpriv.estimators.jobs import Job
        from pubpriv.ledger import new_release_id

        voice, flown = voice_of(quiet, verbose, log_json), through_prefect(plain, prefect)
        job = Job(
            estimator,
            private,
            public,
            None if columns is None else tuple(split_columns(columns)),
            budget,
            dataset,
            ledger_url(ledger),
            new_release_id() if release_id is None else release_id,
            settings_from(estimator, given),
            dask,
        )
        execute(job, out_, flown, overwrite, voice)

    return fit


for each in ESTIMATORS:
    app.command(each.name, help=each.help)(with_settings(_fit(each), each))
