"""Questions about a sample: a record in it moves totals no further than declared, another one not, and no place counts.

The furthest neighbours of each question are tried with samples of all records, of half of them and of fewer, in
memory, by the product's own scan; both records of a pair, one or none may be in the sample.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from pubpriv.audit._attacks import Attack, attacks_on_rows
from pubpriv.audit._neighbours import Integers, difference, distance, integers
from pubpriv.audit._worlds import in_memory
from pubpriv.audit.finding import Finding, judged
from pubpriv.data.questions import OfSample, Question
from pubpriv.data.questions.of_rows import WEIGHED
from pubpriv.data.samples import sampled
from pubpriv.data.scan import scan

_EVERY = 1, 2, 3, 5, 8
_BYSTANDERS = 40


def findings(fast: bool, seed: int) -> Iterator[Finding]:  # noqa: ARG001 - the same either way, in a second
    """Try each question that may be asked of a sample."""
    for attack in attacks_on_rows():
        if type(attack.question) in WEIGHED:
            yield _moved(attack, seed)


def _moved(attack: Attack, seed: int) -> Finding:
    """Replace one record in tables of which more and more records are in the sample."""
    random = np.random.default_rng(seed)
    bystanders = random.normal(0.0, 3.0, (_BYSTANDERS, 2))
    furthest, broken = Fraction(0), []
    for every in _EVERY:
        asked = OfSample(attack.question, every)  # type: ignore[arg-type]
        totals = [_totals(asked, np.vstack([bystanders, record])) for record in (attack.old, attack.new)]
        squared = distance(attack.question, difference(*totals))
        within = sampled(np.array([attack.old, attack.new]).T, every)
        furthest = max(furthest, squared)
        if squared > asked.squared_distance:
            broken.append(f"with one in {every}, a record moves the totals further than declared")
        if squared and not within.any():
            broken.append(f"with one in {every}, a record that is not in the sample moves the totals")
        order = random.permutation(_BYSTANDERS + 1)
        if _totals(asked, np.vstack([bystanders, attack.new])[order]) != totals[1]:
            broken.append(f"with one in {every}, the sample depends on the places of records")
    how = f"{attack.name} in samples of one record in {', '.join(map(str, _EVERY))}"
    claimed = math.sqrt(attack.question.squared_distance)
    return judged("samples", f"{attack.name}, of a sample", broken, how, claimed, math.sqrt(furthest))


def _totals(asked: Question, rows: np.ndarray) -> Integers:
    return integers(scan(in_memory(rows), asked, here=True))
