"""Look for the tables of dataset files, and for their columns, before the first run does.

Of a private table only its schema is looked at, which is public.
"""

from collections.abc import Iterable

from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.deployments.model import Audit, Dataset
from pubpriv.errors import PubPrivError


def table_findings(models: Iterable[Dataset | Audit]) -> list[tuple[str, str]]:
    """List what is missing where this command runs, as pairs of a dataset and what to do about it.

    Args:
        models: checked files.
    """
    looked_at = [(model.dataset, _finding(model)) for model in models if isinstance(model, Dataset)]
    return [(dataset, finding) for dataset, finding in looked_at if finding is not None]


def _finding(dataset: Dataset) -> str | None:
    try:
        public = PublicTable.open(dataset.public, dataset.columns)
        PrivateTable.open(dataset.private, public.columns, dataset.columns is None)
    except PubPrivError as error:
        return str(error)
    return None
