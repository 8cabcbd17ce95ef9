"""The mixture algorithms of Bie, Kamath and Singhal 2022, appendix C, as written, with their errata mended.

| algorithm | here |
|---|---|
| 3, superclustering of public points | `tree` |
| 4, private principal components | `clustering` |
| 5, 8, the search for a ball that splits a group | `clustering` |
| 6, 9, hard and easy clustering | `tree`, `clustering` |
| 7, 10, the estimators | `driver`, `estimate` |

"Mended" in a docstring marks a departure from the printed paper; `docs/errata.md` gives the reason. Notation: n private
rows, m public rows, d columns, k components, ell = min(k, d) dimensions of a subspace, w smallest weight. Coordinates
are the data's own, shifted by the public mean and divided by one number: the algorithms measure with balls, which a
scale per column would deform.
"""
