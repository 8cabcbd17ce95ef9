"""Names of tables: one canonical name for each table, and a test whether two names could mean the same file.

The ledger keeps one budget for a table, so a table must not have two names; and no private file may be read as a
public one. Files are identified here, but never opened.

A name is an absolute path, the URL of an object store, that of a version of a table with a log (`lake_names`), or that
of a sheet or of a table in a database (`inner_names`). `*`,
`?` and `[...]` in it are always wildcards: if the file's own name contains one of these, the character is written in
brackets, `visits[[]1].parquet` for `visits[1].parquet`.
"""

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import unquote

from pubpriv.common.inner_names import DUCKDB, EXCEL, POSTGRES, WORKBOOKS, InnerName, names_database
from pubpriv.common.lake_names import LakeName, identity_of, location_of
from pubpriv.common.table_logs import OnDisk, refuse_logged
from pubpriv.common.urls import canonical_url, common, compared_parts, has_credentials
from pubpriv.errors import InvalidInput

_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; AWS_REGION; AWS_ENDPOINT_URL for other stores",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET, or a managed identity",
    "postgresql": "PGUSER, and PGPASSWORD or a file ~/.pgpass; PGSSLMODE",
}
"""Environment variables for the credentials of each kind of store, by scheme, for messages."""

IN_MEMORY = "frame://"
"""Prefix of the names of private tables in memory."""

_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
"""How CSV files with such an ending of their names are compressed."""

_KINDS = {
    "Parquet": (".parquet", ".pq"),
    "CSV": (".csv", *(f".csv{end}" for end in _COMPRESSED)),
    "Feather": (".feather", ".arrow", ".ipc"),
    "SPSS": (".sav", ".zsav"),
    "Stata": (".dta",),
    "SAS": (".sas7bdat", ".xpt"),
    EXCEL: WORKBOOKS,
}
"""Endings of file names for each kind of table."""

_OTHERS = (
    (("xls", "xlsb", "ods", "numbers"), "a spreadsheet: save it as .xlsx, or its sheet as CSV, in UTF-8"),
    (("tsv", "tab"), "text with tabs between its cells: write commas, and let its name end with .csv"),
    (("txt", "dat", "psv"), "text: if commas separate its cells, let its name end with .csv; else write it so"),
    (("json", "jsonl", "ndjson", "xml", "yaml", "yml"), "text of another kind: write it as Parquet or CSV"),
    (("por", "rds", "rdata", "mat"), "of statistics software: export it as CSV"),
    (("orc", "avro", "h5", "hdf5", "pkl", "pickle", "npy", "npz"), "of another format: write it as Parquet"),
    (("duckdb", "ddb"), "a database: name a table in it, duckdb:///FILE#TABLE"),
    (("db", "sqlite", "sqlite3", "mdb", "accdb"), "a database: export the table as Parquet or CSV"),
    (
        ("gz", "zst", "zip", "bz2", "xz", "7z", "lz4", "tar"),
        "compressed: of such files .csv.gz and .csv.zst are read",
    ),
)
"""What files with other endings are, and what to do about them."""

_ENDS = tuple(end for ends in _KINDS.values() for end in ends)

ENDS = ", ".join(_ENDS)
"""Endings of the names of files that are read in a folder, for messages."""

_NAMED = 5
"""Most files that are named."""

_HIDDEN = (".", "_")
"""First characters of file and folder names that are skipped: caches, temporary files and success markers."""

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_FILE = re.compile(r"file://(?:localhost)?(/.*)", re.DOTALL | re.IGNORECASE)
_OTHERWISE_LOCAL = re.compile(r"(?:file|local):", re.IGNORECASE)
_SETTING = re.compile(r"\?[^/?]*=")
_WILD = re.compile(r"\[!?+\]?+[^]]*\]|.", re.DOTALL)
"""One item of a glob, as `fnmatch` reads it: a set in brackets, or a character."""

_ESCAPED = {"[*]": "*", "[?]": "?", "[[]": "["}
"""Spellings for wildcard characters themselves."""

_ANY, _ONE = "any", "one"
"""Items for any number of characters, and for one character; longer than a character, so not confused with one."""


# --- one name for one table


def refuse_credentials(uri: str) -> None:
    """Refuse a URL with more than a location; the message does not repeat the URL.

    Raises:
        InvalidInput: a user or password before an @, settings after a question mark, or a chain of stores, which
            would keep copies of private rows on disk.
    """
    uri = uri if names_database(uri) else location_of(uri)
    scheme, separator, rest = uri.partition("://")
    if not separator and not has_credentials(uri):
        return
    if "::" in uri:
        raise InvalidInput("the URL of a table names one store; with :: in it, copies of rows might be kept on disk")
    scheme = "postgresql" if scheme.lower().startswith("postgres") else common(scheme)
    user, _, _ = rest.partition("/")[0].rpartition("@")
    container = scheme in ("abfs", "hdfs", "viewfs") and ":" not in user
    if (user and not container) or has_credentials(uri) or _SETTING.search(rest):
        known = _CREDENTIALS.get(scheme, "as the store's own tools do")
        raise InvalidInput(
            "the URL of a table carries no credentials and no settings, because it is kept and shown: leave out what "
            f"comes before @ and after ?, and set them in the environment of the process that reads ({known}), or "
            "give its machine a role"
        )


def canonical(uri: str) -> str:
    """Return the canonical name of a table; a canonical name is returned unchanged.

    A `file://` URL becomes a local path. A local path is made absolute, with links resolved up to the first wildcard;
    characters of real names that would be wildcards are put in brackets. For other URLs see `canonical_url`.

    Raises:
        InvalidInput: see `refuse_credentials`; another way to write a local path, an unknown store, or an existing
            file whose name reads as a glob.
    """
    if not isinstance(uri, str) or "\0" in uri or not uri.strip():
        raise InvalidInput("the name of a table is a path or a URL, and a text")
    refuse_credentials(uri)
    lake, inner = LakeName.of(uri), InnerName.of(uri)
    if lake is not None:
        return str(replace(lake, folder=_canonical_folder(lake)))
    if inner is not None:
        return str(_canonical_inner(inner))
    file, url = _FILE.fullmatch(uri), _URL.fullmatch(uri)
    if file:
        uri = unquote(file[1])
        if "\0" in uri:
            raise InvalidInput("the name of a table is a path or a URL, and a text")
    elif _OTHERWISE_LOCAL.match(uri):
        raise InvalidInput("write a local table as its path, or as file:///PATH from the root: it has one name only")
    elif url:
        in_memory = f"{url[1].lower()}://" == IN_MEMORY
        return IN_MEMORY + url[2] if in_memory else canonical_url(url[1], url[2])
    return _canonical_path(os.path.expanduser(uri))


def identified(uri: str) -> str:
    """Return the canonical name under which the ledger knows a table: one for all versions of a table with a log.

    Raises:
        InvalidInput: see `canonical`.
    """
    return identity_of(canonical(uri))


def _canonical_folder(lake: LakeName) -> str:
    folder = canonical(lake.folder)
    if is_in_memory(folder) or is_web(folder) or LakeName.of(folder) or root_and_pattern(folder)[1]:
        raise InvalidInput(
            f"a table of {lake.format} is in one folder, of a disk or an object store: {lake.kind}:FOLDER"
        )
    return folder


def _canonical_inner(inner: InnerName) -> InnerName:
    if inner.kind == POSTGRES:
        return inner
    place = canonical(inner.location)
    if is_in_memory(place) or root_and_pattern(place)[1] or (inner.kind == DUCKDB and is_url(place)):
        raise InvalidInput(f"a table inside of a file of {inner.kind} is in one file: write its path before the #")
    return replace(inner, location=place)


def _canonical_path(path: str) -> str:
    root, pattern = root_and_pattern(path)
    if pattern and os.path.lexists(path):
        raise InvalidInput(
            f"{path} exists, but as the name of a table it is a glob, because it contains *, ? or [: for that one "
            f"file or folder write {glob.escape(path)}"
        )
    if ".." in pattern:
        raise InvalidInput(f"{path}: behind the first wildcard of a table's name there is no ..")
    real = glob.escape(os.path.realpath(root)).rstrip("/")
    return "/".join([real, *(part for part in pattern if part not in ("", "."))]) or "/"


def is_url(name: str) -> bool:
    """Return whether a canonical name is a URL; other names are local paths."""
    return _URL.match(name) is not None


def is_in_memory(name: str) -> bool:
    """Return whether a canonical name is that of a private table in the memory of a process."""
    return name.startswith(IN_MEMORY)


def is_web(name: str) -> bool:
    """Return whether a canonical name is the URL of a web server, which may know files and no folders."""
    return name.startswith(("http://", "https://"))


def kind_of(name: str) -> str:
    """Return the kind of a table by its name, or by its ending; `Parquet` if that is unknown."""
    inner = InnerName.of(name)
    if inner is not None:
        return inner.kind
    return next((kind for kind, ends in _KINDS.items() if name.lower().endswith(ends)), "Parquet")


def is_in_database(name: str) -> bool:
    """Return whether a canonical name is that of a table in a database."""
    inner = InnerName.of(name)
    return inner is not None and inner.is_database


def advice_on(name: str) -> str:
    """Return what a file of another kind is and what to do, as the end of a message, by the ending of its name."""
    if is_called_a_table(name):
        return ""
    end = os.path.splitext(name)[1].lower().removeprefix(".")
    known = next((f"by its name it is {text}; " for ends, text in _OTHERS if end in ends), "")
    return f"; {known}names of tables end with {ENDS}"


def is_called_a_table(name: str) -> bool:
    """Return whether a table has the ending, or the form, of a name that is read."""
    return InnerName.of(name) is not None or name.lower().endswith(_ENDS)


def compression_of(name: str) -> str | None:
    """Return how a CSV file is compressed, as Arrow calls it, by the ending of its name; None: it is not."""
    return next(
        (how for end, how in _COMPRESSED.items() if kind_of(name) == "CSV" and name.lower().endswith(end)), None
    )


def of_one_kind(files: Sequence[str], name: str) -> None:
    """Refuse a table with files of several kinds, or with compressed copies: rows are probably there twice.

    Raises:
        InvalidInput: several kinds, a file with a compressed copy, or no file.
    """
    kinds = sorted({kind_of(file) for file in files})
    if not kinds:
        raise InvalidInput(f"no table under {name}: the names of files that are read end with {ENDS}")
    if len(kinds) > 1 and not all(file.lower().endswith(_ENDS) for file in files):
        raise InvalidInput(
            f"some files under {name} have names that end with none of {ENDS}: let them end as their kind does, or "
            "name the others by a glob, for example FOLDER/*.csv"
        )
    if len(kinds) > 1:
        raise InvalidInput(
            f"there are {' and '.join(kinds)} files under {name}, whose rows might count twice: name those of one kind "
            "by a glob, for example FOLDER/*.csv"
        )
    if len({_decompressed(file) for file in files}) < len(files):
        raise InvalidInput(
            f"under {name} there are files whose names differ only in {' or '.join(_COMPRESSED)}, so the same rows "
            "might count twice: take one of each away, or name the others by a glob, for example FOLDER/*.csv"
        )


def _decompressed(file: str) -> str:
    """Name of a file without the ending of its compression."""
    return file if compression_of(file) is None else os.path.splitext(file)[0]


def root_and_pattern(name: str) -> tuple[str, list[str]]:
    """Return the path on disk with which a name begins, before any wildcard, and the parts of the glob below it."""
    parts = name.split("/")
    plain = [_literal(part) for part in parts]
    first = plain.index(None) if None in plain else len(parts)
    root = "/".join(str(part) for part in plain[:first])
    return root or ("/" if name.startswith("/") else "."), parts[first:]


def _literal(part: str) -> str | None:
    """The file name that a part stands for; None for a glob. Wildcard characters in brackets are not globs."""
    items = _WILD.findall(part)
    if any(item in ("*", "?") or (len(item) > 1 and item not in _ESCAPED) for item in items):
        return None
    return "".join(_ESCAPED.get(item, item) for item in items)


def _items(part: str) -> list[str]:
    """Split a part into characters, `_ANY` and `_ONE`; a set in brackets becomes its only character, or `_ONE`."""
    wild = {"*": _ANY, "?": _ONE}
    return [
        item[1] if len(item) == 3 else _ONE if len(item) > 1 else wild.get(item, item) for item in _WILD.findall(part)
    ]


# --- files behind a name


@dataclass(frozen=True)
class Listing:
    """What a name of a table means, from one look at its folder.

    Attributes:
        files: real paths or URLs of the table's files, sorted by name.
        below: paths of everything in the folder, in parts; an empty last part stands for the content of a folder; ():
            the name is that of a file.
        pattern: parts of the glob; empty: all of the folder.
    """

    files: list[str]
    below: Sequence[Sequence[str]] = ()
    pattern: Sequence[str] = ()

    @property
    def left_out(self) -> list[str]:
        """What is not read because of its name; see `left_out`."""
        return left_out(self.below, self.pattern)


def local_listing(name: str) -> Listing:
    """List the files of a local name: itself, or the tables' files in a folder or glob.

    Raises:
        FileNotFoundError: nothing has this name.
        InvalidInput: neither file nor folder, a folder or file of a table with a log (`common.table_logs`), no file of
            a table, files of several kinds, or one file under two names, whose rows would be counted twice.
        OSError: it cannot be read.
    """
    root, pattern = root_and_pattern(name)
    found = os.stat(root)
    if stat.S_ISREG(found.st_mode) and not pattern:
        file = os.path.realpath(root)
        refuse_logged(name, [], [file], OnDisk())
        return Listing([file])
    if not stat.S_ISDIR(found.st_mode):
        raise InvalidInput(f"{root} is neither a file nor a folder, so it holds no table")
    folders = list(_folders(root))
    below = sorted("/".join(parts) for folder in folders for parts in folder.paths if wanted(parts, pattern))
    real = [os.path.realpath(os.path.join(root, file)) for file in below]
    entered = [os.path.join(root, *folder.parts) for folder in folders if reached(folder.parts, pattern)]
    refuse_logged(name, entered, real, OnDisk())
    of_one_kind(below, name)
    seen: dict[tuple[int, int], str] = {}
    for file in below:
        first = seen.setdefault(_identity(os.path.join(root, file)), file)
        if first != file:
            raise InvalidInput(
                f"the table {name} has one file under two names, {without_values(first)} and {without_values(file)}: "
                "its rows would count twice. "
                "Take one of the two away, or name the files by a glob that leaves it out"
            )
    return Listing(real, [path for each in folders for path in (*each.paths, *each.skipped_paths)], pattern)


def left_out(paths: Iterable[Sequence[str]], pattern: Sequence[str]) -> list[str]:
    """Return what a folder or glob has, and is not read because of its name: paths below the folder, sorted.

    Values of partitions are left out. Hidden folders are named as a whole. Hidden files are named if they have the
    ending of a table: what writers leave beside their files, as `_SUCCESS`, has none.

    Args:
        paths: paths of files below the folder, in parts; an empty last part stands for the content of a folder.
        pattern: parts of the glob; empty: all of the folder.
    """
    found = set()
    for parts in paths:
        first = next((i for i, part in enumerate(parts) if is_hidden(part)), len(parts) - 1)
        is_file = first == len(parts) - 1
        table = parts[first].lower().endswith(_ENDS)
        read = is_file and wanted(parts, pattern)
        marker = is_file and is_hidden(parts[first]) and not table
        if not (read or marker) and _matches(parts[: first + 1], pattern, f"any{_ENDS[0]}"):
            found.add(without_values("/".join(parts[: first + 1]) + ("" if is_file else "/")))
    return sorted(found)


def left_out_in_words(name: str, skipped: Sequence[str]) -> str | None:
    """Return a sentence on what a table in a folder or glob does not read, and what to do; None: nothing is skipped.

    Args:
        name: canonical name of the table.
        skipped: result of `left_out`.
    """
    if not skipped:
        return None
    named = ", ".join(skipped[:_NAMED]) + (f" and {len(skipped) - _NAMED} more" if len(skipped) > _NAMED else "")
    return (
        f"not read of {name}, because of their names: {named}. If they belong to the table, let their names end with "
        f"{ENDS} and not begin with . or _, or name the files by a glob"
    )


def without_values(path: str) -> str:
    """Return the path of a file for a message, without the values that folders of partitions, `column=value`, name.

    They are cells of the private table. A glob stands in their place, which names such folders.
    """
    *folders, name = path.split("/")
    shown = (f"{column}=*" if equals else column for column, equals, _ in (each.partition("=") for each in folders))
    return "/".join((*shown, name))


def wanted(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a file belongs to a folder or glob, by its path below the folder.

    Files and folders whose names begin with a dot or an underscore are skipped. A glob matches files, or folders of
    tables' files; `*` stays inside one folder and `**` does not.
    """
    return not any(map(is_hidden, parts)) and _matches(parts, pattern, parts[-1])


def reached(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether files in a folder, or below it, could belong to a folder or glob, by its path below the folder."""
    if not parts or not pattern or pattern[0] == "**":
        return True
    return fnmatch.fnmatchcase(parts[0], pattern[0]) and reached(parts[1:], pattern[1:])


def is_hidden(part: str) -> bool:
    """Return whether files or folders of this name are skipped."""
    return part.startswith(_HIDDEN)


def _matches(parts: Sequence[str], pattern: Sequence[str], name: str) -> bool:
    """Check whether a glob, in parts, matches a file, in parts, whose last part is `name`."""
    if not pattern:
        return not parts or name.lower().endswith(_ENDS)
    if pattern[0] == "**":
        return any(_matches(parts[i:], pattern[1:], name) for i in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:], name)


@dataclass(frozen=True)
class _Folder:
    """A folder below another one.

    Attributes:
        parts: path from the other one.
        files: names of its files, except hidden ones.
        skipped: names of its hidden files, and of its hidden folders, each with a slash at its end.
    """

    parts: tuple[str, ...]
    files: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def paths(self) -> list[list[str]]:
        """Paths of its files, in parts, except hidden ones."""
        return [[*self.parts, file] for file in self.files]

    @property
    def skipped_paths(self) -> list[list[str]]:
        """Paths of what is hidden in it, in parts, the last of which is empty for a folder."""
        return [[*self.parts, *name.split("/")] for name in self.skipped]


def _folders(
    folder: str, parts: tuple[str, ...] = (), above: tuple[tuple[int, int], ...] = (), leave_out: bool = False
) -> Iterator[_Folder]:
    """Yield a folder and all folders below it except hidden ones; links are followed, but not in circles.

    Args:
        folder: where to begin.
        parts: its path from where the first call began.
        above: folders on the way to this one.
        leave_out: skip folders that cannot be read.

    Raises:
        OSError: a folder cannot be read, and `leave_out` is false.
    """
    try:
        own = _identity(folder)
        if own in above:
            return
        with os.scandir(folder) as entries:
            every = [*entries]
    except OSError:
        if leave_out:
            return
        raise
    found = [entry for entry in every if not is_hidden(entry.name)]
    skipped = [f"{each.name}/" if os.path.isdir(each.path) else each.name for each in every if is_hidden(each.name)]
    # with os.path, for which a link to nothing, or to itself, is neither
    yield _Folder(parts, tuple(entry.name for entry in found if os.path.isfile(entry.path)), tuple(skipped))
    for entry in found:
        if os.path.isdir(entry.path):
            yield from _folders(entry.path, (*parts, entry.name), (*above, own), leave_out)


def _identity(path: str) -> tuple[int, int]:
    """Identity of a file, which is the same for all its links and hard links."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


# --- names that could share a file


def sharing(ours: str) -> Callable[[str], bool]:
    """Return a function that says whether some file could belong both to `ours` and to another canonical name.

    Names are compared first (`overlap`), then, for local names, the files themselves: two folders may have links to
    each other's files, and one file may have several hard links. Targets of our links are also compared by name, in
    case the other folder cannot be listed. For files on other machines only names are known.
    """
    ours = location_of(ours)
    known: list[tuple[set[tuple[int, int]], set[str]]] = []

    def shared(theirs: str) -> bool:
        theirs = location_of(theirs)
        if overlap(ours, theirs):
            return True
        mine, others = InnerName.of(ours), InnerName.of(theirs)
        if mine is not None and others is not None:
            return _one_table(mine, others)
        if is_url(ours) or is_url(theirs):
            return False
        if not known:
            known.append(_behind(ours))
        files, names = known[0]
        return any(overlap(name, theirs) for name in names) or not files.isdisjoint(_behind(theirs)[0])

    return shared


def _one_table(ours: InnerName, theirs: InnerName) -> bool:
    """Return whether both are one table in a file of DuckDB that has several names."""
    if ours.kind != DUCKDB or replace(ours, location=theirs.location) != theirs:
        return False
    with suppress(OSError):
        return os.path.samefile(root_and_pattern(ours.location)[0], root_and_pattern(theirs.location)[0])
    return False


def _behind(name: str) -> tuple[set[tuple[int, int]], set[str]]:
    """Identities of all files, of any kind, that a local name could mean, and canonical names of those elsewhere.

    Files that do not exist or may not be read are left out: they cannot be read as a table either.
    """
    root, pattern = root_and_pattern(name)
    files: set[tuple[int, int]] = set()
    elsewhere: set[str] = set()
    if os.path.isdir(root):
        folders = _folders(root, leave_out=True)
        below = ("/".join([root.rstrip("/"), *parts]) for folder in folders for parts in folder.paths)
        paths = [path for path in below if not pattern or overlap(name, glob.escape(path))]
    else:
        paths = [] if pattern else [root]
    for path in paths:
        with suppress(OSError):  # deleted meanwhile
            files.add(_identity(path))
            real = os.path.realpath(path)
            if real != path:
                elsewhere.add(glob.escape(real))
    return files, elsewhere


def overlap(ours: str, theirs: str) -> bool:
    """Return whether some file could belong to both names, each of a file, a folder, or a glob of files or folders.

    `*`, `?` and `[...]` stay inside one folder, `**` does not; a set in brackets counts as any character. In doubtful
    cases globs count as overlapping: a refused table can be declared under another name, but a second budget for one
    table cannot be undone.
    """
    mine, others = ([*_compared(location_of(name)), "**"] for name in (ours, theirs))
    return _meet(mine, others, any_of="**", alike=_alike)


def _compared(name: str) -> Sequence[str]:
    """Parts of a canonical name, for comparison."""
    inner = InnerName.of(name)
    if inner is not None:
        return inner.compared
    return compared_parts(name) if is_url(name) and not is_in_memory(name) else name.rstrip("/").split("/")


def _alike(ours: str, theirs: str) -> bool:
    """Check whether two parts could match the same name in a folder."""
    if not any(special in ours or special in theirs for special in "*?["):  # fast path: most names have no wildcards
        return ours == theirs
    return any(
        _meet(mine, other, any_of=_ANY, alike=lambda x, y: x == y or _ONE in (x, y))
        for mine in _readings(ours)
        for other in _readings(theirs)
    )


def _readings(part: str) -> list[list[str]]:
    """Items of a part as a glob, and with brackets as plain characters, as earlier versions wrote real names."""
    plain = [{"*": _ANY, "?": _ONE}.get(character, character) for character in part]
    return [_items(part), plain] if "[" in part else [plain]


def _meet(ours: Sequence[str], theirs: Sequence[str], any_of: str, alike: Callable[[str, str], bool]) -> bool:
    """Check whether some sequence matches both patterns, in which `any_of` stands for any number of items."""
    # reachable[j]: the items of ours read so far, and the first j items of theirs, match the same sequence
    reachable = [all(item == any_of for item in theirs[:j]) for j in range(len(theirs) + 1)]
    for item in ours:
        row = [reachable[0] and item == any_of]
        for j, other in enumerate(theirs):
            if any_of in (item, other):
                row.append(reachable[j + 1] or row[j])
            else:
                row.append(reachable[j] and alike(item, other))
        reachable = row
    return reachable[-1]
