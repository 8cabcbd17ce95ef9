"""All checks of an audit, in order: from what is proven of one question to what a whole run gives away."""

from collections.abc import Callable, Iterator

from pubpriv.audit import books, canary, door, files, malformed, names, noise_law, prices, recording, sensitivity
from pubpriv.audit.finding import Finding

Check = Callable[[bool, int], Iterator[Finding]]

CHECKS: tuple[tuple[str, Check], ...] = (
    ("sensitivity", sensitivity.findings),
    ("files", files.findings),
    ("malformed", malformed.findings),
    ("prices", prices.findings),
    ("noise_law", noise_law.findings),
    ("canary", canary.findings),
    ("recording", recording.findings),
    ("door", door.findings),
    ("books", books.findings),
    ("names", names.findings),
)
"""By the name that their findings carry."""


def audit(
    fast: bool,
    seed: int = 0,
    watch: Callable[[Finding], None] | None = None,
    begin: Callable[[str], None] | None = None,
) -> tuple[Finding, ...]:
    """Try every promise of the code that is installed, on synthetic data and ledgers of its own.

    Args:
        fast: smaller searches and samples: under a minute, and each finding says what it can tell.
        seed: of searches, synthetic records and simulated noise; the system's noise has none.
        watch: called with each finding as it comes.
        begin: called with the name of each check before it begins.

    Returns:
        All findings. Some may fail with a probability of one in a million each audit, by the law of the noise.
    """
    found = []
    for name, check in CHECKS:
        if begin:
            begin(name)
        for finding in check(fast, seed):
            found.append(finding)
            if watch:
                watch(finding)
    return tuple(found)
