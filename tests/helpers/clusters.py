"""Dask clusters of this machine, for tests."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.dask_cluster import Processes, running
from helpers.waiting import eventually
from pubpriv.data.cluster import Cluster, _client


@contextmanager
def prepared(workers: int, settings: dict[str, str] | None = None) -> Iterator[Processes]:
    """A cluster of processes, all of whose workers have joined."""
    with running(workers, settings) as cluster:
        await_workers(cluster, workers)
        yield cluster


def await_workers(cluster: Processes, count: int) -> None:
    """Wait until a cluster has so many workers."""
    client = _client(cluster.address)
    eventually(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == count, f"{count} workers", 120, 0.1)


class Struck(Cluster):
    """A cluster to which something happens in mid-scan: after so many totals have come."""

    def __init__(self, address: str, after: int, strike: Callable[[], None]) -> None:
        super().__init__(address)
        self._after, self._strike, self.struck = after, strike, False

    def map(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """As ever, but for that."""
        for number, each in enumerate(super().map(*args, **kwargs)):
            if number == self._after and not self.struck:
                self.struck = True
                self._strike()
            yield each
