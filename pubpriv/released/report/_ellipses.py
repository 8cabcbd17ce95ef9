"""The picture of a release: components as ellipses over public points, densities of a column, or quantiles."""

from xml.etree.ElementTree import Element

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.released.digits import percent, rounded
from pubpriv.released.estimate import Estimate
from pubpriv.released.fitted import RegressionEstimate
from pubpriv.released.law import Mixture
from pubpriv.released.numbers import Z95, of_all, of_columns, of_quantity
from pubpriv.released.quantiles import QuantilesEstimate
from pubpriv.released.report._coefficients import coefficient_picture
from pubpriv.released.report._plane import Plane
from pubpriv.released.report._quantiles import quantile_plot, share_dots
from pubpriv.released.report.drawing import (
    FAINT,
    PAPER,
    SHADES,
    WIDTH,
    Axis,
    add,
    curve,
    dots,
    element,
    folded,
    line,
    picture_text,
    sheet,
    words,
)

_MOST_POINTS = 1000
"""Most public rows that are drawn; of more rows an evenly spaced selection."""

_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "5 2 1 2", "12 4", "1 4", "6 2 2 2 2 2")
_LEFT, _RIGHT, _TOP, _SIDE = 48.0, 8.0, 10.0, 300.0


def picture(estimate: Estimate, public: PublicTable | None = None) -> str:
    """Draw the release as an SVG file: components over public points.

    Args:
        estimate: a released mean, Gaussian or mixture.
        public: public rows of the release; None draws none.

    Raises:
        InvalidInput: public rows of another release.

    Privacy: none is spent: released numbers and public rows go in.
    """
    estimate.check_public(public)
    return picture_text(drawn(estimate, public))


def drawn(estimate: Estimate, public: PublicTable | None) -> Element:
    """Draw the picture as an element of a page."""
    if isinstance(estimate, QuantilesEstimate):
        if not estimate.ranked:
            return share_dots(of_quantity(of_all(estimate.numbers()), "share"))
        return quantile_plot(estimate, estimate.ranked)
    if isinstance(estimate, RegressionEstimate):
        return coefficient_picture(estimate)
    rows = None if public is None else public.rows
    mixture = estimate.law
    if len(estimate.columns) == 1:
        return _density(estimate, mixture, rows) if mixture else _interval(estimate, rows)
    return _ellipses(estimate, mixture, rows) if mixture else _mean(estimate, rows)


# --- two dimensions ------------------------------------------------------------------------------------------


def _ellipses(estimate: Estimate, mixture: Mixture, rows: np.ndarray | None) -> Element:
    plane = Plane.of(mixture, estimate.columns)
    weights, means, covariances = mixture.arrays
    centers = plane.of_rows(means)
    shapes = [plane.of_covariance(covariance) for covariance in covariances]
    points = None if rows is None else plane.of_rows(rows)
    reach = 2.2 * np.sqrt([np.diag(shape) for shape in shapes])
    across, upwards = _axes(np.vstack([centers - reach, centers + reach]), points)
    placed = [
        (f"Component {j + 1} with {percent(weight)} of the weight" if len(weights) > 1 else "The Gaussian")
        + f" is centred at {rounded(x)} across and {rounded(y)} upwards."
        for j, (weight, (x, y)) in enumerate(zip(weights, centers, strict=True))
    ]
    title = ("Released components as ellipses" if len(weights) > 1 else "The released Gaussian as ellipses") + (
        "" if rows is None else " over the public rows"
    )
    about = (
        f"Across: {plane.titles[0]}. Upwards: {plane.titles[1]}. {' '.join(placed)} "
        f"The ellipses are at one and two standard deviations.{_outside(points, across, upwards)}"
    )
    sheet_, inside = _frame("ellipses", title, about, plane, across, upwards)
    _scatter(inside, points, across, upwards)
    for j, (center, shape) in enumerate(zip(centers, shapes, strict=True)):
        for times in (2, 1):
            _ellipse(inside, center, shape * times**2, across, upwards, j, 2.0 if times == 1 else 1.2)
    for j, center in enumerate(centers if len(centers) > 1 else []):
        _badge(inside, str(j + 1), across(center[0]), upwards(center[1]), j)
    return sheet_


def _mean(estimate: Estimate, rows: np.ndarray | None) -> Element:
    """The first two columns: the mean, its 95% region, and the public rows."""
    plane = Plane(np.zeros(2), np.eye(2), (estimate.columns[0], estimate.columns[1]), plain=True)
    means = of_columns(estimate.numbers())[:2]
    errors = np.array([mean.error for mean in means])
    center = np.array([mean.value for mean in means])
    points = None if rows is None else rows[:, :2]
    radius = 5.991**0.5  # of the 95% region of two independent normal errors
    reach = 1.4 * radius * errors
    across, upwards = _axes(np.vstack([center - reach, center + reach]), points)
    what = means[0].quantity
    title = f"The released {what} in the columns {plane.titles[0]} and {plane.titles[1]}"
    about = (
        f"Across: {plane.titles[0]}. Upwards: {plane.titles[1]}. The {what} is at {rounded(center[0], errors[0])} and "
        f"{rounded(center[1], errors[1])}; the ellipse around it holds the true {what} with a probability of about 95%."
        f"{_outside(points, across, upwards)}"
    )
    sheet_, inside = _frame("ellipses", title, about, plane, across, upwards)
    _scatter(inside, points, across, upwards)
    _ellipse(inside, center, np.diag((radius * errors) ** 2), across, upwards, 0, 2.0)
    x, y = across(center[0]), upwards(center[1])
    add(inside, line(x - 5, y, x + 5, y, SHADES[0], 2.0), line(x, y - 5, x, y + 5, SHADES[0], 2.0))
    return sheet_


def _axes(extremes: np.ndarray, points: np.ndarray | None) -> tuple[Axis, Axis]:
    """Axes with room for everything released, and for all public points except the outermost."""
    if points is not None:
        extremes = np.vstack([extremes, np.quantile(points, [0.005, 0.995], axis=0)])
    low, high = extremes.min(axis=0), extremes.max(axis=0)
    margin = 0.03 * np.where(high > low, high - low, np.abs(high) + 1)
    low, high = low - margin, high + margin
    across = Axis(float(low[0]), float(high[0]), _LEFT, WIDTH - _RIGHT)
    return across, Axis(float(low[1]), float(high[1]), _TOP + _SIDE, _TOP)


def _frame(name: str, title: str, about: str, plane: Plane, across: Axis, upwards: Axis) -> tuple[Element, Element]:
    """A sheet with axes, and the group of drawings that are cut off at the frame."""
    upward_title = folded(f"↑ {plane.titles[1]}", 50)
    below = folded(plane.titles[0], 50)
    head = 14.0 * len(upward_title) + 4
    made = sheet(name, head + _TOP + _SIDE + 40 + 14 * len(below), title, about)
    for number, part in enumerate(upward_title):
        add(made, words(part, 4.0, 12.0 + 14 * number))
    body = element("g", transform=f"translate(0 {head:g})")
    upwards.draw_beside(body, _LEFT, WIDTH - _RIGHT)
    across.draw_below(body, _TOP + _SIDE, plane.titles[0] + (" →" if len(below) == 1 else ""), _TOP)
    inside = element("g", clip_path=f"url(#{name}-frame)")
    add(body, _clipped(f"{name}-frame", _LEFT, _TOP, WIDTH - _RIGHT - _LEFT, _SIDE), inside)
    add(made, body)
    return made, inside


def _clipped(name: str, x: float, y: float, width: float, height: float) -> Element:
    """The definition of a frame at which drawings are cut off; used by `clip-path="url(#name)"`."""
    return element("clipPath", element("rect", x=x, y=y, width=width, height=height), id=name)


def _scatter(inside: Element, points: np.ndarray | None, across: Axis, upwards: Axis) -> None:
    if points is None:
        return
    kept = points[np.unique(np.linspace(0, len(points) - 1, min(len(points), _MOST_POINTS)).astype(int))]
    size = 4.5 if len(kept) <= 200 else 3.0
    add(inside, dots([(across(x), upwards(y)) for x, y in kept], size, "#6b6b6b", "0.55"))


def _outside(points: np.ndarray | None, across: Axis, upwards: Axis) -> str:
    """Sentence about the public points and those outside the frame."""
    if points is None:
        return ""
    low, high = np.array([across.low, upwards.low]), np.array([across.high, upwards.high])
    beyond = int((~((points >= low) & (points <= high)).all(axis=1)).sum())
    drawn_ = f" Grey points are {len(points):,} public rows"
    drawn_ += f", of which {_MOST_POINTS:,} are drawn" if len(points) > _MOST_POINTS else ""
    return f"{drawn_}; {beyond:,} lie outside the frame." if beyond else f"{drawn_}."


def _ellipse(
    inside: Element, center: np.ndarray, shape: np.ndarray, across: Axis, upwards: Axis, number: int, width: float
) -> None:
    """The ellipse of a (2, 2) covariance, drawn in pixels."""
    scale = np.diag([across.scale, upwards.scale])
    values, vectors = np.linalg.eigh(scale @ shape @ scale)
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])) % 180
    x, y = across(center[0]), upwards(center[1])
    radii = np.sqrt(np.maximum(values, 0.0))
    color, dash = _color_and_dash(number)
    add(
        inside,
        element(
            "ellipse",
            cx=x,
            cy=y,
            rx=max(0.8, float(radii[1])),
            ry=max(0.8, float(radii[0])),
            transform=f"rotate({angle:.1f} {x:.1f} {y:.1f})",
            fill=color if width > 1.5 else "none",
            fill_opacity="0.10" if width > 1.5 else None,
            stroke=color,
            stroke_width=width,
            stroke_dasharray=None if dash == "none" else dash,
        ),
    )


def _color_and_dash(number: int) -> tuple[str, str]:
    """Colour and dashes of a component; dashes change when colours repeat."""
    return SHADES[number % len(SHADES)], _DASHES[number // len(SHADES) % len(_DASHES)]


def _badge(inside: Element, text: str, x: float, y: float, number: int) -> None:
    """A number that stays readable on top of everything."""
    add(inside, element("circle", cx=x, cy=y, r=9.0, fill=SHADES[number % len(SHADES)], stroke=PAPER, stroke_width=1.5))
    add(inside, words(text, x, y + 4, "middle", fill=PAPER, font_weight="bold", font_size="11"))


# --- one dimension -------------------------------------------------------------------------------------------


def _density(estimate: Estimate, mixture: Mixture, rows: np.ndarray | None) -> Element:
    weights, means, covariances = mixture.arrays
    centers, spreads = means[:, 0], np.sqrt(covariances[:, 0, 0])
    extremes = np.concatenate([centers - 3.2 * spreads, centers + 3.2 * spreads])
    if rows is not None:
        extremes = np.concatenate([extremes, np.quantile(rows[:, 0], [0.005, 0.995])])
    across = Axis(float(extremes.min()), float(extremes.max()), 10.0, WIDTH - 10)
    grid = np.linspace(across.low, across.high, 241)
    parts = weights * np.exp(-0.5 * ((grid[:, None] - centers) / spreads) ** 2) / (spreads * (2 * np.pi) ** 0.5)
    whole = parts.sum(axis=1)
    upwards = Axis(0.0, 1.06 * float(whole.max()), 200.0, 10.0)
    listed = [
        f"Component {j + 1}: {percent(weight)} of the weight, mean {rounded(m)}, standard deviation {rounded(s)}."
        for j, (weight, m, s) in enumerate(zip(weights, centers, spreads, strict=True))
    ]
    public = "" if rows is None else f" Marks below are {len(rows):,} public rows."
    title = f"Released density of {estimate.columns[0]}"
    made = sheet("density", 270.0, title, " ".join(listed) + public)
    for j in range(len(weights) if len(weights) > 1 else 0):
        points = [(across(x), upwards(y)) for x, y in zip(grid, parts[:, j], strict=True)]
        color, dash = _color_and_dash(j)
        add(made, curve(points, color, 1.5, dash))
    add(made, curve([(across(x), upwards(y)) for x, y in zip(grid, whole, strict=True)], "#1a1a1a", 2.0))
    for j in range(len(weights) if len(weights) > 1 else 0):
        _badge(made, str(j + 1), across(centers[j]), upwards(float(parts[:, j].max())), j)
    _rug(made, rows, across, 206.0)
    across.draw_below(made, 222.0, estimate.columns[0])
    return made


def _interval(estimate: Estimate, rows: np.ndarray | None) -> Element:
    """A mean (or other location) of one column: its 95% interval among the public rows."""
    mean = of_columns(estimate.numbers())[0]
    center, error = mean.value, mean.error
    extremes = np.array([center - 4 * error, center + 4 * error])
    if rows is not None:
        extremes = np.concatenate([extremes, np.quantile(rows[:, 0], [0.005, 0.995])])
    across = Axis(float(extremes.min()), float(extremes.max()), 10.0, WIDTH - 10)
    public = "" if rows is None else f" Marks below are {len(rows):,} public rows."
    within = rounded(Z95 * error, error)
    about = f"The {mean.quantity} is {rounded(center, error)}, within {within} of the truth in 95 of 100 releases."
    made = sheet("interval", 110.0, f"The released {mean.quantity} of {estimate.columns[0]}", about + public)
    add(made, line(across(center - Z95 * error), 24.0, across(center + Z95 * error), 24.0, SHADES[0], 5.0))
    add(made, element("circle", cx=across(center), cy=24.0, r=5.0, fill=SHADES[0], stroke=PAPER, stroke_width=1.5))
    _rug(made, rows, across, 46.0)
    across.draw_below(made, 62.0, estimate.columns[0])
    return made


def _rug(made: Element, rows: np.ndarray | None, across: Axis, y: float) -> None:
    if rows is None:
        return
    kept = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST_POINTS)).astype(int)), 0]
    inside = [across(x) for x in kept if across.low <= x <= across.high]
    path = "".join(f"M{x:.1f} {y:.1f}v10" for x in inside)
    add(made, element("path", d=path or "M0 0", stroke=FAINT, stroke_width=1.0, opacity="0.5", fill="none"))
