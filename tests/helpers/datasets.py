"""Dataset files as a test writes them: five lines that are the same everywhere, and what is its own."""

import json
from pathlib import Path
from typing import Any

MEAN = {"name": "mean", "estimator": "mean", "allotment": "zcdp:0.1"}
"""A release by hand, the cheapest there is."""


def write_dataset(into: Path, name: str, tables: Path, cap: str, *releases: dict[str, Any], **more: object) -> Path:
    """Write `NAME.yaml`.

    Args:
        into: folder of dataset files.
        name: of the dataset.
        tables: folder of `NAME-private.parquet` and `NAME-public.parquet`, which `more` may replace.
        cap: of the budget.
        releases: as they stand in the file.
        more: other fields of it.
    """
    files = {part: tables / f"{name}-{part}.parquet" for part in ("private", "public")}
    fields = {"dataset": name, "unit": "one patient", "cap": cap} | files | more | {"releases": releases}
    file = into / f"{name}.yaml"
    file.write_text(json.dumps(fields, indent=1, default=str))  # which is YAML too
    return file
