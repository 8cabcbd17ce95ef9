"""Constants of the algorithms, by name: as printed, or as they work in practice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Constants as the paper's proofs require, or as suffice for Gaussian data.

    Attributes:
        supercluster: r of algorithm 3, divided by the largest distance of a public point to its nearest neighbour.
        public_shell: a ball passes Q_pub if no public point lies between its radius and this many times that radius.
        public_share: least public points inside and outside, divided by m w; at least `_LEAST_POINTS`.
        private_share: least private rows inside and outside, divided by n w.
        shell_share: most private rows in the shell, divided by the least rows inside.
        widest: try the radii of all points and take the ball with the widest gap, with its shell in the middle of the
            gap; else halve radii from r_max on and take the first ball that passes, with the shell (2 r, 10 r].
        tight: centre principal components at the public mean and clip a little beyond the public points; else use the
            ball of algorithm 3.
    """

    supercluster: float
    public_shell: float
    public_share: float
    private_share: float
    shell_share: float
    widest: bool
    tight: bool

    @classmethod
    def named(cls, name: str) -> "Constants":
        """Look up the constants `paper` or `practical`."""
        return _CONSTANTS[name]

    def least_public(self, m: int, weight: float) -> float:
        """t of Q_pub: public points that a group needs inside and outside its ball."""
        return max(float(_LEAST_POINTS), self.public_share * m * weight)

    def least_private(self, n: int, weight: float) -> float:
        """t of Q_priv: private rows that a group needs inside and outside its ball."""
        return self.private_share * n * weight


_LEAST_POINTS = 2
"""Least public points of a group: as printed, a single point passes as a component if m w / 2 < 1."""

_CONSTANTS = {
    "paper": Constants(16.0, 11.0, 1 / 2, 1 / 4, 1 / 320, widest=False, tight=False),
    "practical": Constants(2.0, 2.0, 1 / 3, 1 / 4, 1 / 20, widest=True, tight=True),
}
