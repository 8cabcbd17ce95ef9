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
nor their number stand in a log. (Dask's dashboard shows how many tasks there are: it is for those who may know.) Totals
are sums of integers, so a worker that dies costs time: its blocks are read again by another one, and the bits are the
same.
"""

import re
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from importlib.metadata import version
from typing import Any, ClassVar, TypeVar

from pubpriv.data.arithmetic import bits
from pubpriv.errors import InvalidInput, Unavailable

_R = TypeVar("_R")

_CONNECT_SECONDS = 15

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

    def check(self) -> None:
        """Connect, and look at every worker; to be called before anything is paid for.

        Raises:
            InvalidInput: `distributed` is not installed here, or a worker has other versions, gives other bits or may
                spill to disk.
            Unavailable: the scheduler does not answer, or has no worker.
        """
        workers = _told_by_workers(_client(self.address), self.address)
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


def _spills(worker: Any) -> bool:
    """Whether a worker may write results to disk: it keeps them in a plain dictionary, or it may."""
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


def _client(address: str) -> Any:
    """The connection of this process to a scheduler; made anew where the last one was lost."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise InvalidInput("a Dask cluster needs the package `distributed`: pip install 'pubpriv[dask]'") from None
    with _lock:
        known = _clients.get(address)
        if known is not None and known.status == "running":
            return known
        try:
            dask.config.set(_SILENT)
            _clients[address] = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False, name="pubpriv")
        except (OSError, TimeoutError):
            raise Unavailable(f"the Dask scheduler at {address} does not answer: start it, or try again") from None
        return _clients[address]


def _told_by_workers(client: Any, address: str) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = client.run(_about_worker)
    except Exception:
        facts = {}
        failed = True
    else:
        failed = False
    if failed:
        raise InvalidInput(
            f"the Dask workers at {address} cannot run pubpriv {version('pubpriv')}: install it there, as it is here"
        )
    return facts
