"""Squared norms that a scan of a small table keeps for later scans.

Mapping records takes most of a scan's time. A question that needs only lengths may follow one that mapped the records
by the same frames. Like remembered blocks (`memory`), norms stay in the process and change no bit of an answer.
"""

from collections import defaultdict

import numpy as np

from pubpriv.data.confined import Confined
from pubpriv.data.frames import Frame
from pubpriv.data.score_frames import AnyFrame

NormsOf = dict[int, dict[AnyFrame, list[np.ndarray]]]
"""Squared norms by chunk and frame, block after block."""


class KeptNorms(Confined):
    """Squared norms of one chunk during one scan: those known from earlier scans, and those this scan computes.

    Args:
        memory: the known norms; once the chunk is read to its end, those of this scan replace them.
        number: of the chunk.
        most: number of frames whose norms are kept; if a question uses more frames, nothing is kept.
    """

    def __init__(self, memory: NormsOf, number: int, most: int) -> None:
        self._memory, self._number, self._most = memory, number, most
        self._frames: dict[int, AnyFrame] = {}  # comparing frames is slow, so it is done once per chunk
        self._known: dict[int, list[np.ndarray] | None] = {}
        self._made: defaultdict[int, dict[int, np.ndarray]] = defaultdict(dict)
        self._block = 0

    def find(self, frame: AnyFrame) -> np.ndarray | None:
        """Return known norms (length,) of the current block, or None."""
        if id(frame) not in self._known:
            self._frames[id(frame)] = frame
            self._known[id(frame)] = self._memory.get(self._number, {}).get(frame)
        known = self._known[id(frame)]
        return None if known is None else known[self._block]

    def keep(self, frame: AnyFrame, norms: np.ndarray) -> None:
        """Keep norms of the current block, unless the frame has no matrix: then computing is as fast as a look-up."""
        if not isinstance(frame, Frame) or frame.matrix is not None:
            norms.flags.writeable = False
            self._frames[id(frame)] = frame
            self._made[id(frame)][self._block] = norms

    def next_block(self) -> None:
        """Go on to the next block."""
        self._block += 1

    def close(self) -> None:
        """Replace the known norms by those of this scan that cover all blocks, if there are any."""
        whole = {self._frames[key]: [*made.values()] for key, made in self._made.items() if len(made) == self._block}
        if 0 < len(whole) <= self._most:
            self._memory[self._number] = whole
