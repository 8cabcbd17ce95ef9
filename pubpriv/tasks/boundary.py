"""What may cross a Prefect boundary, and the only way to declare tasks and flows.

Prefect keeps what it is shown: parameters and artifacts in its database, results in files, exceptions in
state messages, logs and (pickled, whatever the settings) in files. So nothing private is shown to it:

- Rows stay where they are. A `Curator` crosses as its handle, a `PublicTable` as a `PublicHandle`; inside the
  task the step finds the curator and the table again. Anything but handles and public values is refused.
- Exceptions leave as fresh errors of our own, raised outside the `except` block: no cause, no context, no
  notes, no attributes.
- Results of private tasks are neither kept nor cached: the ledger remembers them. Results of public tasks are
  kept as readable JSON and found again by content: source, inputs, and the code and libraries that count.

A plain function is wrapped in two lines::

    PCA = private_task(name="private PCA")(private_pca)
    step = crossing(PCA, folder)

For the steps of estimators `pubpriv.tasks.runner` does that, by what each declares of itself.
"""

import functools
import hashlib
import inspect
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from prefect import Flow, Task
from prefect import flow as prefect_flow
from prefect import task as prefect_task
from prefect.cache_policies import NO_CACHE, TASK_SOURCE, CachePolicy
from prefect.exceptions import TerminationSignal
from prefect.serializers import Serializer
from prefect.settings import get_current_settings
from prefect.utilities.annotations import quote
from pydantic import Field

import pubpriv
from pubpriv.curator import Curator, RunHandle, SimulationHandle
from pubpriv.data.codec import from_json, public_value, to_json
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import (
    BudgetExceeded,
    InvalidInput,
    LedgerViolation,
    PrivateStepFailed,
    PubPrivError,
    RunClosed,
    SpecMismatch,
    Unavailable,
)
from pubpriv.released.estimate import replacing

P = ParamSpec("P")
R = TypeVar("R")
Step = Callable[..., Any]

FLOW_FAILED = (
    "the flow failed outside its private steps, which is a defect; what was paid is kept, and the same "
    "release id resumes at no further cost"
)


class CrossingError(PubPrivError, TypeError):
    """A value that may not cross a task boundary; the text names its type and nothing else."""


# --- what may cross ----------------------------------------------------------------------------------------


@public_value
@dataclass(frozen=True)
class PublicHandle:
    """A public table's rows in a file that is named by their hash.

    Attributes:
        path: the file.
        sha256: of columns and rows, as `PublicTable` computes it.
        columns: names, in order.
        dropped: rows left out when the table was opened.
        source: where they were read, for checks against private tables; see `PublicTable`.
    """

    path: str
    sha256: str
    columns: tuple[str, ...]
    dropped: int
    source: str | None = None

    @classmethod
    def store(cls, table: PublicTable, folder: str | os.PathLike[str]) -> "PublicHandle":
        """Write the rows under `folder` unless they are there; whoever reads sees a whole file or none.

        They are for this user alone: public rows too are nobody's who has no business with the run.
        """
        path = Path(folder).resolve() / f"{table.sha256}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.parent.chmod(0o700)
            with replacing(path, 0o600) as temporary, temporary.open("wb") as file:
                np.save(file, table.rows, allow_pickle=False)
        return cls(str(path), table.sha256, tuple(table.columns), table.dropped, table.source)

    def load(self) -> PublicTable:
        """The table, after a check that the rows are those that were stored.

        Raises:
            InvalidInput: the file is missing, damaged, or holds other rows.
        """
        where = f"the stored public rows {self.path}"
        try:
            table = PublicTable(self.columns, np.load(self.path, allow_pickle=False), self.dropped, self.source)
        except (OSError, EOFError, ValueError) as error:
            raise InvalidInput(f"{where} cannot be read: delete the file and run the flow again") from error
        if table.sha256 != self.sha256:
            raise InvalidInput(f"{where} are not those stored: delete the file and run the flow again")
        return table


def check_crossing(value: Any, admit_handles: bool = True) -> None:
    """Refuse what may not cross a task boundary.

    Admitted are public values of `pubpriv.data.codec` (with `PublicHandle`), text, numbers, booleans, None,
    tuples of these and, for private tasks, handles of runs and of private tables.

    Raises:
        CrossingError: anything else; its text names the type only.
    """
    if isinstance(value, RunHandle | SimulationHandle | PrivateTable):
        if not admit_handles:
            raise CrossingError(f"{type(value).__name__} may not enter or leave a public task")
    elif isinstance(value, tuple):
        for item in value:
            check_crossing(item, admit_handles)
    elif isinstance(value, list):
        raise CrossingError("list may not cross a task boundary: use a tuple")
    else:
        refusal = None
        try:
            to_json(value)
        except TypeError as error:
            refusal = str(error)
        if refusal is not None:
            raise CrossingError(f"may not cross a task boundary: {refusal}")


def crossing(task: Task[P, R], folder: str | os.PathLike[str]) -> Callable[P, R]:
    """`task` as a step that a driver calls with curators and public tables, as it calls the plain function.

    Args:
        task: made by `private_task` or `public_task`.
        folder: where public rows are stored for the tasks that read them.
    """

    @functools.wraps(task.fn)
    def step(*args: P.args, **kwargs: P.kwargs) -> R:
        named = {name: for_prefect(packed(value, folder)) for name, value in kwargs.items()}
        found: R = task(*(for_prefect(packed(value, folder)) for value in args), **named)
        return found

    return step


def packed(value: Any, folder: str | os.PathLike[str]) -> Any:
    """Curators and public tables as handles; all else as it is."""
    if isinstance(value, Curator):
        return value.handle
    return PublicHandle.store(value, folder) if isinstance(value, PublicTable) else value


def for_prefect(value: Any) -> Any:
    """A packed value as an argument of a task: large ones are not searched."""
    return quote(value) if _is_large(value) else value


LARGE = 20_000
"""Numbers in a value from which on Prefect does not look for earlier tasks' results in it: it takes 25
microseconds for each. (`pubpriv.tasks.runner` tells by itself whose results an argument is made of.)"""


def _is_large(value: Any) -> bool:
    seen, rest = 0, [value]
    while rest and seen < LARGE:
        item = rest.pop()
        if is_dataclass(item):
            rest += [getattr(item, field.name) for field in fields(item)]
        elif isinstance(item, tuple):
            seen += len(item)
            rest += item
    return seen >= LARGE


@contextmanager
def _unpacked(values: tuple[Any, ...]) -> Iterator[list[Any]]:
    """Curators and public tables in place of their handles; curators are let go of at the end."""
    opened: list[Curator] = []
    try:
        found: list[Any] = []
        for value in values:
            if isinstance(value, RunHandle | SimulationHandle):
                opened.append(value.open())
                found.append(opened[-1])
            else:
                found.append(value.load() if isinstance(value, PublicHandle) else value)
        yield found
    finally:
        for curator in opened:
            curator.leave()


# --- what may be raised ------------------------------------------------------------------------------------

_OURS = (CrossingError, SpecMismatch, RunClosed, InvalidInput, BudgetExceeded, Unavailable, LedgerViolation)


def fresh_error(error: BaseException, otherwise: Callable[[], PubPrivError]) -> BaseException:
    """What may leave in place of `error`: one of our errors with the same text, or a fixed one.

    The result is a new object of a class from a closed list, so nothing hangs on it: no attribute, note,
    cause or context. Errors of ours are written before rows are opened, or have one text: it may be shown.
    """
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt("interrupted")
    if isinstance(error, TerminationSignal):
        return TerminationSignal(signal=signal.SIGTERM)
    if isinstance(error, SystemExit):
        return SystemExit(1)
    if isinstance(error, PrivateStepFailed):
        return PrivateStepFailed()
    kind = next((kind for kind in type(error).__mro__ if kind in _OURS), None)
    return kind(str(error)) if kind else otherwise()


def _call(step: Callable[..., R], args: Any, kwargs: Any, otherwise: Callable[[], PubPrivError]) -> R:
    """`step`'s result; whatever it raises leaves as `fresh_error` makes it."""
    try:
        return step(*args, **kwargs)
    except BaseException as error:  # nothing that private code raises may pass as it is
        fresh = fresh_error(error, otherwise)
    # raised out here, where the original is no longer in flight
    raise fresh from None


# --- how public results are kept and found again -----------------------------------------------------------


class ReadableSerializer(Serializer):
    """Public values as `pubpriv.data.codec` JSON: readable, exact, and nothing is executed on loading."""

    type: str = Field(default="pubpriv", frozen=True)

    def dumps(self, obj: Any) -> bytes:
        """A public value, or the name and text of an exception, as JSON."""
        if isinstance(obj, BaseException):
            return json.dumps({"error": type(obj).__name__, "text": str(obj)}).encode()
        return json.dumps({"value": to_json(obj)}).encode()

    def loads(self, blob: bytes) -> Any:
        """What `dumps` wrote, bit for bit; exceptions come back as ours, or as `PubPrivError`."""
        record = json.loads(blob)
        if "value" in record:
            return from_json(record["value"])
        if record["error"] == PrivateStepFailed.__name__:
            return PrivateStepFailed()
        kind = next((kind for kind in _OURS if kind.__name__ == record["error"]), PubPrivError)
        return kind(record["text"])


@dataclass
class ByContent(CachePolicy):
    """Cache key of a public task: its source, its inputs, and the code and libraries underneath.

    Prefect's own hash of inputs pickles dataclasses; this one is their canonical JSON, the same in every
    process. A public table counts by its hash, wherever it is stored. Refused inputs have no key.
    """

    def compute_key(
        self, task_ctx: Any, inputs: dict[str, Any], flow_parameters: dict[str, Any], **kwargs: Any
    ) -> str | None:
        """SHA-256 of all that decides the result."""
        try:
            told = {name: _identity(value) for name, value in inputs.items()}
        except TypeError:
            return None
        source = TASK_SOURCE.compute_key(task_ctx, inputs, flow_parameters, **kwargs)
        step = f"{task_ctx.task.fn.__module__}.{task_ctx.task.fn.__qualname__}"
        content = json.dumps([step, source, code_fingerprint(), told], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


def _identity(value: Any) -> Any:
    return {"table": value.sha256} if isinstance(value, PublicHandle) else to_json(value)


@cache
def code_fingerprint() -> str:
    """Hash of pubpriv's source files and of the numerical libraries' versions, once per process."""
    root = Path(pubpriv.__file__).parent
    digest = hashlib.sha256()
    for name in ("pubpriv", "numpy", "scipy", "scikit-learn"):
        digest.update(f"{name} {version(name)}\n".encode())
    for path in sorted(root.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()


# --- how tasks and flows are declared ----------------------------------------------------------------------
# The signatures are closed: what is not an argument here cannot be set, and nothing is left to a global
# setting of Prefect that would undo it.


def private_task(
    *, name: str, description: str | None = None, retries: int = 0, retry_delay_seconds: float = 0
) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Decorator: a step that asks a curator. Its result is not kept or cached, for the ledger replays it.

    Args:
        name: as shown in the UI.
        description: shown there too; default: the step's docstring.
        retries: safe, because a charge has one answer however often the step runs.
        retry_delay_seconds: between retries.
    """

    def declare(step: Callable[P, R]) -> Task[P, R]:
        return prefect_task(
            name=name,
            description=description,
            retries=retries,
            retry_delay_seconds=retry_delay_seconds,
            tags=["private"],
            persist_result=False,
            cache_policy=NO_CACHE,
            log_prints=False,
        )(_guarded(step, private=True))

    return declare


def public_task(*, name: str, description: str | None = None) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Decorator: a step from public values to public values. Its result is kept, and found again by content.

    Args:
        name: as shown in the UI.
        description: shown there too; default: the step's docstring.
    """

    def declare(step: Callable[P, R]) -> Task[P, R]:
        return prefect_task(
            name=name,
            description=description,
            retries=0,
            tags=["public"],
            persist_result=True,
            cache_policy=ByContent(),
            refresh_cache=False,
            result_serializer=ReadableSerializer(),
            log_prints=False,
        )(_guarded(step, private=False))

    return declare


def publishing_task(*, name: str, description: str | None = None) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Decorator: a step that writes public values somewhere, each time that it is called: nothing is cached.

    Args:
        name: as shown in the UI.
        description: shown there too; default: the step's docstring.
    """

    def declare(step: Callable[P, R]) -> Task[P, R]:
        return prefect_task(
            name=name,
            description=description,
            retries=0,
            tags=["public"],
            persist_result=False,
            cache_policy=NO_CACHE,
            log_prints=False,
        )(_guarded(step, private=False))

    return declare


def _guarded(step: Callable[P, R], private: bool) -> Callable[P, R]:
    """`step` behind the boundary: checks, opens, calls, checks."""
    signature = inspect.signature(step)

    def opened(arguments: inspect.BoundArguments) -> R:
        with _unpacked(tuple(arguments.arguments.values())) as values:
            arguments.arguments.update(zip(arguments.arguments, values, strict=True))
            return step(*arguments.args, **arguments.kwargs)

    @functools.wraps(step)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        arguments = signature.bind(*args, **kwargs)
        for value in arguments.arguments.values():
            check_crossing(value, admit_handles=private)
        result = _call(opened, (arguments,), {}, PrivateStepFailed) if private else opened(arguments)
        check_crossing(result, admit_handles=private)
        return result

    return inner


def safe_flow(
    *,
    name: str,
    description: str | None = None,
    flow_run_name: str | Callable[[], str] | None = None,
    version: str | None = None,
) -> Callable[[Callable[P, R]], Flow[P, R]]:
    """Decorator: a flow out of which no exception carries anything; Prefect would pickle it to a file.

    Args:
        name: as shown in the UI.
        description: shown there too; default: the docstring.
        flow_run_name: template over the (public) parameters, or a function that makes it of what the run knows.
        version: of the flow.

    The flow refuses to start under `PREFECT_DEBUG_MODE`.
    """

    def declare(body: Callable[P, R]) -> Flow[P, R]:
        if inspect.iscoroutinefunction(body) or inspect.isgeneratorfunction(body):
            raise TypeError("safe_flow guards plain functions only")

        @functools.wraps(body)
        def inner(*args: P.args, **kwargs: P.kwargs) -> R:
            _refuse_debug_mode()
            return _call(body, args, kwargs, lambda: PubPrivError(FLOW_FAILED))

        return prefect_flow(
            name=name,
            description=description,
            flow_run_name=flow_run_name,
            version=version,
            retries=0,
            persist_result=False,
            result_serializer=ReadableSerializer(),
            validate_parameters=True,
            log_prints=False,
        )(inner)

    return declare


def _refuse_debug_mode() -> None:
    if get_current_settings().debug_mode:
        raise InvalidInput(
            "PREFECT_DEBUG_MODE is on: Prefect would write what every task returns to its log table. "
            "Turn it off; PREFECT_LOGGING_LEVEL=DEBUG gives the same detail without values"
        )
