"""The law of the noise: true noise is accepted and each kind of wrong noise is seen. About 6 s."""

from dataclasses import fields

import numpy as np
import pytest

from pubpriv.audit import _noise_law
from pubpriv.audit._noise_law import _DRAWS, _answered, _at_scales, _Batches, _faults_of
from pubpriv.data import questions as closed_list
from pubpriv.data.questions import ClippedSums, Counts
from pubpriv.privacy.ahead import DrawnAhead
from pubpriv.privacy.noise import OperatingSystemNoise, SimulatedNoise

DRAWN = np.random.default_rng(5).normal(size=_DRAWS)


@pytest.fixture(scope="module")
def batches():
    """Real noise, a tenth of what a full audit draws."""
    return _Batches(OperatingSystemNoise(), _DRAWS // 10)


def test_every_kind_of_question_is_measured():
    """None of the closed list is missing but radial noise, which `audit._radial` checks, and choices made with it."""
    kinds = {*closed_list.QUESTIONS} - {closed_list.Radial, closed_list.Selection}
    assert {type(question) for question in _noise_law._questions().values()} == kinds


@pytest.mark.long
@pytest.mark.parametrize("name", _noise_law._questions())
def test_the_noise_of_every_answer_is_what_it_declares(name, batches):
    """Scale, shape and independence of every part, from the system's own noise."""
    finding = _answered(name, _noise_law._questions()[name], batches)
    assert finding.holds, finding.detail
    assert 0.9 < finding.found < 1


def test_simulated_noise_has_the_same_law():
    """At every scale of a fast audit."""
    finding = _at_scales("simulated", SimulatedNoise(0), _noise_law._SCALES[True])
    assert finding.holds, finding.detail


def test_gaussian_draws_are_accepted():
    """The checks below start from draws with which nothing is wrong."""
    assert _faults_of(DRAWN, (1, _DRAWS // 2)) == []
    assert _noise_law._off_for(_DRAWS) == pytest.approx(1.02)


WRONG = {
    "2% too much": (DRAWN * 1.02, "its sd is 1.02"),
    "2% too little": (DRAWN / 1.02, "its sd is 0.98"),
    "Laplace": (np.random.default_rng(1).laplace(0, np.sqrt(0.5), _DRAWS), "not Gaussian"),
    "off centre": (DRAWN + 0.03, "not Gaussian"),
    "neighbours share noise": (np.repeat(DRAWN[: _DRAWS // 2], 2), "distance 1"),
    "a little of the neighbour's": ((DRAWN + 0.05 * np.roll(DRAWN, 1)) / np.sqrt(1.0025), "distance 1"),
    "two halves alike": (np.tile(DRAWN[: _DRAWS // 2], 2), f"distance {_DRAWS // 2}"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_noise_is_seen(wrong):
    """Each defect, on as many draws as a full audit has at least."""
    z, text = WRONG[wrong]
    assert any(text in fault for fault in _faults_of(z, (1, _DRAWS // 2)))


def test_a_test_without_power_is_seen(monkeypatch):
    """If 0.1% off had to be told apart, these draws could not, and say so."""
    monkeypatch.setattr(_noise_law, "_OFF", 1.001)
    assert [fault.split(":")[0] for fault in _faults_of(DRAWN, ())] == ["no power", "no power"]


def test_p_values_are_uniform():
    """The chi-square test rejects true noise as often as it says, at a level where that can be counted."""
    p = [_noise_law._scale_p(np.random.default_rng(i).normal(size=50)) for i in range(2000)]
    assert abs(np.mean(np.array(p) < 0.05) - 0.05) < 0.02


def test_the_false_alarms_of_an_audit_are_counted(monkeypatch):
    """All tests of a fast audit, and by the same count those of a full one, are no more than share its level."""
    kept = {"correlated": 0, "scale": 0}

    def counted(name, real):
        def count(*arguments):
            kept[name] += 1
            return real(*arguments)

        return count

    monkeypatch.setattr(_noise_law, "_correlated", counted("correlated", _noise_law._correlated))
    monkeypatch.setattr(_noise_law, "_scale_p", counted("scale", _noise_law._scale_p))
    monkeypatch.setattr(_noise_law, "OperatingSystemNoise", lambda: SimulatedNoise(0))
    monkeypatch.setattr(_noise_law, "_ANSWER_DRAWS", {True: 6000})
    monkeypatch.setattr(_noise_law, "_SCALES", {True: {20: 6000, 30: 6000}})
    list(_noise_law.findings(True, 0))
    streams = kept["scale"] // 3  # once for the verdict, twice for the power
    tests = kept["correlated"] + 2 * streams
    for scales in _noise_law._SCALES.values():
        # two sources; a stream at another scale has a second moment, a shape, and two distances
        assert tests + 2 * 4 * (len(scales) - 2) <= _noise_law._TESTS
    assert pytest.approx(_noise_law._FALSE_ALARM) == _noise_law._TESTS * _noise_law._LEVEL


def as_kind(kind, name):
    """A question of the noise law, as a class that is wrong in one thing."""
    question = _noise_law._questions()[name]
    return kind(**{field.name: getattr(question, field.name) for field in fields(question)})


def test_noise_that_coordinates_share_is_seen(batches):
    """One draw for a whole part is asked for, and refused as not what was declared."""

    class Shared(Counts):
        def answer(self, totals, draw):
            return {"count": totals["count"] + draw("count", self.noise_scale, 1)}

    finding = _answered("Shared", as_kind(Shared, "Counts"), batches)
    assert not finding.holds
    assert "asks for noise" in finding.detail


def test_noise_that_an_answer_changes_is_seen(batches):
    """Asked for as declared, then halved, or used twice."""

    class Halved(ClippedSums):
        def answer(self, totals, draw):
            return {"sum": super().answer(totals, draw)["sum"] // 2}

    class Repeated(Counts):
        def answer(self, totals, draw):
            noisy = super().answer(totals, draw)["count"]
            return {"count": np.repeat(noisy[::2], 2)}

    halved = _answered("Halved", as_kind(Halved, "ClippedSums"), batches)
    assert not halved.holds
    assert halved.found > 1
    repeated = _answered("Repeated", as_kind(Repeated, "Counts"), batches)
    assert "correlated with itself at distance 1" in repeated.detail


def test_noise_that_waits_and_is_handed_out_twice_is_seen(monkeypatch):
    """New runs take noise that was drawn before it was asked for: that, too, is used once."""
    assert _noise_law._drawn_ahead().holds
    monkeypatch.setattr(DrawnAhead, "draw", lambda self, label, part, sd, size: self._waiting[sd, size][0].result())
    finding = _noise_law._drawn_ahead()
    assert not finding.holds
    assert "handed out twice" in finding.detail
