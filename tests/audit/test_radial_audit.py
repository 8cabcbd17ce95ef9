"""The audit of pure runs holds, and finds noise that is too small, of another law, or shared."""

import numpy as np
import pytest

from pubpriv.audit import _radial
from pubpriv.audit._attacks import attacks
from pubpriv.audit._radial import _attacked, _chosen, _in_answers, _law, _through_the_door
from pubpriv.data.questions.radial import RADIAL, under_law
from pubpriv.privacy.noise import OperatingSystemNoise

pytestmark = pytest.mark.long

ATTACKS = {attack.name: attack for attack in attacks()}


def attacked(name, runs=5000):
    attack = ATTACKS[name]
    return _attacked(attack, under_law(RADIAL, attack.question), runs, 0)


def in_answers(name):
    attack = ATTACKS[name]
    return _in_answers(attack, under_law(RADIAL, attack.question), 600, 0)


class Wrong(OperatingSystemNoise):
    """Noise of another scale or law, or the same for every vector."""

    def __init__(self, how):
        self.how, self.kept, self.random = how, {}, np.random.default_rng(0)

    def draw(self, label, part, scale, size):
        drawn = super().draw
        if self.how == "half":
            return drawn(label, part, tuple(s // 2 for s in scale), size)
        if self.how == "gaussian":
            return np.rint(self.random.normal(size=size) * np.array(scale)).astype(np.int64)
        if self.how == "apart":  # every coordinate with a length of its own
            return np.concatenate([drawn(label, part, (s,), 1) for s in scale])
        self.kept.setdefault(size, []).append(drawn(label, part, scale, size))
        return self.kept[size][(len(self.kept[size]) - 1) // 2 * 2]  # each vector twice


@pytest.fixture
def wrong(monkeypatch):
    def install(how):
        source = Wrong(how)
        monkeypatch.setattr(_radial, "OperatingSystemNoise", lambda: source)

    return install


@pytest.mark.slow  # `pubpriv audit --fast`, which CI runs, looks at the same
def test_nothing_is_found_without_a_bug():
    """All findings of a fast audit: the law of one coordinate, of three and where it is rounded are among them."""
    found = list(_radial.findings(True, 0))
    assert [finding.detail for finding in found if not finding.holds] == []
    laws = {f"The system's radial noise, N = {size}" for size in (1, 3)} | {"Rounding at a small scale"}
    assert laws <= {finding.mechanism for finding in found}


@pytest.mark.parametrize("how", ["half", "gaussian", "apart"])
def test_another_law_is_found(wrong, how):
    """Half the scale, Gaussians of it, coordinates that are not coupled."""
    wrong(how)
    assert not _law(3, 6000).holds
    assert not in_answers("Moments over a partition").holds


@pytest.mark.parametrize("name", ["Counts, one region", "ClippedSums over a partition", "Bisection of norms"])
def test_answers_carry_the_noise_that_was_drawn(name):
    """One vector, a vector by region, and steps that follow from answers."""
    assert in_answers(name).holds


def test_noise_that_regions_share_is_found(wrong):
    """It would cancel out of differences."""
    wrong("twice")
    found = in_answers("ClippedSums over a partition")
    assert not found.holds
    assert "share" in found.detail


def test_an_attack_comes_near_epsilon_and_no_further(wrong):
    """On one coordinate; with half of the noise it goes beyond what was charged."""
    found = attacked("Counts, one region")
    assert found.holds
    assert found.found > 1.2
    wrong("half")
    assert not attacked("Counts, one region").holds


def test_the_door_stands():
    """Neighbours through the ledger of a pure run."""
    found = _through_the_door(800, 0)
    assert found.holds
    assert found.claimed == pytest.approx(2.0)


def test_a_choice_comes_near_epsilon_and_no_further(wrong):
    """One record more for the one of two heaps; with half of the noise that shows more than was charged."""
    found = _chosen(4000)
    assert found.holds
    assert found.found > 1.0  # of 2; bounds from so many draws lie about 1.25, give or take 0.04
    wrong("half")
    assert not _chosen(4000).holds
