"""Names of task runs, as Prefect's UI shows them."""

import re
from typing import Any

from pubpriv.tasks.runner import PRIVATE


def title_of(run: Any) -> str:
    """`partition` of the run `9. partition [private]`; other names are as they are."""
    return re.sub(r"^\d+\. ", "", run.name).removesuffix(PRIVATE)
