"""Blocks on a Dask cluster: what `distributed.Client(address).get_executor()` gives, made safe for private totals.

A worker reads rows, and returns exact totals and the rows of a public sample (`data.samples`), so **every worker is
inside the trust boundary**, and so is the network between them (`tls://` addresses encrypt it; the scheduler runs
whatever a client sends). Beyond that:

- Results stay in memory: a worker that may spill to disk is refused, at the start and before each block.
- A worker whose arithmetic gives other bits than this machine's is refused likewise: chance decides which worker reads
  a row group, and a record must become the same integers wherever it is read.
- Nothing else comes back. A worker logs the text of any exception and sends it on, so all exceptions there have the
  same text.
- Task keys are random, not hashes of content; a result is released as soon as it has arrived.

A question and the name of a row group are sent to a worker; both are public. If the unit is a person, the weights of
the rows are sent too, and their number is private: they stay in the memory of scheduler and workers, and neither they
nor their number are logged. (Dask's dashboard shows the number of tasks: let only those see it who may know.) Totals
are sums of integers, so a lost worker or task costs only time: its rows are read again, perhaps by another worker, and
the bits are the same.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from functools import partial
from importlib.metadata import version
from itertools import islice
from queue import Empty, Queue
from typing import Any, ClassVar, TypeVar

from pubpriv.data.arithmetic import bits
from pubpriv.data.placement import trial_of
from pubpriv.data.questions.base import Question
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable

_R = TypeVar("_R")

_CONNECT_SECONDS = 20
"""Time in which a scheduler must answer. One that is lost during a scan has twice as long to come back."""

_WORKERS_SECONDS = 60.0
"""Time in which every worker must describe itself, and in which a finished total must arrive."""

_SILENT_SECONDS = 900.0
"""Time after which a scan gives up a cluster that finishes no task. Dask itself gives up a worker after five minutes,
and sends its tasks to others."""

_TRIES = 3
"""How often a task is sent: its worker, or the store that it reads, may be unreachable for a while."""

_AHEAD = 128
"""Tasks sent ahead, at most, so that a longer table needs no more memory here or on the scheduler."""

_ADDRESS = re.compile(r"(tcp|tls)://[^\s/@?#]+:\d+")


class _BlockFailed(Exception):
    """Raised on a worker for every failure, with one text."""

    def __init__(self, *_: object) -> None:
        super().__init__("a block could not be read on a worker")


def _checked_address(address: str) -> str:
    """Return `address` if it is the address of a scheduler.

    Raises:
        InvalidInput: it is not `tcp://HOST:PORT` or `tls://HOST:PORT`.
    """
    if not _ADDRESS.fullmatch(address):
        raise InvalidInput("the address of a Dask scheduler is tcp://HOST:PORT or tls://HOST:PORT, and nothing else")
    return address


class Cluster(Executor):
    """An executor of blocks on the cluster at `address`; it connects when it is first used."""

    variable: ClassVar[str] = "PUBPRIV_DASK"
    """Environment variable that may hold the address of a scheduler."""

    def __init__(self, address: str) -> None:
        self.address = _checked_address(address)
        self.given_up = ""
        """Why the last scan gave up the cluster; empty if it did not."""

    def check(self) -> None:
        """Connect and check every worker; called before anything is paid for.

        Raises:
            InvalidInput: `distributed` is not installed here, or a worker has other versions, gives other bits or may
                spill to disk.
            Unavailable: the scheduler or a worker does not answer, or there is no worker.
        """
        workers = _ask_workers(_client(self.address), self.address, _about_worker)
        if not workers:
            raise Unavailable(f"the Dask cluster at {self.address} has no worker: start one, or run without --dask")
        here = _versions()
        for name, (versions, arithmetic, spills) in sorted(workers.items()):
            if versions != here:
                raise InvalidInput(
                    f"the Dask worker {name} has {_written(versions)}, and this is {_written(here)}: install the same"
                )
            if arithmetic != bits():
                raise InvalidInput(_OTHER_BITS.format(name=name))
            if spills:
                raise InvalidInput(f"the Dask worker {name} may write private totals to its disk: {_HOW_NOT_TO_SPILL}")

    def check_trial(self, question: Question, columns: int) -> None:
        """Check that every worker gives the public records of the question's trial the bits that they have here.

        It is asked before a question is charged. Each worker does so again before it reads rows, since it may be new.

        Raises:
            InvalidInput: a worker gives other bits.
            Unavailable: a worker does not answer.
        """
        here = trial_of(question, columns).digest
        digests = _ask_workers(_client(self.address), self.address, partial(_digest_of_trial, question, columns))
        for name, digest in sorted(digests.items()):
            if digest != here:
                raise InvalidInput(_OTHER_BITS.format(name=name))

    def submit(self, fn: Callable[..., _R], /, *args: Any, **kwargs: Any) -> "Future[_R]":
        """Run `fn` on some worker; its result comes back as a `Future`."""
        executor = _client(self.address).get_executor(pure=False)
        future: Future[_R] = executor.submit(_on_worker, bits(), fn, *args, **kwargs)
        return future

    def map(
        self,
        fn: Callable[..., _R],
        *iterables: Iterable[Any],
        timeout: float | None = None,  # noqa: ARG002 - the shape of an `Executor`
        chunksize: int = 1,
    ) -> Iterator[_R]:
        """Yield the result of `fn` for each piece as it arrives, in any order, since a scan adds the results up.

        Each piece counts once: before a task is sent again, its earlier attempt is given up and its result ignored.

        Args:
            fn: function sent with each task.
            iterables: its arguments.
            timeout: ignored; see `_SILENT_SECONDS`.
            chunksize: pieces per task.

        Raises:
            Unavailable: the scheduler does not answer, or no result came for a quarter of an hour.
            _BlockFailed: the last try of a task failed.
        """
        self.given_up = ""
        pieces = zip(*iterables, strict=True)
        tasks = iter(lambda: _Task(islice(pieces, chunksize)), ())
        under_way: dict[Any, tuple[int, _Task]] = {}
        done: Queue[Any] = Queue()
        while True:
            for task in islice(tasks, _AHEAD - len(under_way)):
                under_way[self._sent(fn, task, 1, done)] = 1, task
            if not under_way:
                return
            try:
                future = done.get(timeout=_SILENT_SECONDS)
            except Empty:
                self.given_up = f"the Dask cluster at {self.address} finishes nothing: see to its workers"
                raise Unavailable(self.given_up) from None
            tries, task = under_way.pop(future)
            found = _result_of(future)
            if found is not None:
                yield from found
            elif tries < _TRIES:
                under_way[self._sent(fn, task, tries + 1, done)] = tries + 1, task
            else:
                raise _BlockFailed

    def _sent(self, fn: Callable[..., Any], task: "_Task", tries: int, done: Queue[Any]) -> Any:
        """Send a task; return its Dask future, which is put on `done` when it ended or the scheduler was lost.

        A future of Dask's executor would never end if the scheduler is lost while a result is fetched. Repeated tasks
        have priority: if a store does not answer and every try waits for it, a task reaches its last try early.
        """
        client = _client(self.address)
        future = client.submit(_on_worker, bits(), _of_each, fn, task, pure=False, priority=tries)
        future.add_done_callback(done.put)
        return future

    def __repr__(self) -> str:
        return f"Cluster({self.address!r})"


_OTHER_BITS = (
    "the arithmetic of the Dask worker {name} gives other bits than this machine's: run workers on processors of one "
    "kind, or give all of them, and this one, the same OPENBLAS_CORETYPE and NPY_DISABLE_CPU_FEATURES"
)

_HOW_NOT_TO_SPILL = (
    "start it with DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False and DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False "
    "in its environment"
)


def _on_worker(expected: str, step: Callable[..., _R], *args: Any, **kwargs: Any) -> _R:
    """Run `step` on a worker, after checking that it keeps results in memory and that its arithmetic gives `expected`.

    Raises:
        _BlockFailed: anything went wrong; a worker would log the text of any other exception.
    """
    from distributed import get_worker

    if not _spills(get_worker()) and bits() == expected:
        try:
            return step(*args, **kwargs)
        except Exception:  # noqa: S110 - the cause may quote a row, so it ends here
            pass
    raise _BlockFailed


class _Task(tuple[tuple[Any, ...], ...]):
    """Pieces that are sent together, without a representation: a worker logs a failed task's arguments."""

    def __repr__(self) -> str:
        return "<_Task>"


def _of_each(fn: Callable[..., _R], task: _Task) -> list[_R]:
    return [fn(*piece) for piece in task]


def _result_of(future: Any) -> Any:
    """Result of an ended task; None if it failed or the result was lost."""
    try:
        return future.result(timeout=_WORKERS_SECONDS)
    except Exception:
        return None


def _spills(worker: Any) -> bool:
    """Check whether a worker may write results to disk; it cannot if it keeps them in a plain dictionary."""
    return type(worker.data) is not dict


def _about_worker(dask_worker: Any) -> tuple[tuple[str, ...], str, bool]:
    """Versions, digest of the arithmetic, and whether results may spill. Dask requires this argument name."""
    return _versions(), bits(), _spills(dask_worker)


def _digest_of_trial(question: Question, columns: int) -> str:
    """Digest of a question's trial on a worker."""
    return trial_of(question, columns).digest


def _versions() -> tuple[str, ...]:
    return tuple(version(name) for name in ("pubpriv", "numpy", "pyarrow"))


def _written(versions: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {number}" for name, number in zip(("pubpriv", "numpy", "pyarrow"), versions, strict=True))


_SILENT = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}
"""Switches off Dask's warning about large tasks: it names the size, which is private if weights are sent."""

_clients: dict[str, Any] = {}
_lock = threading.Lock()


def _is_news(record: logging.LogRecord) -> bool:
    """Check whether a line of Dask's log is more than the loss of a scheduler, which `Unavailable` reports."""
    return record.exc_info is None and "reconnect" not in str(record.msg)


def _is_another(record: logging.LogRecord) -> bool:
    """Check whether a line of the event loop's log, which other code uses too, is more than a lost connection."""
    return record.exc_info is None or type(record.exc_info[1]).__name__ != "CommClosedError"


def _client(address: str) -> Any:
    """This process's connection to a scheduler; made again if the last one was lost."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise InvalidInput("a Dask cluster needs the package `distributed`: pip install 'pubpriv[dask]'") from None
    with _lock:
        known = _clients.get(address)
        while known is not None and known.status == "connecting":  # lost: wait while Dask reconnects by itself
            time.sleep(0.1)
        if known is not None and known.status == "running":
            return known
        try:
            dask.config.set(_SILENT)
            for name in ("distributed.batched", "distributed.client"):
                logging.getLogger(name).addFilter(_is_news)
            logging.getLogger("tornado.application").addFilter(_is_another)
            _clients[address] = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False, name="pubpriv")
        except (OSError, TimeoutError):
            raise Unavailable(f"the Dask scheduler at {address} does not answer: start it, or try again") from None
        return _clients[address]


def _ask_workers(client: Any, address: str, ask: Callable[..., Any]) -> dict[str, Any]:
    """Ask each worker for what `ask` returns there, by worker.

    Raises:
        InvalidInput: a worker cannot answer, because pubpriv is not installed there.
        Unavailable: a worker does not answer.
    """
    failure: PubPrivError
    try:
        facts: dict[str, Any] = client.sync(client.run, ask, callback_timeout=_WORKERS_SECONDS)
    except (OSError, TimeoutError):  # a connection was lost, or a worker is stopped
        failure = Unavailable(f"a worker of the Dask cluster at {address} does not answer: end it, or try again")
    except Exception:
        failure = InvalidInput(
            f"the Dask workers at {address} cannot run pubpriv {version('pubpriv')}: install it there, as it is here"
        )
    else:
        return facts
    raise failure
