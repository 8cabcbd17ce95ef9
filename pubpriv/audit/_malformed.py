"""Questions and noise as a careless colleague or an adversary could make them, asked through the whole door.

Each must be refused as bad input before it is charged, whatever the rows are: a question that does not fit the table
may share one draw of noise among many totals, and one that fails for some records reveals for free whether they exist.
Every question is made twice, by its constructor and without it, as objects from elsewhere could be.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from pubpriv.audit._attacks import attacks_on_rows
from pubpriv.audit._defects import MALFORMED, MALFORMED_SEARCHES, Make, built, forged, stable
from pubpriv.audit._worlds import World, world
from pubpriv.audit.finding import Claims, Finding, promised, refuses
from pubpriv.curator import Curator
from pubpriv.data.questions import Question
from pubpriv.errors import InvalidInput, PrivateStepFailed
from pubpriv.privacy.budgets import ApproximateDP, Budget, ZeroConcentratedDP
from pubpriv.privacy.noise import Scale, SimulatedNoise, drawn_beside

_BUDGET, _FAILING = ZeroConcentratedDP(1000), ApproximateDP(4, Fraction(1, 1000))


def findings(fast: bool, seed: int) -> Iterator[Finding]:  # noqa: ARG001 - a fast audit asks all of them
    """Try each way to go wrong, with one finding each."""
    with world(np.random.default_rng(seed).normal(0.0, 3.0, (40, 2))) as place:
        for name, story in _PROMISES.items():
            yield promised("malformed", name, story(place))


def _answered(place: World) -> Claims:
    """Well-formed questions are answered, so that the refusals below are because of defects."""
    curator = place.enter(place.new_release_id(), _BUDGET)
    for attack in attacks_on_rows():
        ended = _asked(place, curator, partial(getattr, attack, "question"), attack.name)
        yield f"{attack.name}: {ended}", ended == "answered, charged"


def _refused(questions: "dict[str, Callable[[Make], Any]]", place: World, budget: Budget = _BUDGET) -> Claims:
    """Each of `questions`, made by its constructor and around it, is refused."""
    curator = place.enter(place.new_release_id(), budget)
    for name, question in questions.items():
        for how, make in (("built", built), ("forged", forged)):
            ended = _asked(place, curator, partial(question, make), f"{name}, {how}")
            yield f"{name}, {how}: {ended}", ended == "refused"


def _threshold_refused(place: World) -> Claims:
    """Searches for cells have a price only under approx, so they are tried there."""
    with world(place.rows, _FAILING) as other:
        curator = other.enter("well-formed", ApproximateDP(1, Fraction(1, 10**4)))
        ended = _asked(other, curator, partial(stable, built), "well-formed")
        yield f"a search that is well-formed: {ended}", ended == "answered, charged"
        yield from _refused(MALFORMED_SEARCHES, other, ApproximateDP(1, Fraction(1, 10**4)))
    ended = _asked(place, place.enter(place.new_release_id(), _BUDGET), partial(stable, built), "under zcdp")
    yield f"a search under zcdp: {ended}", ended == "refused"


def _asked(place: World, curator: Curator, make: Callable[[], Any], label: str) -> str:
    """How a question ends, and whether it was charged: `refused` is bad input, and free."""
    before = place.spent
    try:
        curator.release(make(), label)
        ended = "answered"
    except InvalidInput:
        ended = "refused"
    except Exception as error:
        ended = f"fails ({type(error).__name__})"
    return ended if place.spent == before else f"{ended}, charged"


class _Few:
    """A source that returns one number for any size."""

    private = True

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:  # noqa: ARG002 - the bug
        return np.zeros(1, dtype=np.int64)


class _End:
    """A source whose draws are all saturated at one end of 64 bits."""

    private = True

    def __init__(self, end: int) -> None:
        self._end = end

    def draw(self, label: str, part: str, sd: Scale, size: int) -> np.ndarray:  # noqa: ARG002 - as every source
        return np.full(size, self._end, dtype=np.int64)


def _too_few_draws(place: World) -> Claims:
    """One draw that is shared by all totals of a part cancels out of their differences."""
    for question in _one_of_each_kind():
        name, release_id = type(question).__name__, place.new_release_id()
        curator = place.enter(release_id, _BUDGET, _Few())
        yield f"{name} fails", refuses(partial(curator.release, question, "a"), PrivateStepFailed)
        yield f"{name} publishes nothing", "published" not in place.kinds(release_id)


def _unannounced(_: World) -> Claims:
    """A question that asks for other noise than it was priced with gets none."""
    wanted = [("count", 1000, 3), ("sum", 2000, 6)]
    with drawn_beside(SimulatedNoise(0), "audit", wanted) as draw:
        for name, ask in {
            "less noise": ("count", 10, 3),
            "fewer draws": ("count", 1000, 1),
            "more draws": ("sum", 2000, 7),
            "another part": ("moment", 1000, 3),
            "another part's noise": ("sum", 1000, 6),
        }.items():
            yield f"{name}: refused", refuses(partial(draw, *ask), ValueError)
        yield "what was announced is drawn", all(draw(*ask).shape == ask[2:] for ask in wanted)
        yield "a second time: refused", all(refuses(partial(draw, *ask), ValueError) for ask in wanted)


def _saturated(place: World) -> Claims:
    """A sampler stops at 64 bits; what it adds to must not show where: neighbours publish the same integers."""
    for question in _one_of_each_kind():
        for end in (-(1 << 63), (1 << 63) - 1):
            noisy = []
            for record in ((-4.0, 0.5), (4.0, 0.5), (np.nan, 0.0)):
                curator = Curator.simulation(np.vstack([place.rows, record]), _BUDGET, seed=0)
                curator._noise = _End(end)
                noisy.append(curator._look(question, "a"))
            yield f"{type(question).__name__}: neighbours differ at {end}", noisy[0] == noisy[1] == noisy[2]


def _one_of_each_kind() -> list[Any]:
    """A question of each kind with more than one total."""
    found = {type(attack.question): attack.question for attack in attacks_on_rows() if _totals(attack.question) > 1}
    return list(found.values())


def _totals(question: Question) -> int:
    return max(part.size for part in question.parts.values())


_PROMISES: dict[str, Callable[[World], Claims]] = {
    "well-formed questions are answered": _answered,
    **{f"{name}: refused before the charge": partial(_refused, asked) for name, asked in MALFORMED.items()},
    "searches for cells that are malformed: refused before the charge": _threshold_refused,
    "fewer draws of noise than totals: no answer": _too_few_draws,
    "noise that was not announced is not handed out": _unannounced,
    "draws at the ends of 64 bits show no total": _saturated,
}
