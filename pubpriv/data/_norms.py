"""Squared norms that a scan of a small table leaves for later ones.

To map records takes most of a scan, and a question of their lengths alone may come after one that mapped them by the
same frames. Like remembered blocks (`memory`), norms stay in the process, and change no bit of an answer.
"""

from collections import defaultdict

import numpy as np

from pubpriv.data.confined import Confined
from pubpriv.data.frames import Frame

NormsOf = dict[int, dict[Frame, list[np.ndarray]]]
"""Squared norms by chunk and frame, block after block."""


class KeptNorms(Confined):
    """Squared norms of the records of one chunk, for one scan: those that are known, and those that it leaves itself.

    Args:
        memory: what is known; when the chunk was read to its end, what this scan made replaces it.
        number: of the chunk.
        most: frames whose norms are kept; of a question that maps by more, none are.
    """

    def __init__(self, memory: NormsOf, number: int, most: int) -> None:
        self._memory, self._number, self._most = memory, number, most
        self._frames: dict[int, Frame] = {}  # to compare frames takes long, so it is done once a chunk
        self._known: dict[int, list[np.ndarray] | None] = {}
        self._made: defaultdict[int, dict[int, np.ndarray]] = defaultdict(dict)
        self._block = 0

    def find(self, frame: Frame) -> np.ndarray | None:
        """Norms (length,) of the block that is at hand; None: they are not known."""
        if id(frame) not in self._known:
            self._frames[id(frame)] = frame
            self._known[id(frame)] = self._memory.get(self._number, {}).get(frame)
        known = self._known[id(frame)]
        return None if known is None else known[self._block]

    def keep(self, frame: Frame, norms: np.ndarray) -> None:
        """Keep what was made of the block that is at hand; cells by themselves are mapped as quickly as looked up."""
        if frame.matrix is not None:
            norms.flags.writeable = False
            self._frames[id(frame)] = frame
            self._made[id(frame)][self._block] = norms

    def next_block(self) -> None:
        """Go on to the next block."""
        self._block += 1

    def close(self) -> None:
        """Leave what was made of all blocks to later scans; if nothing was, what was known."""
        whole = {self._frames[key]: [*made.values()] for key, made in self._made.items() if len(made) == self._block}
        if 0 < len(whole) <= self._most:
            self._memory[self._number] = whole
