"""One table under other names: can it get a second budget, be read as public, or count a record twice?

Or records that are no longer part of it, in files that its log has given up?

A private file can be reached by links, folders, globs and URLs, and a handle can be built by hand. Under any name, the
ledger must recognise the table before rows are read for another dataset.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from pubpriv.audit._worlds import DATASET, World, world
from pubpriv.audit.finding import Claims, Finding, promised, refuses
from pubpriv.curator import RunHandle
from pubpriv.data.columns import parse_columns
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput, SpecMismatch, Unavailable
from pubpriv.estimators.mean.driver import estimate_mean
from pubpriv.privacy.budgets import Budget, ZeroConcentratedDP

_ONE = ZeroConcentratedDP(1)
_COLUMNS = ["x0", "x1"]
_REFUSALS = InvalidInput, SpecMismatch, Unavailable


def findings(fast: bool, seed: int) -> Iterator[Finding]:  # noqa: ARG001 - a fast audit tries all of them
    """Try each promise in a folder of its own, in which links to its private file are made."""
    rows = np.random.default_rng(seed).normal(0.0, 3.0, (40, 2))
    for name, story in _PROMISES.items():
        with world(rows, _ONE) as place:
            yield promised("names", name, story(place))


def _file_of(place: World) -> Path:
    """The private file."""
    return Path(place.table.uri)


def _names_of(place: World) -> dict[str, str]:
    """Other names of the private file, by what they are."""
    file = _file_of(place)
    folder, links, hard = file.parent, file.parents[1] / "links", file.parents[1] / "hard"
    links.mkdir(exist_ok=True)
    _linked(os.symlink, file, links / "link.parquet")
    _linked(os.symlink, links, folder.parent / "folders")
    stem = f"{folder}/{file.stem}"
    hard.mkdir(exist_ok=True)
    by_hard_link = {"a hard link": f"{hard}/hard.parquet", "a folder with a hard link": f"{hard}"}
    return (by_hard_link if _linked(os.link, file, hard / "hard.parquet") else {}) | {
        "its folder": f"{folder}",
        "a way around": f"{links}/../{folder.name}/{file.name}",
        "a link": f"{links}/link.parquet",
        "a folder of links": f"{links}",
        "a link to a folder of links": f"{folder.parent}/folders",
        "a glob with *": f"{folder}/*.parquet",
        "a glob with ?": f"{stem[:-1]}?.parquet",
        "a glob with **": f"{folder.parent}/{folder.name}/**",
        "a glob with a set": f"{folder}/[{file.name[0]}]{file.name[1:]}",
        "a glob with a set of one bracket": f"{folder}/[!]]{file.name[1:]}",
        "a glob that begins with a bracket": f"{folder}/[]{file.name[0]}]{file.name[1:]}",
        "a glob of links": f"{links}/l*.parquet",
        "a URL": f"file://{file}",
        "a URL with a host": f"file://localhost{file}",
        "a URL in capitals": f"FILE://{file}",
        "a URL in part": f"file:{file}",
        "a URL of percents": f"file://{folder}/%{ord(file.name[0]):x}{file.name[1:]}",
        "a local URL": f"local://{file}",
        "a local URL by its class": f"LocalFS://{file}",
        "a chain of stores": f"simplecache::file://{file}",
        "a way through the process": f"/proc/self/root{file}",
    }


def _linked(make: Callable[[Path, Path], None], file: Path, link: Path) -> bool:
    """Make a link, once; false where the temporary folder's file system knows none of its kind."""
    with suppress(OSError):
        make(file, link)
    return link.exists()


def _second_budgets(place: World) -> Claims:
    """Whatever the name: it cannot be opened, or the ledger knows whose table it is."""
    for number, (what, name) in enumerate(_names_of(place).items()):

        def register(name: str = name, number: int = number) -> None:
            # that it looks like a copy must not be what stops it
            place.ledger.register(f"other-{number}", _ONE, PrivateTable.open(name, _COLUMNS), another_table=True)

        yield f"{what}: no second budget", refuses(register, *_REFUSALS)


def _by_hand(place: World) -> Claims:
    """A table whose handle was written by hand has the name that an opened one has."""
    file, columns = _file_of(place), parse_columns(_COLUMNS)
    for what, uri in (
        ("a way around", f"{file.parent}/../{file.parent.name}/{file.name}"),
        ("a URL", f"file://{file}"),
    ):

        def register(uri: str = uri) -> None:
            table = PrivateTable(uri, columns, place.table.n_rows)
            place.ledger.register("by-hand", _ONE, table, another_table=True)

        yield f"{what}, by hand: no second budget", refuses(register, *_REFUSALS)


def _published(place: World) -> Claims:
    """Rows of a private table are no public rows: of the run's own table, and of another dataset's."""
    other = _decoy(place, _ONE)
    curator = place.enter("r", _ONE)
    for what, name in {**_names_of(place), "another dataset's table": f"{other}", "a link to it": _link(other)}.items():
        yield f"{what}: not read as public", refuses(partial(_estimate, name, curator), *_REFUSALS)
    rows = PublicTable.open(other, _COLUMNS)
    yield "rows that were read before: not taken as public", refuses(partial(_estimate, rows, curator), *_REFUSALS)
    yield "nothing was charged", place.spent == 0


def _estimate(public: object, curator: object) -> None:
    # forced, so that only the names of the tables can stop it
    estimate_mean(public, curator, covariance="identity", force=True)  # type: ignore[arg-type]


def _link(file: Path) -> str:
    link = file.parent.parent / "public.parquet"
    _linked(os.symlink, file, link)
    return f"{link}"


def _decoy(place: World, budget: Budget) -> Path:
    """The file of another dataset, `decoy`, with the same rows."""
    file = _file_of(place).parents[1] / "elsewhere" / "decoy.parquet"
    file.parent.mkdir()
    file.write_bytes(_file_of(place).read_bytes())
    place.ledger.register("decoy", budget, PrivateTable.open(file, _COLUMNS), another_table=True)
    return file


def _handles(place: World) -> Claims:
    """A handle that names another dataset's run, other columns, or no run at all opens nothing."""
    _decoy(place, ZeroConcentratedDP(10**6))
    place.ledger.run("decoy", "r").open(ZeroConcentratedDP(10**5))
    place.enter("r", _ONE)
    reference = place.ledger.reference
    for what, handle in {
        "a table under another dataset's run": RunHandle(reference, "decoy", "r", place.table),
        "the same by another name": RunHandle(
            reference, "decoy", "r", replace(place.table, uri=f"file://{place.table.uri}")
        ),
        "columns that are not declared": RunHandle(
            reference, DATASET, "r", PrivateTable(place.table.uri, parse_columns(["other"]), place.table.n_rows)
        ),
        "a run that was never opened": RunHandle(reference, DATASET, "nobody", place.table),
    }.items():
        yield f"{what}: refused", refuses(handle.open, *_REFUSALS)


def _counted_twice(place: World) -> Claims:
    """A file and a link to it in one folder are one file."""
    file = _file_of(place)
    for what, make in (("a link", os.symlink), ("a hard link", os.link)):
        folder = file.parents[1] / what.replace(" ", "-")
        folder.mkdir()
        (folder / "a.parquet").write_bytes(file.read_bytes())
        if not _linked(make, folder / "a.parquet", folder / "b.parquet"):
            continue
        try:
            rows = PrivateTable.open(folder, _COLUMNS).n_rows
        except _REFUSALS:
            rows = place.table.n_rows
        yield f"a file and {what} to it: rows count once", rows == place.table.n_rows


def _given_up(place: World) -> Claims:
    """Files in a folder with the log of a table are not read, by whatever name: the log says which are current."""
    for entry in ("_delta_log/00000000000000000000.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"):
        folder = _file_of(place).parents[1] / "lake" / entry.partition("/")[0].strip("._")
        log, rows = folder / "table" / entry, folder / "table" / "data" / "old.parquet"
        for file in (log, rows):
            file.parent.mkdir(parents=True)
        log.write_text("{}")
        rows.write_bytes(_file_of(place).read_bytes())
        for what, name in {
            "the table": folder / "table",
            "a folder above it": folder,
            "a folder below it": rows.parent,
            "a file of it": rows,
            "a glob": folder / "*" / "data" / "*.parquet",
        }.items():
            for whose, open_ in (("private", PrivateTable.open), ("public", PublicTable.open)):
                refused = refuses(partial(open_, f"{name}", _COLUMNS), *_REFUSALS)
                yield f"{what}, {whose}, beside {log.parent.name}: not read", refused


_PROMISES: dict[str, Callable[[World], Claims]] = {
    "other names of a table get no second budget": _second_budgets,
    "tables made by hand get no second budget": _by_hand,
    "no private table is read as public": _published,
    "handles open their own table only": _handles,
    "a file with two names counts once": _counted_twice,
    "files that a table's log gave up are not read": _given_up,
}
