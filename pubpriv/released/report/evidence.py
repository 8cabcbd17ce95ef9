"""Sentences about the fit of a release: rows beyond the clip radius, rows that the model does not explain.

Everything comes from the diagnostics that estimators write; missing diagnostics are left out.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from pubpriv.released.digits import percent, rounded
from pubpriv.released.estimate import Estimate
from pubpriv.released.findings import doubts

_SEEN = 2.0
"""A share or a count is taken as real if it is this many of its standard deviations from zero."""

APART = ("warnings", "hints", "ladder", "missing", "rehearsal")
"""Diagnostics that the page shows separately, and not in its list of details."""


def sentences(estimate: Estimate) -> list[str]:
    """Return sentences on how well the release fits; empty if its diagnostics do not say."""
    diagnostics = estimate.diagnostics
    parts = (
        _beyond_clip(diagnostics),
        _outside(diagnostics),
        _could_hide(diagnostics),
        _misfit(diagnostics),
        _coverage(diagnostics),
        _numbers_of_components(diagnostics),
    )
    return [part for part in parts if part]


def hints(estimate: Estimate) -> list[str]:
    """Return the estimator's hints on what would have worked better."""
    found = estimate.diagnostics.get("hints", ())
    return [str(hint) for hint in found] if isinstance(found, list | tuple) else []


def foretold(estimate: Estimate) -> list[str]:
    """Return what a rehearsal said before the run; empty if there was none, or nothing to say."""
    said = estimate.diagnostics.get("rehearsal", ())
    return [str(line) for line in said] if isinstance(said, list | tuple) else []


def reason(estimate: Estimate) -> str:
    """Say briefly why numbers are doubtful, by the findings; files of older versions have warnings instead."""
    if estimate.findings is not None:
        return "; and ".join(dict.fromkeys(finding.text for finding in doubts(estimate.findings)))
    warnings = estimate.diagnostics.get("warnings", ())
    return "it did not converge" + (f"; its warnings: {'; '.join(map(str, warnings))}" if warnings else "")


def ladder(estimate: Estimate) -> list[tuple[str, str]]:
    """Return the numbers of components that were tried, with their scores in nats per row; empty if none were."""
    tried = estimate.diagnostics.get("ladder", ())
    rows = []
    for rung in tried if isinstance(tried, list | tuple) else ():
        found = _figures(rung, "components", "nats_per_row") if isinstance(rung, Mapping) else None
        if found:
            noise = (_figures(rung, "noise") or (None,))[0]
            score = rounded(found[1], noise) + (f" ± {rounded(noise, noise)}" if noise else "")
            rows.append((f"{found[0]:.0f}", score))
    return rows


def missing_cells(estimate: Estimate) -> list[tuple[str, str, str]]:
    """Return each column with the share of rows that lack it, and how many complete rows its mean is worth; or none."""
    columns = _part(_part(estimate.diagnostics, "missing"), "columns")
    rows = []
    for name in columns:
        found = _figures(_part(columns, name), "share", "sd", "effective_rows")
        if found:
            share, sd, worth = found
            rows.append((str(name), f"{percent(share, sd)} ± {percent(2 * sd, sd)}", f"{worth:,.0f}"))
    return rows


def _beyond_clip(diagnostics: Mapping[str, Any]) -> str:
    found = _figures(_part(diagnostics, "beyond_clip"), "share", "sd")
    if found is None:
        return ""
    share, sd = found
    if share > _SEEN * sd:
        return (
            f"About {percent(share, sd)} ± {percent(2 * sd, sd)} of the records lie beyond the clip radius: they were "
            "moved in to it, and count for less than they are."
        )
    return f"No record was seen beyond the clip radius ({percent(max(share, 0.0), sd)} ± {percent(2 * sd, sd)})."


def of_no_component(diagnostics: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the share of records that belong to no component, and its standard error; None if there are none."""
    outside = _part(diagnostics, "outside")
    found = _figures(outside, "share", "sd")
    return (found[0], found[1]) if found is not None and outside.get("seen") is True else None


def _outside(diagnostics: Mapping[str, Any]) -> str:
    found, end = of_no_component(diagnostics), _figures(_part(diagnostics, "outside"), "beyond")
    if found is None or end is None:
        return ""
    share, sd = found
    return (
        f"{percent(share, sd)} ± {percent(2 * sd, sd)} of the records belong to no component: they lie more than "
        f"{end[0]:.3g} standard deviations from each, and move no number. The effect of similar records that lie "
        "nearer is removed as far as it can be seen; what remains uncertain is in the errors (clipping)."
    )


def _could_hide(diagnostics: Mapping[str, Any]) -> str:
    hidden = _part(diagnostics, "could_hide")
    found = _figures(hidden, "rows", "beyond")
    if found is None:
        return ""
    rows, end = f"{found[0]:,.0f} records", f"{found[1]:.3g} standard deviations"
    clip = _figures(diagnostics, "clip_radius")
    if hidden.get("left_out") is True and clip is not None:
        return (
            f"Fewer than about {rows} more than {end} from every component would not have been seen. However far out "
            "they lie, they move no number; similar records that lie nearer count as if they were at most "
            f"{clip[0]:.3g} standard deviations out."
        )
    return (
        f"Fewer than about {rows} that lie more than {end} out, "
        "however far, would not have been seen; nothing shows that there are such records. What they could do at that "
        "distance stands beside each number (could hide); at L standard deviations they move a mean by "
        f"{found[0]:,.0f} L / n standard deviations, and a variance by {found[0]:,.0f} L^2 / n of it."
    )


def _misfit(diagnostics: Mapping[str, Any]) -> str:
    misfit = _part(diagnostics, "misfit")
    if not isinstance(misfit.get("fits"), bool):
        return ""
    found = _worst_divergence(misfit)
    figures = f" (a divergence of {found[0]:.2g}; up to {found[1]:.2g} is accepted)" if found else ""
    if misfit["fits"]:
        return f"Released counts of records agree with what the model predicts{figures}: it fits."
    return (
        f"Released counts of records are not what the model predicts{figures}: it does not fit{_unexplained(misfit)}."
    )


def _worst_divergence(misfit: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the divergence that is largest beside its limit, and that limit: of shells or along axes."""
    parts = (misfit.get(name) for name in ("divergence", "limit"))
    values = [value if isinstance(value, list | tuple) else [value] for value in parts]
    pairs = [_figures({"found": a, "limit": b}, "found", "limit") for a, b in zip(*values, strict=False)]
    good = [(pair[0], pair[1]) for pair in pairs if pair is not None and pair[1] > 0]
    return max(good, key=lambda pair: pair[0] / pair[1], default=None)


def _unexplained(misfit: Mapping[str, Any]) -> str:
    found = _figures(misfit, "unexplained")
    if not found or found[0] < 0.001:
        return ""
    return f", and about {percent(float(f'{found[0]:.2g}'))} of the records are not explained by it"


def _coverage(diagnostics: Mapping[str, Any]) -> str:
    coverage = _part(diagnostics, "coverage")
    found = _figures(coverage, "uncovered_rows", "noise")
    if found is None:
        return ""
    rows, noise = found
    if not _uncovered(coverage):
        return f"No group of records was seen away from all public rows ({max(rows, 0.0):,.0f} ± {2 * noise:,.0f})."
    then = "a component was put there" if coverage.get("component") else "no component could be made of them"
    return f"About {rows:,.0f} ± {2 * noise:,.0f} records lie where no public row is: {then}."


def _uncovered(coverage: Mapping[str, Any]) -> bool:
    found = _figures(coverage, "uncovered_rows", "noise")
    return found is not None and found[0] > _SEEN * found[1]


def _numbers_of_components(diagnostics: Mapping[str, Any]) -> str:
    found = _figures(diagnostics, "k_apart", "k_fit")
    if found is None:
        return ""
    apart, fit = map(int, found)
    lie = f"{apart} components lie apart" if apart > 1 else "No two components lie apart"
    if apart == fit:
        return f"{lie}, and no other number of them was seen to predict records better."
    return f"{lie}; {fit} of them predict records best."


def _part(diagnostics: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = diagnostics.get(name)
    return part if isinstance(part, Mapping) else {}


def _figures(part: Mapping[str, Any], *names: str) -> tuple[float, ...] | None:
    """Return numbers from diagnostics; None unless all are there and finite."""
    values = [part.get(name) for name in names]
    good = all(isinstance(value, int | float) and isfinite(value) for value in values)
    return tuple(float(value) for value in values if value is not None) if good else None
