"""What algorithm 6 asks of private rows: principal components (algorithm 4) and one Q_priv for each group."""

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.balls import Balls, Cylinder
from pubpriv.data.questions import Counts, LiftedGram
from pubpriv.estimators.mixture.bks.constants import CONSTANTS, least_private
from pubpriv.estimators.mixture.bks.queries import Split
from pubpriv.estimators.mixture.bks.tree import Level, Tree
from pubpriv.estimators.mixture.linear import one_thread
from pubpriv.estimators.mixture.pca import Subspaces
from pubpriv.estimators.plans import Ask
from pubpriv.estimators.steps import step


@step(title="private PCA", private=True)
@one_thread
def level_pca(curator: Curator, level: Level, n_components: int, ask: Ask) -> Subspaces:
    """The top k directions of each open group about its centre: algorithm 4 for a whole level.

    Mended: lemma C.19's sensitivity of the second moment is sqrt(2) r^2, and noise with half the variance off the
    diagonal is shaped like it.

    Privacy: `LiftedGram.second_moment` over disjoint groups, mu^2 <= ask.price for all of them together.
    """
    partition = Balls(level.tree.balls, level.tree.open)
    question = LiftedGram.second_moment(partition, level.frames, level.radii, ask.price)
    moments = curator.release(question, ask.label).values["moment"]
    bases = [np.linalg.eigh(moment)[1][:, ::-1][:, :n_components].T for moment in moments]
    return Subspaces(tuple(tuple(map(tuple, basis.tolist())) for basis in bases))


@step(title="partition", private=True)
def private_query(
    curator: Curator, tree: Tree, splits: tuple[Split, ...], weight: float, constants: str, ask: Ask
) -> tuple[Split, ...]:
    """Q_priv of algorithm 5 for a whole level: the splits that the private rows agree to.

    Asked of each group is how many rows lie in the ball, in the shell and beyond, in one joint `Counts` over three
    disjoint regions a group. The test min(c1 - t, c3 - t, tau - c2) >= 0 is post-processing. (The test's own margin
    is less by at most one for a replaced record, so a question that adds noise to it would need the same noise sd,
    sqrt(2 / mu^2): a replaced record may change two groups. The counts say more for that price.)

    Mended: one Q_priv for each partition, and bottom if it fails; the proofs charge one count where the printed
    algorithm asks three for every candidate.

    Privacy: one `Counts` over a partition, mu^2 <= ask.price for all groups together.

    Raises:
        ValueError: two splits of one group.
    """
    if len({split.path for split in splits}) != len(splits):
        raise ValueError("a group may be asked about one split only")
    balls, paths = list(tree.balls), []
    for split in splits:
        inner, outer = len(balls), len(balls) + 1
        balls += [Cylinder(split.frame, split.inner), Cylinder(split.frame, split.outer)]
        paths += [
            (*split.path, (inner, True)),
            (*split.path, (inner, False), (outer, True)),
            (*split.path, (inner, False), (outer, False)),
        ]
    question = Counts.priced(Balls(tuple(balls), tuple(paths)), ask.price)
    counts = curator.release(question, ask.label).values["count"].reshape(-1, 3)
    known = CONSTANTS[constants]
    least = least_private(known, curator.n_rows, weight)
    margins = [min(c1 - least, c3 - least, known.shell_share * least - c2) for c1, c2, c3 in counts]
    return tuple(split for split, margin in zip(splits, margins, strict=True) if margin >= 0)
