"""`pubpriv audit`: run the privacy tests, for people who must trust the installation."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.options import JsonOption

if TYPE_CHECKING:
    from pubpriv.audit.finding import Finding

_VIOLATION = 6
"""Exit code if a promise does not hold."""

_OF_THE_CLAIM = {"prices", "noise_law", "files"}
"""Checks whose figures are shares of the claim: of a price, of the mu of the declared noise, or of a declared
distance."""


def audit(
    fast: Annotated[bool, typer.Option("--fast", help="Search and sample less: takes about a minute.")] = False,
    as_json: JsonOption = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of searches and synthetic records, not of noise.")] = 0,
) -> None:
    """Try to break every privacy promise of this installation, on data of its own.

    No table and no ledger of yours is read or charged. Exit code 6: a promise does not hold.
    """
    from pubpriv.audit.run import audit as run

    found = run(fast, seed, begin=lambda doing: note(f"  {doing}"))
    broken = [finding for finding in found if not finding.holds]
    if as_json:
        out(json.dumps({"fast": fast, "seed": seed, "holds": not broken, "findings": [f.to_json() for f in found]}))
    else:
        _show(found, f"{'fast' if fast else 'full'} audit, seed {seed}: {len(found)} promises, {len(broken)} broken")
    if broken:
        note("do not release anything with this installation: report this output to the authors of pubpriv")
        raise typer.Exit(_VIOLATION)


def _show(found: "tuple[Finding, ...]", title: str) -> None:
    """Show the table, and below it details of each broken promise."""
    rows = [[f.check, f.mechanism, _figure(f, f.claimed), _figure(f, f.found), f.verdict] for f in found]
    table(title, ["check", "mechanism", "claimed mu", "lower bound found", "verdict"], rows)
    out("Percentages are shares of the claim, a price or mu; --json says how each promise was tried.")
    for finding in found:
        if not finding.holds:
            out(f"VIOLATION in {finding.check}, {finding.mechanism}: {finding.detail}")


def _figure(finding: "Finding", value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if finding.check not in _OF_THE_CLAIM else f"{value:.2%}"
