"""Algorithms 6 and 9: which groups of rows are components, or which step could not tell."""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture.bks.ample import easy_clusters
from pubpriv.estimators.mixture.bks.constants import CONSTANTS, least_public
from pubpriv.estimators.mixture.bks.plan import BksPlan
from pubpriv.estimators.mixture.bks.private import level_pca, private_query
from pubpriv.estimators.mixture.bks.queries import grown, public_query
from pubpriv.estimators.mixture.bks.tree import Level, Tree, open_level
from pubpriv.estimators.mixture.pca import Subspaces
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.mixture.settings import MixtureSettings
from pubpriv.estimators.steps import Execution


@dataclass(frozen=True)
class Clustering:
    """What a clustering ends with.

    Attributes:
        tree: groups, none of them open.
        asked: labels of the questions that were asked.
        failure: which step left fewer than k groups; None: there are k.
    """

    tree: Tree
    asked: tuple[str, ...]
    failure: str | None


def easy_clustering(rows: PublicTable, run: Execution, scaling: Scaling, settings: MixtureSettings) -> Clustering:
    """Algorithm 9: public points alone."""
    n, k = run.curator.n_rows, settings.most
    tree = run(easy_clusters, rows, scaling, n, k, settings.smallest_weight, settings.constants)
    short = f"only {len(tree.groups)} of {k} groups were found: no ball around a public point passes Q_pub"
    return Clustering(tree, (), None if len(tree.groups) == k else short)


def hard_clustering(
    rows: PublicTable, run: Execution, scaling: Scaling, level: Level, settings: MixtureSettings, plan: BksPlan
) -> Clustering:
    """Algorithm 6, a level of the tree at a time, from its first `level` on.

    A level asks for the principal components of its open groups and then, once, about one split of each group that
    has a candidate. It ends with k groups, with a level that splits nothing (bottom), or with its last level: each
    level adds a group, so k - 1 are enough.
    """
    k, weight, constants = settings.most, settings.smallest_weight, settings.constants
    least = least_public(CONSTANTS[constants], len(rows.rows), weight)
    asked: list[str] = []
    for number, asks in enumerate(plan.levels, start=1):
        if len(level.tree.groups) == k:
            break
        here = run.at(f"(level {number})")
        where = f"only {len(level.tree.groups)} of {k} groups were found: on level {number} of the tree, "
        if not level.tree.open:
            short = f"{where}no group has the {2 * least:.0f} public points that it takes to split it"
            return Clustering(level.tree, tuple(asked), short)
        subspaces = _whole(level, len(rows.columns))
        if asks.pca is not None:
            asked.append(asks.pca.label)
            subspaces = here(level_pca, level, k, asks.pca)
        splits = here(public_query, rows, scaling, level, subspaces, weight, constants)
        if not splits:
            return Clustering(level.tree.closing(), tuple(asked), f"{where}no ball around a public point passes Q_pub")
        asked.append(asks.query.label)
        passed = here(private_query, level.tree, splits, weight, constants, asks.query)
        if not passed:
            return Clustering(level.tree.closing(), tuple(asked), f"{where}the private rows agree to no split (Q_priv)")
        below = run.at(f"(level {number + 1})")
        level = below(open_level, rows, scaling, grown(level, passed, k), k, weight, constants)
    return Clustering(level.tree.closing(), tuple(asked), None)


def _whole(level: Level, d: int) -> Subspaces:
    """All of R^d for every open group, where there is nothing to reduce."""
    identity = tuple(map(tuple, np.eye(d).tolist()))
    return Subspaces((identity,) * len(level.tree.open))
