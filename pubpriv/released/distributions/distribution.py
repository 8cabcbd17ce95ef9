"""The distribution of a column: rows between edges, and the shape of the public rows inside."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pubpriv.released.distributions.cells import CellNoise, KnownRows, Missing
from pubpriv.released.distributions.grain import Grain
from pubpriv.released.distributions.public_column import PublicColumn


@dataclass(frozen=True, eq=False)
class Distribution:
    """What is known of a column.

    Attributes:
        public: its public rows, moved if the answers say that they lie elsewhere.
        known: rows between edges.
        given: its public rows as they are.
    """

    public: PublicColumn
    known: KnownRows
    given: PublicColumn

    def value_at(self, rank: float) -> float:
        """Return the value at a rank."""
        known = self.known
        rank = min(max(rank, 0.0), known.total)
        cell = known.cell(rank)
        before, after = known.ranks(cell)
        return self.public.value(*known.borders(cell), (rank - before) / max(after - before, 1e-12))

    def values(self, count: int) -> np.ndarray:
        """Return so many values at even ranks (count,); see `values_at`."""
        return self.values_at((np.arange(count) + 0.5) / count)

    def values_at(self, shares: np.ndarray) -> np.ndarray:
        """Return the values at some ranks (q,), none further beyond the public rows than these are wide.

        What noise puts into the last cells would otherwise lie where floats end. Of a column whose values are counted
        they are among these.
        """
        public, step = self.public, self.public.grain.step
        reach = np.ceil(public.scale / step) * step if step else public.scale
        values = np.array([self.value_at(share * self.known.total) for share in shares.tolist()])
        heaps = np.array(public.grain.heaps)
        if len(heaps) and np.isin(public.rows, heaps).all():  # levels, between which there is noise alone
            values = heaps[np.abs(values[:, None] - heaps).argmin(axis=1)]
        return np.asarray(np.clip(values, public.rows[0] - reach, public.rows[-1] + reach))

    def distance_inside(self, rank: float) -> float:
        """Return how many rows lie between a rank and the nearer border of its cell, where the shape is not known."""
        cell = self.known.cell(rank)
        low, high = self.known.borders(cell)
        if self.public.grain.is_heap(low, high):
            return 0.0
        listed = self.public.grain.values_between(max(low, -1e307), min(high, 1e307))
        if listed is not None and len(listed) <= 1:
            return 0.0
        before, after = self.known.ranks(cell)
        return max(min(rank - before, after - rank), 0.0)

    def heaps(self) -> list[tuple[float, int]]:
        """List values that have a cell of their own, each with the number of the cell."""
        edges = self.known.edges
        ends = [(edges[i - 1], edges[i], i) for i in range(1, len(edges))]
        return [(high, i) for low, high, i in ends if self.public.grain.is_heap(low, high)]

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file."""
        known, public, given = self.known, self.public.thinned, self.given.thinned
        return {
            "edges": list(known.edges),
            "rows_below": list(known.below),
            "rows": known.total,
            "noise": {
                name: list(part) if isinstance(part, tuple) else part for name, part in vars(known.noise).items()
            },
            "missing": asdict(known.missing),
            "public": {"values": public.rows.tolist(), **asdict(public.grain), "heaps": list(public.grain.heaps)},
            **({} if given is public else {"given": given.rows.tolist()}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Distribution":
        """Read what `to_json` wrote.

        Raises:
            ValueError, KeyError, TypeError: numbers that are missing or impossible.
        """
        noise, public = data["noise"], data["public"]
        below, with_all, cells = (_numbers(noise[name]) for name in ("below", "with_all", "cells"))
        of_cells = CellNoise(below, with_all, cells, float(noise["all"]))
        missing = Missing(float(data["missing"]["rows"]), float(data["missing"]["sd"]))
        known = KnownRows(_numbers(data["edges"]), _numbers(data["rows_below"]), float(data["rows"]), of_cells, missing)
        grain = Grain(float(public["step"]), float(public["origin"]), _numbers(public["heaps"]))
        rows = PublicColumn(np.sort(np.array(_numbers(public["values"]))), grain)
        given = PublicColumn(np.sort(np.array(_numbers(data["given"]))), grain) if "given" in data else rows
        if not known.is_whole() or not all(len(each.rows) and np.isfinite(each.rows).all() for each in (rows, given)):
            raise ValueError("no distribution")
        return cls(rows, known, given)


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(map(float, values))
