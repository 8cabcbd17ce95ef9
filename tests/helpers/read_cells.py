"""What the reader of private tables reads, for tests of formats."""

import numpy as np


def cells(table):
    """All cells that are read (n, d), in order."""
    found = []
    for chunk in table.chunks():
        read = np.concatenate([block.copy() for block in chunk.blocks()], axis=1)
        found.append(read[:, : chunk.piece.rows])
    return np.concatenate(found, axis=1).T


def keys_of(table):
    """Keys of the persons of all rows, in order."""
    return np.concatenate([np.concatenate([*chunk.keys()]) for chunk in table.chunks()])
