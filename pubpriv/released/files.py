"""Store a release in the output tree (`pubpriv.released.tree`), with its table of numbers."""

import fcntl
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubpriv.data.columns import parse_columns
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput, LedgerViolation, PubPrivError, Unavailable
from pubpriv.privacy.ledger import Ledger
from pubpriv.released.estimate import Estimate, write_atomically
from pubpriv.released.kinds import load
from pubpriv.released.report import History, page
from pubpriv.released.tree import ReleaseFiles

if TYPE_CHECKING:
    import pyarrow as pa

_INCIDENTAL = ("created", "version")
"""Parts of the provenance about the writing of the file, not about the release."""

_JUDGEMENTS = ("converged", "diagnostics", "findings", "states")
"""Parts about what a run concluded of its numbers; files of format 1 have the first two only."""

_DAY = len("2026-11-21")
"""Characters of `created` that are the date."""


def public_rows_of(estimate: Estimate, source: str | None) -> PublicTable | None:
    """Open the public rows of a release if they are still in `source`; None if not, or if there were none."""
    if source is None:
        return None
    try:
        public = PublicTable.open(source, parse_columns(estimate.columns))
    except PubPrivError:
        return None
    return public if public.sha256 == estimate.provenance["public_sha256"] else None


def store_run(
    estimate: Estimate,
    folder: str | os.PathLike[str],
    public: PublicTable | None,
    ledger: str,
    series: str | None = None,
) -> ReleaseFiles:
    """Store the release of a finished run, with the history of its budget on the page.

    Every run is stored by this function, with and without Prefect.

    Args:
        estimate: the release.
        folder: root of the tree.
        public: public rows for the page; None draws none.
        ledger: URL of the ledger that the run was charged to.
        series: series of the release; None: it has none.

    Raises:
        InvalidInput: a simulation, invalid names, or public rows of another release.
        LedgerViolation: another release is stored under this id.
        Unavailable: the disk refuses a file; storing again is safe.
    """
    with Ledger.open(ledger, create=False) as opened:
        history = History.of(opened, *(str(estimate.provenance[name]) for name in ("dataset", "release_id")))
    _store_release(estimate, folder, public, history, series)
    return ReleaseFiles.of(estimate, folder, series)


def _store_release(
    estimate: Estimate,
    folder: str | os.PathLike[str],
    public: PublicTable | None = None,
    history: History | None = None,
    series: str | None = None,
) -> Path:
    """Store a release in the output tree: model, table, page, and the series' latest copy unless that one is newer.

    An existing release is left unchanged, byte for byte: a replay changes nothing, and the latest copy never goes
    back to an older release.

    Args:
        estimate: the release.
        folder: root of the tree.
        public: public rows for the page.
        history: history of the budget for the page.
        series: series of the release; None: it has none.

    Returns:
        The path of the model file.

    Raises:
        InvalidInput: a simulation, invalid names, or public rows of another release.
        LedgerViolation: another release is stored under this id.
        Unavailable: the disk refuses a file; storing again is safe.
    """
    files = ReleaseFiles.of(estimate, folder, series)
    refused = None
    try:
        with _alone(files.model.parent):
            kept = _kept(estimate, files)
            text = None if files.page.exists() else page(kept, public, history)
            if not files.model.exists():
                kept.save(files.model)
            if not files.table.exists():
                write_atomically(files.table, _numbers_file(kept))
            if text is not None:
                write_atomically(files.page, text)
            if _newer(kept, files):
                write_atomically(files.latest, files.model.read_bytes())
    except OSError as error:
        refused = error.strerror
    if refused is not None:
        raise Unavailable(
            f"the release cannot be written to {files.model.parent} ({refused}); its answers are kept: run the same "
            f"release id {estimate.provenance['release_id']} again, which spends nothing"
        )
    return files.model


def _numbers_table(estimate: Estimate) -> "pa.Table":
    """Every released number as a row of an Arrow table, the same columns for all kinds of release.

    | column | |
    |---|---|
    | `dataset`, `release_id`, `created` | the release |
    | `target` | `gaussian` or `moments`; null if there is only one possible target |
    | `quantity` | `weight`, `mean`, `covariance`, `quantile` or `share`; for a group also `rows`, its number of rows |
    | `component` | 1 to k; null if there are no components |
    | `column`, `other_column` | columns of the data; a covariance has both, a mean the first, a weight none |
    | `value` | the estimate, in the data's own units |
    | `error_sampling`, `error_privacy`, `error_clipping`, `error_shrinkage` | standard errors by source; 0 if unknown |
    | `group` | group of rows; null for all rows |
    | `state` | `good`, `wide` or `doubtful`; null if an older version made the release |
    | `error_grid` | of a quantile: standard error from the unknown shape between two edges |
    | `rank`, `level` | of a quantile or a share; null for other quantities |
    | `low`, `high` | ends of the 95% interval of a quantile or a share; null: 1.96 standard errors on both sides |
    """
    import pyarrow as pa

    columns = {
        "dataset": pa.string(),
        "release_id": pa.string(),
        "created": pa.string(),
        "target": pa.string(),
        "quantity": pa.string(),
        "component": pa.int32(),
        "column": pa.string(),
        "other_column": pa.string(),
        "value": pa.float64(),
        "error_sampling": pa.float64(),
        "error_privacy": pa.float64(),
        "error_clipping": pa.float64(),
        "error_shrinkage": pa.float64(),
        "group": pa.string(),
        "state": pa.string(),
        "error_grid": pa.float64(),
        "rank": pa.float64(),
        "level": pa.string(),
        "low": pa.float64(),
        "high": pa.float64(),
    }
    where = *(estimate.provenance.get(name) for name in ("dataset", "release_id", "created")), estimate.target
    shown = len(columns) - len(where)
    rows = [(*where, *astuple(number)[:shown]) for number in estimate.numbers()]
    arrays = [pa.array(cells, kind) for cells, kind in zip(zip(*rows, strict=True), columns.values(), strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(columns.items())))


def _numbers_file(estimate: Estimate) -> bytes:
    """The bytes of `_numbers_table` as a Parquet file, which are the same for the same release."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(_numbers_table(estimate), buffer, compression="snappy")
    return buffer.getvalue()


def _kept(estimate: Estimate, files: ReleaseFiles) -> Estimate:
    """The stored release if there is one, after checking that it is the same; else the given one."""
    if not files.model.exists():
        return estimate
    known = load(files.model)
    judged = known.findings is not None
    if _content(known, judged) != _content(estimate, judged):
        raise LedgerViolation(
            f"{files.model} is another release under the same id: one of the two is not what the ledger answered. "
            "Check the file with `pubpriv ledger verify --model FILE`, and move it away if it is wrong"
        )
    return known


def _content(estimate: Estimate, judged: bool) -> dict[str, Any]:
    """Content of a release as read from a file, without parts that may differ when it is written again.

    Args:
        estimate: the release.
        judged: compare judgements, too. Older versions judged by other rules, and their files have no findings.
    """
    kept: dict[str, Any] = json.loads(json.dumps(estimate.to_json()))
    kept.pop("public", None)  # follows from the public rows, whose hash is in the provenance; older files lack it
    kept.pop("noise", None)  # follows from the answers, with functions whose last digit is the machine's
    for name in () if judged else _JUDGEMENTS:
        kept.pop(name, None)
    kept["provenance"] = {name: value for name, value in kept["provenance"].items() if name not in _INCIDENTAL}
    return kept


def _newer(estimate: Estimate, files: ReleaseFiles) -> bool:
    """Check that `latest` has no newer release; an unreadable file there is replaced.

    Releases are ordered by their day, and within a day by when their files were written. Models of older versions have
    the time of day: two of them are ordered by it, and then by their ids.
    """
    try:
        known = load(files.latest)
        mine, theirs = (str(each.provenance["created"]) for each in (estimate, known))
        ids = [str(each.provenance["release_id"]) for each in (estimate, known)]
        other = files.model_of(ids[1])
    except (InvalidInput, KeyError):
        return True
    if mine[:_DAY] != theirs[:_DAY]:
        return mine[:_DAY] > theirs[:_DAY]
    if len(mine) > _DAY and len(theirs) > _DAY:
        return (mine, ids[0]) > (theirs, ids[1])
    return not other.exists() or files.model.stat().st_mtime_ns > other.stat().st_mtime_ns


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock a folder, which is made if missing, for one writer at a time; the lock ends with its process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # closing is not enough if a forked process has the file too
