"""The plain bundles with schemas checked on the way in; what runs without Prefect, and what tasks wrap."""

from dataclasses import replace
from typing import Any

from pubpriv.gaussian.steps import PLAIN as PLAIN_GAUSSIAN
from pubpriv.gaussian.steps import PLAIN_MEAN
from pubpriv.mixture.steps import PLAIN
from tasks.ingest import ingest_private, ingest_public

VALIDATED = replace(PLAIN, ingest_public=ingest_public, ingest_private=ingest_private)
VALIDATED_MEAN = replace(PLAIN_MEAN, ingest_public=ingest_public, ingest_private=ingest_private)
VALIDATED_GAUSSIAN = replace(PLAIN_GAUSSIAN, ingest_public=ingest_public, ingest_private=ingest_private)


def validated(kind: str) -> Any:
    """The bundle for a job of this kind: `mean`, `gaussian` or `mixture`."""
    return {"mean": VALIDATED_MEAN, "gaussian": VALIDATED_GAUSSIAN, "mixture": VALIDATED}[kind]
