"""Blocks on a Dask cluster: `distributed.Client(address).get_executor()`, and what private totals need around it.

A worker reads rows and returns exact totals, so **every worker is inside the trust boundary**, and so is the
network between them (`tls://` addresses encrypt it; the scheduler runs whatever a client sends). Beyond that:

- Totals stay in memory: a worker that may spill to disk is refused, at the start and before each block.
- A worker whose arithmetic gives other bits than this machine's is refused likewise: which worker reads a row group is
  chance, and a record must become the same integers wherever it is read.
- Nothing but totals comes back. A worker logs the text of whatever a task raises and sends it on, so what is
  raised there has one text.
- Task keys are random, not hashes of content; a total is let go of as soon as it has arrived.

What goes out is a question and the name of a row group, both public. Where the unit is a person, the weights of its
rows go with it, and how many there are is private: they stay in the memory of scheduler and workers, and neither they
nor their number are logged. (Dask's dashboard shows how many tasks there are: it is for those who may know.) Totals
are sums of integers, so what is lost costs time: what a worker had that died, or that failed, is read again, perhaps by
another one, and the bits are the same.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from importlib.metadata import version
from itertools import islice
from queue import Empty, Queue
from typing import Any, ClassVar, TypeVar

from pubpriv.data.arithmetic import bits
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable

_R = TypeVar("_R")

_CONNECT_SECONDS = 20
"""Time in which a scheduler must answer. One that is lost in mid-scan has twice as long to come back."""

_WORKERS_SECONDS = 60.0
"""Time in which every worker must say what it is, and a total must arrive."""

_SILENT_SECONDS = 900.0
"""Time after which a scan gives up a cluster that finishes nothing. Dask itself gives up a worker after five minutes,
and has its pieces read by others."""

_TRIES = 3
"""Times that a task is sent: its worker, or the store that it reads, may be out of reach for a while."""

_AHEAD = 128
"""Tasks that are under way, so that neither this process nor the scheduler holds more for a longer table."""

_ADDRESS = re.compile(r"(tcp|tls)://[^\s/@?#]+:\d+")


class _BlockFailed(Exception):
    """What a worker raises, whatever happened there."""

    def __init__(self, *_: object) -> None:
        super().__init__("a block could not be read on a worker")


def _checked_address(address: str) -> str:
    """`address`, if it is one.

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
        """Why the last scan gave it up; empty: it did not."""

    def check(self) -> None:
        """Connect, and look at every worker; to be called before anything is paid for.

        Raises:
            InvalidInput: `distributed` is not installed here, or a worker has other versions, gives other bits or may
                spill to disk.
            Unavailable: the scheduler does not answer, or a worker; or there is none.
        """
        workers = _ask_workers(_client(self.address), self.address)
        if not workers:
            raise Unavailable(f"the Dask cluster at {self.address} has no worker: start one, or run without --dask")
        here = _versions()
        for name, (versions, arithmetic, spills) in sorted(workers.items()):
            if versions != here:
                raise InvalidInput(
                    f"the Dask worker {name} has {_written(versions)}, and this is {_written(here)}: install the same"
                )
            if arithmetic != bits():
                raise InvalidInput(
                    f"the arithmetic of the Dask worker {name} gives other bits than this machine's: run workers on "
                    "processors of one kind, or give all of them, and this one, the same OPENBLAS_CORETYPE and "
                    "NPY_DISABLE_CPU_FEATURES"
                )
            if spills:
                raise InvalidInput(f"the Dask worker {name} may write private totals to its disk: {_HOW_NOT_TO_SPILL}")

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
        """Yield what `fn` gives for each piece, as it comes and in no order: what a scan makes of it is a sum.

        Each piece counts once: a task is sent again when it was given up, and what it gives then is not asked for.

        Args:
            fn: is sent with each task.
            iterables: of its arguments.
            timeout: without effect; see `_SILENT_SECONDS`.
            chunksize: pieces of a task.

        Raises:
            Unavailable: the scheduler does not answer, or nothing has come for a quarter of an hour.
            _BlockFailed: a task failed at the last of its tries.
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
        """Dask's own future of a task, which goes to `done` when it has ended, or its scheduler was lost.

        One of Dask's executor never ends where the scheduler is lost while a result is fetched. What is tried again
        goes first: where each try waits for a store that does not answer, the last one comes before all tasks had one.
        """
        client = _client(self.address)
        future = client.submit(_on_worker, bits(), _of_each, fn, task, pure=False, priority=tries)
        future.add_done_callback(done.put)
        return future

    def __repr__(self) -> str:
        return f"Cluster({self.address!r})"


_HOW_NOT_TO_SPILL = (
    "start it with DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False and DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False "
    "in its environment"
)


def _on_worker(expected: str, step: Callable[..., _R], *args: Any, **kwargs: Any) -> _R:
    """`step`'s result, computed on a worker that keeps results in memory and whose arithmetic gives `expected`.

    Raises:
        _BlockFailed: whatever went wrong; a worker would log the text of anything else.
    """
    from distributed import get_worker

    if not _spills(get_worker()) and bits() == expected:
        try:
            return step(*args, **kwargs)
        except Exception:  # noqa: S110 - the cause may quote a row, so it ends here
            pass
    raise _BlockFailed


class _Task(tuple[tuple[Any, ...], ...]):
    """Pieces that go together. A worker logs what fails, and their number shows how many there are in all."""

    def __repr__(self) -> str:
        return "<_Task>"


def _of_each(fn: Callable[..., _R], task: _Task) -> list[_R]:
    return [fn(*piece) for piece in task]


def _result_of(future: Any) -> Any:
    """What an ended task gave; None: it failed, or what it gave was lost."""
    try:
        return future.result(timeout=_WORKERS_SECONDS)
    except Exception:
        return None


def _spills(worker: Any) -> bool:
    """Tell whether a worker may write results to disk: it keeps them in a plain dictionary, or it may."""
    return type(worker.data) is not dict


def _about_worker(dask_worker: Any) -> tuple[tuple[str, ...], str, bool]:
    """Versions and bits of the arithmetic, and whether results may be spilled; Dask passes the worker by this name."""
    return _versions(), bits(), _spills(dask_worker)


def _versions() -> tuple[str, ...]:
    return tuple(version(name) for name in ("pubpriv", "numpy", "pyarrow"))


def _written(versions: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {number}" for name, number in zip(("pubpriv", "numpy", "pyarrow"), versions, strict=True))


_SILENT = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}
"""Dask would warn of much that is sent, by its size: that of a private table, where weights go with it."""

_clients: dict[str, Any] = {}
_lock = threading.Lock()


def _is_news(record: logging.LogRecord) -> bool:
    """Tell whether a line of Dask's log says anything but that a scheduler was lost, which `Unavailable` says."""
    return record.exc_info is None and "reconnect" not in str(record.msg)


def _is_another(record: logging.LogRecord) -> bool:
    """Tell whether a line of the event loop's log, which others write to as well, is about anything but a lost line."""
    return record.exc_info is None or type(record.exc_info[1]).__name__ != "CommClosedError"


def _client(address: str) -> Any:
    """The connection of this process to a scheduler; made anew where the last one was lost."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise InvalidInput("a Dask cluster needs the package `distributed`: pip install 'pubpriv[dask]'") from None
    with _lock:
        known = _clients.get(address)
        while known is not None and known.status == "connecting":  # it was lost, and Dask tries for so long by itself
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


def _ask_workers(client: Any, address: str) -> dict[str, Any]:
    """What each worker says of itself.

    Raises:
        InvalidInput: one cannot.
        Unavailable: one does not answer.
    """
    failure: PubPrivError
    try:
        facts: dict[str, Any] = client.sync(client.run, _about_worker, callback_timeout=_WORKERS_SECONDS)
    except (OSError, TimeoutError):  # the connection to one was lost, or one is stopped
        failure = Unavailable(f"a worker of the Dask cluster at {address} does not answer: end it, or try again")
    except Exception:
        failure = InvalidInput(
            f"the Dask workers at {address} cannot run pubpriv {version('pubpriv')}: install it there, as it is here"
        )
    else:
        return facts
    raise failure
