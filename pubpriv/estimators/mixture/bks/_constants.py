"""Constants of the algorithms, as printed or as they work, by name."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """What the paper's proofs ask for, or what suffices for Gaussian data.

    Attributes:
        supercluster: r of algorithm 3 over the largest distance of a public point to its nearest neighbour.
        public_shell: a ball passes Q_pub if no public point lies between its radius and so many times that.
        public_share: least public points inside and outside, over m w; at least `_LEAST_POINTS`.
        private_share: least private rows inside and outside, over n w.
        shell_share: most private rows in the shell, over the least rows inside.
        widest: radii are those of the points and the ball with the widest gap is taken, its shell the middle of
            the gap; else radii halve from r_max on and the first ball that passes is taken, its shell
            (2 r, 10 r].
        tight: principal components are centred at the public mean and clipped a little beyond the public points;
            else at the ball of algorithm 3.
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
        """Look up `paper` or `practical`."""
        return _CONSTANTS[name]

    def least_public(self, m: int, weight: float) -> float:
        """t of Q_pub: public points that a group needs inside and outside of its ball."""
        return max(float(_LEAST_POINTS), self.public_share * m * weight)

    def least_private(self, n: int, weight: float) -> float:
        """t of Q_priv: private rows that a group needs inside and outside of its ball."""
        return self.private_share * n * weight


_LEAST_POINTS = 2
"""A public point alone passes as a component where m w / 2 < 1, as printed: groups need this many."""

_CONSTANTS = {
    "paper": Constants(16.0, 11.0, 1 / 2, 1 / 4, 1 / 320, widest=False, tight=False),
    "practical": Constants(2.0, 2.0, 1 / 3, 1 / 4, 1 / 20, widest=True, tight=True),
}
