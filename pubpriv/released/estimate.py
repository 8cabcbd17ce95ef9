"""Base class of released estimates: facts that all of them have, and their files."""

import json
import math
import os
import tempfile
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.errors import InvalidInput
from pubpriv.released._showing import Shown
from pubpriv.released.findings import Finding, doubts, headline, judged, states_of_columns
from pubpriv.released.groups import Group, Groups
from pubpriv.released.histograms import histograms_in
from pubpriv.released.noise import NoiseLaw
from pubpriv.released.numbers import OPTIONAL, QUANTITIES, SOURCES, Number, State, counted, of_all

if TYPE_CHECKING:
    from pubpriv.data.tables import PublicTable
    from pubpriv.ledger.unit import Size
    from pubpriv.privacy.statement import Statement
    from pubpriv.released.law import Mixture

_FACTS = ("dataset", "release_id", "n_public", "public_sha256", "created")
_STATED = {"unit", "neighbouring", "spent", "guarantee", "charges"}
"""Fields that the provenance and the privacy statement of a complete model must have."""

_OLD = {True: "converged", False: "did not converge"}
"""What files of format 1 say instead of findings."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Estimate(Shown):
    """Base class of released estimates, with everything except the numbers themselves.

    Attributes:
        columns: names of the d columns.
        method: name of the pipeline.
        converged: False if some number is doubtful; `findings` says which, why, and what would help.
        standard_errors: by name of the number: {"sampling": ..., "privacy": ...} and, if known, "clipping", in the
            data's own units.
        privacy: the statement: unit, neighbouring, kind, guarantee, spent, charges.
        provenance: dataset, release_id, n_private, n_public, public_sha256, chain_head, version, created. If the unit
            is a person, persons, counted_rows, rows_per_person and target replace n_private; if the run is for one
            period, counted_rows and period do.
        diagnostics: public facts about the run.
        public: outline of the public rows for the page; see `pubpriv.released.histograms`.
        target: which quantity was estimated, one of `targets`; None if there is only one, or in files of older
            versions.
        groups: estimates of groups of rows, if there are any.
        findings: what the run concluded about its numbers; None in files of older versions, whose numbers have no
            states.
        noise: law of the noise in a mean and covariance, from which errors of whatever follows from them can be
            computed; None if it is not known.
    """

    format: ClassVar[int] = 2
    """Format number of the model file; a version reads its own format and older ones."""

    kind: ClassVar[str]
    quantities: ClassVar[Mapping[str, str]]
    """Parts of the model file, which are also properties, each with its quantity (`QUANTITIES`)."""
    targets: ClassVar[Mapping[str, str]] = {}
    """Possible targets of this kind of estimate, described in words; empty if there is only one."""

    columns: tuple[str, ...]
    method: str
    converged: bool
    standard_errors: Mapping[str, Any]
    privacy: Mapping[str, Any]
    provenance: Mapping[str, Any]
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    public: Mapping[str, Any] = field(default_factory=dict)
    target: str | None = None
    groups: Groups | None = None
    findings: tuple[Finding, ...] | None = None
    noise: NoiseLaw | None = None

    @property
    def law(self) -> "Mixture | None":
        """The released law of a row, as a mixture (a Gaussian has one component); None if no law was released."""
        return None

    @property
    def subject(self) -> str:
        """The released quantity in a few words: `the mean of 3 columns`."""
        return f"the {self.kind} of {counted(len(self.columns), 'column')}"

    @property
    def is_simulation(self) -> bool:
        """Whether it was made by a simulation, so that nothing about it is private."""
        return self.provenance.get("dataset") is None or "epsilon" not in self.privacy["guarantee"]

    @property
    def of_whom(self) -> str:
        """Name of the release, as `visits, release 2026-11`, or that it is a simulation."""
        facts = self.provenance
        return "a simulation" if self.is_simulation else f"{facts['dataset']}, release {facts['release_id']}"

    @property
    def counted(self) -> str:
        """Number of records or persons: `12,000`, or `about 5,290` if the number is private."""
        released = self.provenance.get("persons", self.provenance.get("counted_rows"))
        return f"{self.provenance['n_private']:,}" if released is None else f"about {released['estimate']:,}"

    @property
    def counted_as(self) -> str:
        """What `counted` counts: `records`, or `persons` and how their rows count."""
        most = self.provenance.get("rows_per_person")
        period = self.provenance.get("period")
        if most is None:
            return "records" if period is None else f"records of {period}"
        if most != 1:
            return f"persons, {most} rows of each counted in full"
        return (
            "persons, each by the share of their rows that are whole" if self._uneven else "persons, each counted once"
        )

    @property
    def counted_in_groups(self) -> str:
        """What counts of groups count: `rows`, or `persons`, each by the share of their rows that lie in the group."""
        return "persons" if self.provenance.get("rows_per_person") == 1 else "rows"

    @property
    def _uneven(self) -> bool:
        """Whether persons clearly have rows that are left out, by the released numbers of persons and of their rows."""
        persons, rows = (self.provenance[name] for name in ("persons", "counted_rows"))
        less = persons["estimate"] - rows["estimate"]
        return bool(less > SURELY * math.hypot(persons["sd"], rows["sd"]))

    def check_public(self, public: "PublicTable | None") -> None:
        """Check that these are the public rows with which the release was made.

        Raises:
            InvalidInput: they are other rows.
        """
        if public is not None and public.sha256 != self.provenance["public_sha256"]:
            raise InvalidInput(
                f"the public rows (sha256 {public.sha256[:12]}...) are not those that {self.of_whom} was made "
                f"with ({str(self.provenance['public_sha256'])[:12]}...): give that file, with all its rows, or none"
            )

    def check_whole(self) -> None:
        """Check that an estimate from a file has all numbers with their errors, and its provenance and statement.

        Raises:
            InvalidInput: something is missing or impossible: the file was edited or damaged.
        """
        lacking = next(self._lacking(), None)
        if lacking is not None:
            raise InvalidInput(
                f"the model is damaged: {lacking}. Take it from its backup, or fit the same release again"
            )

    def parts(self) -> dict[str, np.ndarray]:
        """Return the numbers as arrays, by their names in a model file."""
        return {name: np.asarray(getattr(self, name), dtype=float) for name in self.quantities}

    def _lacking(self) -> Iterator[str]:
        """Yield descriptions of everything that is missing or impossible."""
        if self.findings is not None and self.converged is bool(doubts(self.findings)):
            yield "it should not have converged if a finding makes numbers doubtful, and only then"
        yield from self._lacking_numbers()
        if self.groups is not None:
            yield from self.groups.lacking(self.columns)
        if self.target is not None and self.target not in list(self.targets):
            yield f"its target should be {' or '.join(self.targets) or 'none'}"
        if histograms_in(self.public, len(self.columns)) is None:
            yield "its histograms of the public rows are not those of its columns"
        of_rows = ("counted_rows",) if "period" in self.provenance else ("n_private",)
        of_whom = ("persons", "counted_rows", "rows_per_person") if "persons" in self.provenance else of_rows
        yield from (f"its provenance has no {name}" for name in (*_FACTS, *of_whom) if name not in self.provenance)
        stated = self.privacy
        if not _STATED.issubset(stated) or "text" not in stated["guarantee"]:
            yield "its privacy statement is not whole"

    def _lacking_numbers(self) -> Iterator[str]:
        """Yield descriptions of numbers and errors that are missing or impossible."""
        for name, values in self.parts().items():
            shape, errors = self.shape_of(name), self.standard_errors.get(name)
            given = errors if isinstance(errors, Mapping) else {}
            for source in SOURCES:
                if (source in given or source not in OPTIONAL) and not finite(given.get(source), shape):
                    yield f"the standard errors of {name} ({source}) are not there for every number"
            if not finite(values, shape):
                yield f"{name} should be finite numbers, {' x '.join(map(str, shape))}"
            elif self.quantities[name] == "covariance" and _variances(values).min() < 0:
                yield f"{name} should have no variance below zero"

    def errors_of(self, part: str) -> dict[str, np.ndarray]:
        """Return the standard errors of a part by source, as arrays of its shape."""
        return {source: np.asarray(errors, dtype=float) for source, errors in self.standard_errors[part].items()}

    def shape_of(self, part: str) -> tuple[int, ...]:
        """Return the shape of a part and of its standard errors: components first, if there are any, then columns."""
        components = () if self.n_components is None else (self.n_components,)
        return (*components, *[len(self.columns)] * QUANTITIES[self.quantities[part]])

    def numbers(self) -> tuple[Number, ...]:
        """Return every released number once, with its errors and state: a covariance in the order of its columns.

        Order: components one after the other, in each weight, means and covariances; numbers of groups last.
        """
        numbers = *self._rows(), *(() if self.groups is None else self.groups.numbers(self.columns))
        return numbers if self.findings is None else judged(numbers, self.findings)

    @property
    def states(self) -> dict[str, State] | None:
        """The state of each column: the worst of its means and variances; None if the file does not say."""
        return None if self.findings is None else states_of_columns(self.columns, of_all(self.numbers()))

    @property
    def verdict(self) -> str:
        """What the numbers are worth, in a clause: how many columns are good, and which are doubtful and why."""
        states = self.states
        if states is None or self.findings is None:
            return f"no states: an older version made it, and said only that it {_OLD[self.converged]}"
        return headline(states, self.findings)

    @property
    def usable(self) -> bool:
        """Whether there is a column whose numbers are not doubtful."""
        states = self.states
        return self.converged if states is None else set(states.values()) != {State.DOUBTFUL}

    def _rows(self) -> Iterator[Number]:
        several = self.n_components is not None
        stacked = {name: self._stacked(name, values) for name, values in self.parts().items()}
        for j in range(1 if self.n_components is None else self.n_components):
            for name, arrays in stacked.items():
                quantity = self.quantities[name]
                for where in combinations_with_replacement(range(len(self.columns)), QUANTITIES[quantity]):
                    column, other = (*(self.columns[i] for i in where), None, None)[:2]
                    value, *errors = (float(array[(j, *where)]) for array in arrays)
                    yield Number.at((quantity, j + 1 if several else None, column, other), value, errors)

    def _stacked(self, name: str, values: np.ndarray) -> list[np.ndarray]:
        """Stack a part and its errors by source, components first; missing errors are zero."""
        errors = {source: np.zeros(values.shape) for source in OPTIONAL} | dict(self.standard_errors[name])
        arrays = [values, *(np.asarray(errors[source], dtype=float) for source in SOURCES)]
        return arrays if self.n_components is not None else [array[None] for array in arrays]

    def _group(self, name: str) -> Group:
        """Return the numbers of one group.

        Raises:
            InvalidInput: the release has no such group.
        """
        if self.groups is None:
            raise InvalidInput("the release has no groups: fit it with --by COLUMN")
        return self.groups[name]

    def of_group(self, name: str) -> Self:
        """Return one group as an estimate of its own, to show, to convert or to draw rows from; it costs nothing.

        Raises:
            InvalidInput: the release has no such group.
        """
        group = self._group(name)
        own = {part: group.errors[what] for part, what in self.quantities.items() if what in group.errors}
        errors = {**self.standard_errors, **own}
        return replace(self, groups=None, noise=None, standard_errors=errors, **self.parts_of_group(group))

    def parts_of_group(self, group: Group) -> dict[str, Any]:  # noqa: ARG002 - as all kinds
        """Return fields of the class from the numbers of a group, for kinds that may have groups.

        Raises:
            InvalidInput: this kind has no groups.
        """
        raise InvalidInput(f"a released {self.kind} has no groups")

    @classmethod
    @abstractmethod
    def read_parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read fields of the class from the parts in a model file."""

    def to_json(self) -> dict[str, Any]:
        """Return the model file as plain data."""
        return {
            "format": self.format,
            "kind": self.kind,
            "method": self.method,
            **({} if self.target is None else {"target": self.target}),
            "estimand": self.estimand,
            "converged": self.converged,
            "columns": list(self.columns),
            **_plain(self.parts()),
            "standard_errors": _plain(self.standard_errors),
            "privacy": _plain(self.privacy),
            "provenance": _plain(self.provenance),
            "diagnostics": _plain(self.diagnostics),
            **({"public": _plain(self.public)} if self.public else {}),
            **({} if self.groups is None else {"groups": self.groups.to_json()}),
            **self._verdicts(),
            **({} if self.noise is None else {"noise": self.noise.to_json()}),
        }

    def _verdicts(self) -> dict[str, Any]:
        """Return the parts of the model file about what the numbers are worth: all numbers not named are good."""
        if self.findings is None:
            return {}
        numbers = self.numbers()
        named = {
            str(state): [number.name for number in numbers if number.state == state]
            for state in (State.WIDE, State.DOUBTFUL)
        }
        return {"findings": [finding.to_json() for finding in self.findings], "states": named}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        return cls(
            **cls.read_parts(data),
            columns=tuple(data["columns"]),
            method=data["method"],
            converged=data["converged"],
            standard_errors=data["standard_errors"],
            privacy=data["privacy"],
            provenance=data["provenance"],
            diagnostics=data["diagnostics"],
            public=data.get("public", {}),
            # in older files it is in the diagnostics
            target=data.get("target", data["diagnostics"].get("target")),
            groups=Groups.from_json(data["groups"], data["columns"]) if "groups" in data else None,
            findings=tuple(map(Finding.from_json, data["findings"])) if "findings" in data else None,
            noise=NoiseLaw.from_json(data["noise"]) if "noise" in data else None,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file atomically: readers see the old file or the complete new one.

        Raises:
            InvalidInput: the path is a folder.
        """
        if Path(path).is_dir():
            raise InvalidInput(f"{os.fspath(path)} is a folder: name a file in it, {Path(path, 'model.json')} say")
        write_atomically(Path(path), json.dumps(self.to_json(), indent=1) + "\n")


def provenance_of(statement: "Statement", size: "Size", public: "PublicTable") -> dict[str, Any]:
    """Return the `provenance` part of a model file, which has only public facts.

    `created` is a date (UTC) without a time of day, because the duration of a run may depend on rows.
    """
    return {
        "dataset": statement.dataset,
        "release_id": statement.release_id,
        **size.provenance(),
        "n_public": len(public.rows),
        "public_sha256": public.given_sha256,
        "chain_head": statement.chain_head,
        "version": _version(),
        "created": datetime.now(UTC).date().isoformat(),
    }


@cache
def _version() -> str:
    """Version of pubpriv, cached because it is read from a file."""
    from importlib.metadata import version

    return version("pubpriv")


def method_name(method: str, statement: "Statement") -> str:
    """Return the method's name in a model file, marked if it is a simulation."""
    return method if statement.private else f"{method} (simulation: not private)"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` to a temporary file next to `path`, then move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


# the umask can only be read by setting it: once, before other threads could create files
_MASK = os.umask(0)
os.umask(_MASK)


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[Path]:
    """Open a temporary file next to `path`: it replaces `path` at the end, and is deleted after an exception.

    Args:
        path: final path.
        mode: mode of the file; None: by the user's umask.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_MASK if mode is None else mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def finite(values: Any, shape: tuple[int, ...]) -> bool:
    """Return whether these are finite numbers of this shape."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return False
    return array.shape == shape and bool(np.isfinite(array).all())


def _variances(covariances: np.ndarray) -> np.ndarray:
    return np.diagonal(covariances, axis1=-2, axis2=-1)


def _plain(value: Any) -> Any:
    """Convert arrays and tuples to lists, NumPy scalars to numbers."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
