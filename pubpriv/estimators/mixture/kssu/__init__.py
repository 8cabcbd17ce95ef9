"""A mixture without public rows, after Kamath, Sheffet, Singhal and Ullman 2019, in a form that ordinary tables feed.

| there | here |
|---|---|
| PGLOC, a box about the rows | `tree.zoom`: counts of a column's bins, the box of the full ones, again |
| PCA of a part | `tree.look`: second moments of all parts at once |
| RPGMP, recursion by terrific balls | `grid`, `tree.split`: a grid over the directions, cut finer where it is full |
| PGME, the Gaussian of each part | `driver`: a coarse center and spread, then the rounds of the default pipeline |
| PSGE, of round components | the same with one variance for all columns |

Printed constants take a thousand million rows (lemma 4.2); ours are measured (`pubpriv bench mixture --part kssu`).
Taken over are the bound R on all columns, the smallest weight, and the recursion for components inside each other's
reach. Accounting departs from print, see `docs/errata.md`: replacing a record moves it out of one part and into
another, all parts of a level are asked together, and shares are fixed beforehand.
"""
