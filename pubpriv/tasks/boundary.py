"""The boundary to Prefect: the only way to declare tasks and flows, and rules for their results and exceptions.

Prefect keeps everything that it gets: parameters and artifacts in its database, results in files, exceptions in
state messages, logs and (pickled, with any settings) in files. So it gets nothing private:

- Rows stay where they are. Only handles and public values cross; see `pubpriv.tasks._crossing`.
- Exceptions are replaced by new errors of our own, raised outside the `except` block: no cause, no context, no
  notes, no attributes.
- Results of private tasks are neither kept nor cached: the ledger keeps them. Results of public tasks are kept as
  readable JSON and found again by content: source, inputs, and the relevant code and libraries.

`pubpriv.tasks.runner` declares the steps of estimators here, from what each step declares.
"""

import asyncio
import functools
import hashlib
import inspect
import json
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from prefect import Flow, Task
from prefect import flow as prefect_flow
from prefect import task as prefect_task
from prefect.cache_policies import NO_CACHE, TASK_SOURCE, CachePolicy
from prefect.exceptions import TerminationSignal
from prefect.serializers import Serializer
from prefect.settings import get_current_settings
from pydantic import Field

import pubpriv
from pubpriv.data.codec import from_json, to_json
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
from pubpriv.tasks._crossing import CrossingError, PublicHandle, check_crossing, unpacked
from pubpriv.tasks.outages import foreign

_P = ParamSpec("_P")
_R = TypeVar("_R")

_FLOW_FAILED = (
    "the flow failed outside its private steps, which is a defect; what was paid is kept, and the same "
    "release id resumes at no further cost"
)


# --- what may be raised ------------------------------------------------------------------------------------

_OURS = (CrossingError, SpecMismatch, RunClosed, InvalidInput, BudgetExceeded, Unavailable, LedgerViolation)


def _fresh_error(error: BaseException, otherwise: Callable[[BaseException], PubPrivError]) -> BaseException:
    """Return the replacement of `error`: one of our errors with the same text, or a fixed one.

    The result is a new object of a class from a closed list, so nothing is attached to it: no attribute, note,
    cause or context. Texts of our own errors may be shown: they are made before rows are opened, or are fixed.
    """
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt("interrupted")
    if isinstance(error, TerminationSignal):
        return TerminationSignal(signal=signal.SIGTERM)
    if isinstance(error, SystemExit):
        return SystemExit(1)
    if isinstance(error, asyncio.CancelledError):
        # Prefect ends a run like this if its lease ran out while the server was away: a crash, to be continued
        return asyncio.CancelledError("cancelled")
    if isinstance(error, PrivateStepFailed):
        return PrivateStepFailed()
    kind = next((kind for kind in type(error).__mro__ if kind in _OURS), None)
    return kind(str(error)) if kind else otherwise(error)


def _call(step: Callable[..., _R], args: Any, kwargs: Any, otherwise: Callable[[BaseException], PubPrivError]) -> _R:
    """Return the result of `step`; exceptions are replaced by `_fresh_error`."""
    try:
        return step(*args, **kwargs)
    except BaseException as error:  # nothing that private code raises may pass as it is
        fresh = _fresh_error(error, otherwise)
    # raised outside of `except`, so that the original is not attached
    raise fresh from None


# --- how public results are kept and found again -----------------------------------------------------------


class _ReadableSerializer(Serializer):
    """Public values as `pubpriv.data.codec` JSON: readable, exact, and nothing is executed on loading."""

    type: str = Field(default="pubpriv", frozen=True)

    def dumps(self, obj: Any) -> bytes:
        """Write a public value, or the name and text of an exception, as JSON."""
        if isinstance(obj, BaseException):
            return json.dumps({"error": type(obj).__name__, "text": str(obj)}).encode()
        return json.dumps({"value": to_json(obj)}).encode()

    def loads(self, blob: bytes) -> Any:
        """Read what `dumps` wrote, bit for bit; exceptions come back as ours, or as `PubPrivError`."""
        record = json.loads(blob)
        if "value" in record:
            return from_json(record["value"])
        if record["error"] == PrivateStepFailed.__name__:
            return PrivateStepFailed()
        kind = next((kind for kind in _OURS if kind.__name__ == record["error"]), PubPrivError)
        return kind(record["text"])


@dataclass
class _ByContent(CachePolicy):
    """Cache key of a public task: its source, its inputs, and the code and libraries underneath.

    Prefect's own hash of inputs pickles dataclasses; this one is their canonical JSON, the same in every
    process. A public table counts by its hash, wherever it is stored. Refused inputs have no key.
    """

    def compute_key(
        self, task_ctx: Any, inputs: dict[str, Any], flow_parameters: dict[str, Any], **kwargs: Any
    ) -> str | None:
        """Hash everything that determines the result."""
        try:
            given = {name: _identity(value) for name, value in inputs.items()}
        except TypeError:
            return None
        source = TASK_SOURCE.compute_key(task_ctx, inputs, flow_parameters, **kwargs)
        step = f"{task_ctx.task.fn.__module__}.{task_ctx.task.fn.__qualname__}"
        content = json.dumps([step, source, _code_fingerprint(), given], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


def _identity(value: Any) -> Any:
    return {"table": value.sha256} if isinstance(value, PublicHandle) else to_json(value)


@cache
def _code_fingerprint() -> str:
    """Hash pubpriv's source files and the numerical libraries' versions, once per process."""
    root = Path(pubpriv.__file__).parent
    digest = hashlib.sha256()
    for name in ("pubpriv", "numpy", "scipy", "scikit-learn"):
        digest.update(f"{name} {version(name)}\n".encode())
    for path in sorted(root.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()


# --- how tasks and flows are declared ----------------------------------------------------------------------
# The signatures are closed: options that are not arguments here cannot be set, and no global setting of
# Prefect can change them.


def private_task(*, name: str) -> Callable[[Callable[_P, _R]], Task[_P, _R]]:
    """Declare a step that asks a curator. Its result is not kept or cached, because the ledger replays it.

    Args:
        name: as shown in the UI, where the step's docstring is its description.
    """
    return _task(name, True, persist_result=False, cache_policy=NO_CACHE)


def public_task(*, name: str) -> Callable[[Callable[_P, _R]], Task[_P, _R]]:
    """Declare a step from public values to public values. Its result is kept, and found again by content.

    Args:
        name: as shown in the UI, where the step's docstring is its description.
    """
    readable = _ReadableSerializer()
    return _task(
        name, False, persist_result=True, cache_policy=_ByContent(), refresh_cache=False, result_serializer=readable
    )


def publishing_task(*, name: str) -> Callable[[Callable[_P, _R]], Task[_P, _R]]:
    """Declare a step that writes public values somewhere at every call; nothing is cached.

    Args:
        name: as shown in the UI, where the step's docstring is its description.
    """
    return _task(name, False, persist_result=False, cache_policy=NO_CACHE)


def _task(name: str, private: bool, **kept: Any) -> Callable[[Callable[_P, _R]], Task[_P, _R]]:
    """Declare a task; `kept` has options for its result.

    It has no tags: for each tag Prefect asks the server for a slot before the task begins, so that every step could
    fail if the server does not answer.
    """
    return lambda step: prefect_task(name=name, retries=0, log_prints=False, **kept)(_guarded(step, private=private))


def _guarded(step: Callable[_P, _R], private: bool) -> Callable[_P, _R]:
    """Put `step` behind the boundary: check, open, call, check."""
    signature = inspect.signature(step)

    def opened(arguments: inspect.BoundArguments) -> _R:
        with unpacked(tuple(arguments.arguments.values())) as values:
            arguments.arguments.update(zip(arguments.arguments, values, strict=True))
            return step(*arguments.args, **arguments.kwargs)

    @functools.wraps(step)
    def inner(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        arguments = signature.bind(*args, **kwargs)
        for value in arguments.arguments.values():
            check_crossing(value, admit_handles=private)
        result = _call(opened, (arguments,), {}, lambda _: PrivateStepFailed()) if private else opened(arguments)
        check_crossing(result, admit_handles=private)
        return result

    return inner


def safe_flow(
    *, name: str, flow_run_name: str | Callable[[], str] | None = None
) -> Callable[[Callable[_P, _R]], Flow[_P, _R]]:
    """Declare a flow whose exceptions carry no data, since Prefect would pickle them to a file.

    The flow refuses to start under `PREFECT_DEBUG_MODE`.

    Args:
        name: as shown in the UI, where the docstring is its description.
        flow_run_name: template over the (public) parameters, or a function that returns the name during the run.
    """

    def declare(body: Callable[_P, _R]) -> Flow[_P, _R]:
        if inspect.iscoroutinefunction(body) or inspect.isgeneratorfunction(body):
            raise TypeError("safe_flow guards plain functions only")

        @functools.wraps(body)
        def inner(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            _refuse_debug_mode()
            return _call(body, args, kwargs, _failed_in_flow)

        return prefect_flow(
            name=name,
            flow_run_name=flow_run_name,
            retries=0,
            persist_result=False,
            result_serializer=_ReadableSerializer(),
            validate_parameters=True,
            log_prints=False,
        )(inner)

    return declare


def _failed_in_flow(error: BaseException) -> PubPrivError:
    """Return the error for a failed server or disk; any other exception outside private steps is a defect."""
    return foreign(error) or PubPrivError(_FLOW_FAILED)


def _refuse_debug_mode() -> None:
    if get_current_settings().debug_mode:
        raise InvalidInput(
            "PREFECT_DEBUG_MODE is on: Prefect would write what every task returns to its log table. "
            "Turn it off; PREFECT_LOGGING_LEVEL=DEBUG gives the same detail without values"
        )
