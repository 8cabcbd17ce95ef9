"""A mixture without public rows, after Kamath, Sheffet, Singhal and Ullman 2019, in a form for tables of usual size.

| paper | here |
|---|---|
| PGLOC, a box around the rows | `tree.zoom`: counts of a column's bins, the box of the full ones, again |
| PCA of a part | `tree.look`: second moments of all parts at once |
| RPGMP, recursion by terrific balls | `grid`, `tree.split`: a grid over the directions, refined where it is full |
| PGME, the Gaussian of each part | `driver`: a coarse center and spread, then the rounds of the default pipeline |
| PSGE, of round components | the same with one variance for all columns |

Printed constants need a thousand million rows (lemma 4.2); ours are measured (`pubpriv bench mixture --part kssu`). We
keep the bound R on all columns, the smallest weight, and the recursion for components within each other's reach.
Accounting departs from the printed paper, see `docs/errata.md`: replacing a record moves it from one part to another,
all parts of a level are asked together, and shares are fixed beforehand.
"""
