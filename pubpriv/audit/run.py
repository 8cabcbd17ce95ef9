"""All checks of an audit, in order: from the proof of one question to the privacy loss of a whole run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pubpriv.audit import (
    _books,
    _canary,
    _door,
    _files,
    _lines,
    _malformed,
    _names,
    _noise_law,
    _periods,
    _persons,
    _prices,
    _radial,
    _samples,
    _sensitivity,
    _tampering,
    recording,
)
from pubpriv.audit.finding import Finding


@dataclass(frozen=True)
class _Check:
    """A kind of promise, and what tries it.

    Attributes:
        name: of the module; its findings carry it.
        doing: what it does, in words, for whoever waits.
        findings: (fast, seed) to findings, one after another.
    """

    name: str
    doing: str
    findings: Callable[[bool, int], Iterator[Finding]]


_CHECKS = (
    _Check("sensitivity", "looking for neighbours further apart than declared", _sensitivity.findings),
    _Check("samples", "replacing records inside and outside of a sample", _samples.findings),
    _Check("files", "replacing records at the edges of files, row groups and blocks", _files.findings),
    _Check("lines", "putting any bytes into lines of CSV files", _lines.findings),
    _Check("persons", "replacing all rows of a person", _persons.findings),
    _Check("periods", "changing the date of a row", _periods.findings),
    _Check("malformed", "asking malformed questions", _malformed.findings),
    _Check("prices", "recomputing prices", _prices.findings),
    _Check("noise_law", "measuring noise", _noise_law.findings),
    _Check("canary", "attacking each mechanism end to end", _canary.findings),
    _Check("radial", "measuring and attacking the noise of pure runs", _radial.findings),
    _Check("recording", "replaying whole drivers on other tables", recording.findings),
    _Check("door", "breaking into the door: one charge, one answer, never a refund", _door.findings),
    _Check("tampering", "writing into the ledger past the door", _tampering.findings),
    _Check("books", "carrying books on, and adding up what was spent", _books.findings),
    _Check("names", "calling one table by other names", _names.findings),
)


def audit(
    fast: bool,
    seed: int = 0,
    watch: Callable[[Finding], None] | None = None,
    begin: Callable[[str], None] | None = None,
) -> tuple[Finding, ...]:
    """Try every promise of the code that is installed, on synthetic data and ledgers of its own.

    Args:
        fast: use smaller searches and samples: about a minute, and each finding says how much it can detect.
        seed: seed of searches, synthetic records and simulated noise; the system's noise has no seed.
        watch: called with each finding.
        begin: called with a description of each check before it begins.

    Returns:
        All findings. With a probability of one in a million per audit, some fail by chance.
    """
    found = []
    for check in _CHECKS:
        if begin:
            begin(check.doing)
        for finding in check.findings(fast, seed):
            found.append(finding)
            if watch:
                watch(finding)
    return tuple(found)
