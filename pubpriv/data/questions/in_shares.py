"""Questions in which a record is divided among Gaussian components, instead of going to the likeliest one."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pubpriv.data._checks import integer, kind
from pubpriv.data.codec import public_value
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.images import MOST_SHARES
from pubpriv.data.questions._moments import LiftedGram, Moments
from pubpriv.data.questions.base import Delegating, InGrains, Totals
from pubpriv.data.regions import Cells, View
from pubpriv.errors import InvalidInput


@public_value
@dataclass(frozen=True)
class InShares(Delegating, InGrains):
    """Another question, in which each record adds to all components, in shares by how likely it is to be of each.

    The partition of the inner question is `Cells`, or shells about cells of which all but the innermost are shared. A
    record that the partition gives to a component has integer weights a_j in [0, G], G = `grain`, in all of them
    (`Cells.shares`), which add up to G; one in a shared shell, or in another region without a frame, weighs G there;
    one in no region weighs nothing. The exact totals are T = sum over records of sum_j a_j e_j (x) phi_j(x), where
    phi_j(x) is what a record adds to region j in the inner question; they are what it would answer, times G.

    Sensitivity (replace-one): let Phi be the set of all e_j (x) phi_j(x), of all regions and records, with 0, and S the
    inner question's squared distance. Its proof holds for any partition, so S bounds the squared distance, in units
    of the noise, of any two elements of Phi: a record may be replaced by any other in any region, or come or go. A
    record adds sum_j a_j e_j (x) phi_j(x) with a_j >= 0 and sum_j a_j <= G, which is G u for a u in the convex hull of
    Phi, as 0 is in Phi. Its weights are a function of the record, of its place and of public values, so others do not
    move. A replacement changes the totals by G (u - v) with u, v in the hull. |u - v| is convex in u and in v, so it is
    largest where both are in Phi itself: a set and its convex hull have one diameter. Hence the squared distance is at
    most G^2 S, and S in units of the inner noise: shares cost as much as hard regions do.

    The longest a record adds is G sqrt(f) by the same argument, f the inner question's `squared_length`. By region, a
    record adds a_j phi_j(x), of length a_j sqrt(f) at most, to region j, and these lengths add up to G sqrt(f): two
    records move all regions by 2 G sqrt(f) together, as `Radial` requires. A person's rows add the sum over them of
    b_r a_rj phi_j(x_r), which is G B L u for a u in the hull, with B and L as in `PerPerson`.

    Attributes:
        inner: the question, over cells.
        grain: G, a power of two.

    Raises:
        InvalidInput: another question, another partition, or G out of bounds.
    """

    inner: LiftedGram | Moments
    grain: int

    def __post_init__(self) -> None:
        kind("the question of shares", self.inner, LiftedGram, Moments)
        integer("the grain of shares", self.grain, 1)
        if self.grain > MOST_SHARES or self.grain & (self.grain - 1):
            raise InvalidInput(f"the grain of shares is a power of two, at most {MOST_SHARES}")
        partition = self.inner.partition
        kind("the partition of shares", partition, Cells, ComponentShells)
        if isinstance(partition, ComponentShells) and (partition.own > 1 or partition.frames):
            raise InvalidInput("shares are of whole components: all shells but the innermost are shared")
        if len(self.inner.frames) != self._cells.n_regions:
            raise InvalidInput("shares are of components, each with a frame")

    @property
    def _cells(self) -> Cells:
        partition = self.inner.partition
        return partition.cells if isinstance(partition, ComponentShells) else partition  # type: ignore[return-value]

    @property
    def squared_distance(self) -> Fraction:
        """That of the inner question."""
        return self.inner.squared_distance

    @property
    def squared_length(self) -> Fraction:
        """That of the inner question."""
        return self.inner.squared_length

    def totals(self, view: View) -> Totals:
        """Return exact totals over one block, in grains; records in no component weigh nothing in any."""
        labels = self.inner.partition.assign(view)
        within = (labels >= 0) & (labels < self._cells.n_regions)
        shares = np.where(within, self._cells.shares(view, self.grain), 0.0)
        return self.inner.weighed(view, labels, shares, self.grain)
