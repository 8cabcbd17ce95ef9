"""How a release is kept in the output tree (`pubpriv.released.tree`), and what its table of numbers looks like."""

import fcntl
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
"""Parts of the provenance that say when and by which version a file was written, not what was released."""

_DAY = len("2026-11-21")
"""So much of `created` is the date."""


def public_rows_of(estimate: Estimate, source: str | None) -> PublicTable | None:
    """Open the public rows that a release was made with, if they are still in `source`; None too where none were."""
    if source is None:
        return None
    try:
        public = PublicTable.open(source, estimate.columns)
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
    """Keep the release of a run that came to its end, with the history of its budget on the page.

    This is how every run is kept, with and without Prefect.

    Args:
        estimate: that was released.
        folder: root of the tree.
        public: for the page; None draws none.
        ledger: URL of the ledger that the run was charged to.
        series: that the release belongs to; None: to none.

    Raises:
        InvalidInput: a simulation, bad names, or public rows of another release.
        LedgerViolation: another release is kept under this id.
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
    """Keep a release in the output tree: model, table, page, and the series' latest if none there is newer.

    A release that is there already is left as it is, to the byte: a replay changes nothing, and the latest never
    goes back to an older one.

    Args:
        estimate: that was released.
        folder: root of the tree.
        public: for the page.
        history: for the page.
        series: that the release belongs to; None: to none.

    Returns:
        The model file.

    Raises:
        InvalidInput: a simulation, bad names, or public rows of another release.
        LedgerViolation: another release is kept under this id.
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
                write_atomically(files.latest, files.model.read_text())
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
    | `dataset`, `release_id`, `created` | of which release |
    | `target` | what was estimated, `gaussian` or `moments`; null where nothing else could be meant |
    | `quantity` | `weight`, `mean` or `covariance`; of a group `rows`, how many it has |
    | `component` | 1 to k; null where there are no components |
    | `column`, `other_column` | of the data; a covariance has both, a mean the first, a weight none |
    | `value` | the estimate, in the data's own units |
    | `error_sampling`, `error_privacy`, `error_clipping`, `error_shrinkage` | standard errors by source; 0 if unknown |
    | `group` | of which rows; null where of all |
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
    }
    where = *(estimate.provenance.get(name) for name in ("dataset", "release_id", "created")), estimate.target
    rows = [(*where, *astuple(number)) for number in estimate.numbers()]
    arrays = [pa.array(cells, kind) for cells, kind in zip(zip(*rows, strict=True), columns.values(), strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(columns.items())))


def _numbers_file(estimate: Estimate) -> bytes:
    """`_numbers_table` as a Parquet file; the same release gives the same bytes."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(_numbers_table(estimate), buffer, compression="snappy")
    return buffer.getvalue()


def _kept(estimate: Estimate, files: ReleaseFiles) -> Estimate:
    """Read the release from its file, if there is one."""
    if not files.model.exists():
        return estimate
    known = load(files.model)
    if _content(known) != _content(estimate):
        raise LedgerViolation(
            f"{files.model} is another release under the same id: one of the two is not what the ledger answered. "
            "Check the file with `pubpriv ledger verify --model FILE`, and move it away if it is wrong"
        )
    return known


def _content(estimate: Estimate) -> dict[str, Any]:
    """What was released, without what two writings of it may differ in; as it reads back from a file."""
    kept: dict[str, Any] = json.loads(json.dumps(estimate.to_json()))
    kept.pop("public", None)  # follows from the public rows, which the provenance names; older versions kept none
    kept["provenance"] = {name: value for name, value in kept["provenance"].items() if name not in _INCIDENTAL}
    return kept


def _newer(estimate: Estimate, files: ReleaseFiles) -> bool:
    """No newer release is in `latest`; a file there that cannot be read is replaced.

    Releases are ordered by the day on which they were made, those of one day by when their files were written.
    Models of older versions have the time of day: two of them go by that, and then by their ids.
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
    """One writer at a time in a folder, which is made if it is missing; a writer that dies leaves it free."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # closing would not do where a forked process has the file too
