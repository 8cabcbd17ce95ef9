"""Noise from the system's entropy: discrete Gaussians (OpenDP) or radial vectors (`_radial`); and simulated noise.

Only the simulated source has a seed. A real run cannot be given one.
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
"""Largest integer standard deviation that is exact as a float."""

_LARGEST_SIMULATED = 2.0**62
"""Largest simulated draw: a float that fits in an int64."""

Scale = int | tuple[int, ...]
"""The sd of independent Gaussians, or the scales (N,) of one radial vector."""


class NoiseSource(Protocol):
    """Draws integer noise of mean 0.

    Implementations must return, for an integer `sd`, independent coordinates of at least that sd; for a tuple of N
    scales, a rounded vector whose density falls as exp(-|z / scales|).

    A draw beyond int64 becomes the nearer end of int64; code that adds it to a total must leave room for that.
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
        InvalidInput: a seed that is not a whole number.
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

    Simulated noise is drawn when it is used, since that takes less time than starting a thread.

    Args:
        source: source of the noise.
        label: label of the question.
        wanted: (part, sd, size) of each later draw.

    Yields:
        draw(part, sd, size), which returns each draw of `wanted` once. It raises ValueError for any other draw, and if
        the source returned another size: noise that is too short would be shared between coordinates.
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
        ValueError: sd is not positive, or too large to be passed to the sampler exactly.
    """
    if not 1 <= sd <= MAX_SD:
        raise ValueError("sd must be a positive integer that a float holds exactly")
    if size < SPLIT:
        return _drawn(sd, size)
    # OpenDP draws some fifty thousand per second and releases the GIL: draw two halves at once
    with kept_threads(2) as threads:
        return np.concatenate(list(threads.map(_drawn, (sd, sd), (size // 2, size - size // 2))))


SPLIT = 1000
"""From this number of coordinates on, noise is drawn in two threads."""


class _OpenDP(threading.local):
    """OpenDP's descriptions of integer vectors, made once per thread, since making them takes as long as ten draws.

    Threads do not share them, because OpenDP does not promise that its objects are thread-safe.
    """

    @cached_property
    def integers(self) -> tuple[Any, Any]:
        """(domain, metric) of vectors of any length."""
        # not `opendp.prelude`: it loads scikit-learn, which takes three times as long as everything here
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
