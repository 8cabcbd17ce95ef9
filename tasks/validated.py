"""The plain bundle with schemas checked on the way in; what runs without Prefect, and what tasks wrap."""

from dataclasses import replace

from pubpriv.mixture.steps import PLAIN
from tasks import ingest

VALIDATED = replace(PLAIN, ingest_public=ingest.ingest_public, ingest_private=ingest.ingest_private)
