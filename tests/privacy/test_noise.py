"""Noise: its law is right and a wrong one would be seen; simulated noise is reproducible and says so."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread

import numpy as np
import pytest
from scipy import stats

from pubpriv.audit._noise_law import _scale_p
from pubpriv.privacy import noise
from pubpriv.privacy.noise import MAX_SD, OperatingSystemNoise, SimulatedNoise, _discrete_gaussian, drawn_beside

SD, ALPHA = 1_000_000, 1e-6
# the noise cannot be seeded: at this size 2 % are ten standard deviations of the second moment, so that a level of
# 1e-6, five of them, leaves a right draw one failure in a million runs
SIZE = 130_000


@pytest.fixture(scope="module")
def drawn():
    """One large draw, shared."""
    return OperatingSystemNoise().draw("label", "part", SD, SIZE)


def test_scale_is_as_declared_and_two_percent_off_is_seen(drawn):
    """The second moment accepts sd and rejects 2 % more and 2 % less."""
    assert drawn.dtype == np.int64
    assert drawn.shape == (SIZE,)
    assert _scale_p(drawn / SD) > ALPHA
    assert _scale_p(drawn / (SD * 1.02)) < ALPHA
    assert _scale_p(drawn / (SD / 1.02)) < ALPHA


def test_shape_is_gaussian_and_a_laplace_is_seen(drawn):
    """Kolmogorov-Smirnov accepts the draw and rejects a Laplace of the same sd."""
    assert stats.kstest(drawn / SD, "norm").pvalue > ALPHA
    laplace = np.random.default_rng(1).laplace(0, SD / np.sqrt(2), SIZE)
    assert stats.kstest(laplace / SD, "norm").pvalue < ALPHA


@pytest.mark.parametrize("sd", [0, -1, MAX_SD + 1])
def test_scales_that_cannot_be_exact_are_refused(sd):
    """Zero, negative, or beyond 2^53, where a float would round."""
    with pytest.raises(ValueError, match="sd"):
        _discrete_gaussian(sd, 1)


def _child(queue):
    queue.put(_discrete_gaussian(1 << 40, 4).tolist())


def test_forked_children_draw_different_values():
    """A fork copies no pending randomness."""
    before = _discrete_gaussian(1 << 40, 4).tolist()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_child, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    first, second = queue.get(timeout=30), queue.get(timeout=30)
    for child in children:
        child.join(30)
    assert first != second
    assert before not in (first, second)


def test_noise_drawn_beside_is_handed_out_once():
    """Every draw that was announced, once; a second one, another part, sd or size is refused."""
    wanted = [("count", SD, 4), ("sum", 2 * SD, 3)]
    with drawn_beside(OperatingSystemNoise(), "label", wanted) as draw:
        assert [len(draw(*about)) for about in wanted] == [4, 3]
        for other in (("count", SD, 4), ("sum", SD, 3), ("sum", 2 * SD, 1), ("square", SD, 4)):
            with pytest.raises(ValueError, match="not announced"):
                draw(*other)


@pytest.mark.parametrize("drawn", [np.zeros(1, dtype=np.int64), np.zeros((4, 1), dtype=np.int64), np.zeros(4)])
def test_a_source_that_gives_other_noise_than_it_was_asked_for_is_refused(drawn):
    """One draw for four coordinates would cancel in their differences."""

    class Odd(OperatingSystemNoise):
        def draw(self, label, part, sd, size):
            return drawn

    with drawn_beside(Odd(), "label", [("sum", SD, 4)]) as draw, pytest.raises(ValueError, match="another shape"):
        draw("sum", SD, 4)


def test_simulated_noise_fits_64_bits_at_any_scale():
    """Draws beyond what an int64 holds end there, without a warning."""
    drawn = SimulatedNoise(1).draw("a", "sum", 1 << 80, 50)
    assert set(np.abs(drawn).tolist()) == {1 << 62}
    assert {-1, 1} == set(np.sign(drawn).tolist())


def test_noise_drawn_beside_is_the_one_of_the_label_and_fails_where_it_is_asked_for():
    """The same bits as without a thread; a source that fails does so at the draw."""
    source = SimulatedNoise(3)
    with drawn_beside(source, "a", [("sum", SD, 5)]) as draw:
        assert draw("sum", SD, 5).tolist() == source.draw("a", "sum", SD, 5).tolist()
    with drawn_beside(OperatingSystemNoise(), "a", [("sum", 0, 5)]) as draw, pytest.raises(ValueError, match="sd"):
        draw("sum", 0, 5)


@pytest.mark.parametrize("private", [True, False])
def test_real_noise_is_drawn_by_a_thread_and_simulated_noise_where_it_is_wanted(private):
    """The first while rows are read; to start a thread takes longer than the second."""

    drawers = []

    class Watched(SimulatedNoise):
        def draw(self, *about):
            drawers.append(current_thread())
            return super().draw(*about)

    source = Watched(3)
    source.private = private
    with drawn_beside(source, "a", [("sum", SD, 5), ("count", SD, 2)]) as draw:
        draw("count", SD, 2)
        draw("sum", SD, 5)
    assert [drawer is current_thread() for drawer in drawers] == [not private] * 2


def test_simulated_noise_depends_on_seed_label_and_part_only():
    """The same bits in any order; other bits for another seed, label or part."""
    once, again = SimulatedNoise(7), SimulatedNoise(7)
    a, b = once.draw("a", "sum", SD, 5).tolist(), once.draw("b", "sum", SD, 5).tolist()
    assert again.draw("b", "sum", SD, 5).tolist() == b
    assert again.draw("a", "sum", SD, 5).tolist() == a
    others = [SimulatedNoise(8).draw("a", "sum", SD, 5).tolist(), once.draw("a", "count", SD, 5).tolist(), b]
    assert all(other != a for other in others)


def test_only_one_source_is_private_and_it_takes_no_seed():
    """A seed cannot reach a real run."""
    assert OperatingSystemNoise().private
    assert not SimulatedNoise(1).private
    with pytest.raises(TypeError):
        OperatingSystemNoise(1)


def test_threads_share_nothing_of_opendp():
    """What one thread made to draw with is used by that thread again, and by no other."""
    mine = noise._opendp.integers
    with ThreadPoolExecutor(1) as other:
        theirs = other.submit(lambda: noise._opendp.integers).result()
    assert noise._opendp.integers is mine
    assert theirs[0] is not mine[0]
