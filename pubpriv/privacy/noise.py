"""Noise: discrete Gaussians from OpenDP or radial vectors (`radial`), by the system's entropy; a rounded twin for both.

A seed exists in the simulated source only. A real run cannot be given one.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from pubpriv.common.threads import kept_threads
from pubpriv.errors import InvalidInput
from pubpriv.privacy._radial import rounded_radial

MAX_SD = 1 << 53
"""Integer standard deviations up to here are floats without rounding."""

_LARGEST_SIMULATED = 2.0**62
"""A float that an int64 holds."""

Scale = int | tuple[int, ...]
"""The sd of independent Gaussians, or the scales (N,) of one radial vector."""


class NoiseSource(Protocol):
    """Draws integer noise of mean 0.

    Implementers owe, for an integer `sd`, independent coordinates of at least that sd; for a tuple of N scales, a
    rounded vector whose density falls as exp(-|z / scales|).

    A draw that int64 cannot hold is the nearer end of int64: whoever adds it to a total leaves room for that.
    """

    private: bool

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:
        """Return int64 (size,)."""


class OperatingSystemNoise:
    """Exact discrete Gaussians (Canonne, Kamath and Steinke 2020) by OpenDP, and exactly rounded radial vectors."""

    private = True

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:  # noqa: ARG002 - real noise knows no label
        """Return int64 (size,), independent of every other draw."""
        if isinstance(sd, tuple):
            return np.array([max(_LEAST, min(_MOST, z)) for z in _radial(sd, size)], dtype=np.int64)
        return _discrete_gaussian(sd, size)


class SimulatedNoise:
    """A rounded Gaussian or radial vector on the same lattice, from a seed: for simulations, and NOT private.

    Each draw depends on (seed, label, part) alone, so results do not depend on the order of the steps.

    Raises:
        InvalidInput: a seed that is no whole number.
    """

    private = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise InvalidInput(f"the seed of a simulation is a whole number, not {seed!r}: one seed is one noise")
        self._seed = seed

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:
        """Return int64 (size,)."""
        digest = hashlib.sha256(f"{self._seed}\x1f{label}\x1f{part}".encode()).digest()
        generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
        if isinstance(sd, tuple):
            direction = generator.standard_normal(size)
            drawn = np.rint(direction / np.linalg.norm(direction) * generator.gamma(size) * np.array(sd, dtype=float))
        else:
            drawn = np.rint(generator.normal(0.0, float(sd), size))
        return np.asarray(np.clip(drawn, -_LARGEST_SIMULATED, _LARGEST_SIMULATED).astype(np.int64))


@contextmanager
def drawn_beside(
    source: NoiseSource, label: str, wanted: Sequence[tuple[str, Scale, int]]
) -> Iterator[Callable[[str, Scale, int], np.ndarray]]:
    """Draw noise while rows are read: it depends on public scales and sizes alone.

    Simulated noise is drawn where it is wanted: it takes less time than a thread's start.

    Args:
        source: of the noise.
        label: of the question.
        wanted: (part, sd, size) of each draw to come.

    Yields:
        draw(part, sd, size): each draw of `wanted` once. It raises ValueError for any other, and where the source
        gave another number of them: a question that asks for less noise than it announced would share it out.
    """
    begun: dict[tuple[str, Scale, int], Callable[[], np.ndarray]]
    begun = {each: partial(source.draw, label, *each) for each in wanted}

    def draw(part: str, sd: Scale, size: int) -> np.ndarray:
        if (part, sd, size) not in begun:
            raise ValueError("noise that was not announced, or was handed out already")
        noise = begun.pop((part, sd, size))()
        if noise.shape != (size,) or noise.dtype != np.int64:
            raise ValueError("noise of another shape than was announced")
        return noise

    with kept_threads(1) if source.private else nullcontext() as thread:
        if thread is not None:
            begun = {each: thread.submit(drawn).result for each, drawn in begun.items()}
        yield draw


_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def _radial(scales: tuple[int, ...], size: int) -> list[int]:
    """One radial vector.

    Raises:
        ValueError: another number of scales than `size`, or one that is not a positive integer.
    """
    if len(scales) != size:
        raise ValueError("radial noise needs a scale for each coordinate")
    return rounded_radial(scales)


def _discrete_gaussian(sd: int, size: int) -> np.ndarray:
    """`size` independent discrete Gaussians of integer standard deviation `sd`, as int64.

    Raises:
        ValueError: sd is not positive, or too large for the sampler to take exactly.
    """
    if not 1 <= sd <= MAX_SD:
        raise ValueError("sd must be a positive integer that a float holds exactly")
    if size < SPLIT:
        return _drawn(sd, size)
    # OpenDP draws some fifty thousand a second and leaves Python to others meanwhile: two halves at once
    with kept_threads(2) as threads:
        return np.concatenate(list(threads.map(_drawn, (sd, sd), (size // 2, size - size // 2))))


SPLIT = 1000
"""So many coordinates are drawn in two threads."""


class _OpenDP(threading.local):
    """OpenDP's vectors of integers: to say what these are takes it as long as ten draws, so a thread says it once.

    Threads share none, for nobody promises that its objects may be used by two at a time.
    """

    @cached_property
    def integers(self) -> tuple[Any, Any]:
        """(domain, metric) of vectors of any length."""
        # not `opendp.prelude`, which loads scikit-learn, three times what all of this takes
        from opendp.domains import atom_domain, vector_domain
        from opendp.metrics import l2_distance
        from opendp.mod import enable_features

        enable_features("contrib")
        return vector_domain(atom_domain(T="i64")), l2_distance(T=float)


_opendp = _OpenDP()


def _drawn(sd: int, size: int) -> np.ndarray:
    from opendp.measurements import make_gaussian

    mechanism = make_gaussian(*_opendp.integers, scale=float(sd))
    return np.array(mechanism(np.zeros(size, dtype=np.int64)), dtype=np.int64)
