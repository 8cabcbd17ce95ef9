"""Check the tables of dataset files and their columns before the first run.

Only the schema of a private table is used, which is public. If the unit is a person, it is private whether the table
has any rows, so an empty table is accepted.
"""

from collections.abc import Iterable

from pubpriv.common.column_names import text_of
from pubpriv.data.persons import person_names
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.deployments.model import Audit, Dataset
from pubpriv.errors import PubPrivError


def table_findings(models: Iterable[Dataset | Audit]) -> list[tuple[str, str]]:
    """List what is missing on this machine, as pairs of a dataset and what to do about it.

    Args:
        models: checked files.
    """
    looked_at = [(model.dataset, _finding(model)) for model in models if isinstance(model, Dataset)]
    return [(dataset, finding) for dataset, finding in looked_at if finding is not None]


def _finding(dataset: Dataset) -> str | None:
    try:
        public = PublicTable.open(dataset.public, dataset.columns)
        ids = [*map(text_of, person_names(dataset.person))]
        columns = dataset.columns or [name for name in public.columns if name not in ids]
        dates = "" if dataset.period_terms is None else text_of(dataset.period_terms.column)
        PrivateTable.open(dataset.private, columns, dataset.columns is None, dataset.person, dates=dates)
    except PubPrivError as error:
        return str(error)
    return None
