"""What the pictures show is where the numbers say: ellipses, directions, marks on axes, rounded numbers."""

import re
from math import cos, radians, sin
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from helpers.releases import gaussian_release, mean_release, mixture_release, public_for

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.released.digits import rounded
from pubpriv.released.law import Mixture
from pubpriv.released.report import picture
from pubpriv.released.report._plane import Plane
from pubpriv.released.report.drawing import FAINT, Axis, _tick_text, _ticks, folded

SVG = "{http://www.w3.org/2000/svg}"


def frame_of(root):
    """Pixels to units of both axes, from the marks on them: (scale, offset) across and upwards."""
    found = {"middle": [], "end": []}
    for text in root.iter(f"{SVG}text"):
        number = text.text.replace("\u2212", "-").replace(",", "")
        if text.get("fill") == FAINT and re.fullmatch(r"-?[\d.]+", number):
            at = float(text.get("x")) if text.get("text-anchor") == "middle" else float(text.get("y")) - 4
            found.setdefault(text.get("text-anchor"), []).append((at, float(number)))
    return [np.polyfit(*zip(*found[anchor], strict=True), 1) for anchor in ("middle", "end")]


def test_ellipses_are_at_one_and_two_standard_deviations():
    """Points of each drawn ellipse, taken back to the data's units, have Mahalanobis distance 1 or 2."""
    covariance = np.array([[4.0, 30.0], [30.0, 900.0]])
    estimate = gaussian_release(center=[10.0, -500.0], covariance=covariance)
    root = ET.fromstring(picture(estimate))
    across, upwards = frame_of(root)
    distances = []
    for ellipse in root.iter(f"{SVG}ellipse"):
        cx, cy, rx, ry = (float(ellipse.get(name)) for name in ("cx", "cy", "rx", "ry"))
        angle = radians(float(re.match(r"rotate\(([-\d.]+)", ellipse.get("transform"))[1]))
        for turn in np.linspace(0, 2 * np.pi, 8):
            x = cx + rx * np.cos(turn) * cos(angle) - ry * np.sin(turn) * sin(angle)
            y = cy + rx * np.cos(turn) * sin(angle) + ry * np.sin(turn) * cos(angle)
            apart = np.array([np.polyval(across, x), np.polyval(upwards, y)]) - estimate.mean
            distances.append(float(np.sqrt(apart @ np.linalg.solve(covariance, apart))))
    assert np.allclose(distances[:8], 2, atol=0.1)
    assert np.allclose(distances[8:], 1, atol=0.1)


def test_public_points_lie_where_they_are():
    """Of few public rows each is drawn; of many, a thousand; those beyond the frame are counted in words."""
    estimate = mean_release(center=[0.0, 0.0], error=0.01)
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [-1.0, 1.0]])
    public, made = public_for(estimate, rows)
    root = ET.fromstring(picture(made, public))
    path = next(e.get("d") for e in root.iter(f"{SVG}path") if e.get("stroke-linecap") == "round")
    across, upwards = frame_of(root)
    points = [tuple(map(float, p)) for p in re.findall(r"M([-\d.]+) ([-\d.]+)h0", path)]
    drawn = np.array([[np.polyval(across, x), np.polyval(upwards, y)] for x, y in points])
    assert np.allclose(drawn, rows, atol=0.02)
    many = np.random.default_rng(0).standard_normal((5000, 2))
    many[0] = 1000.0
    public, made = public_for(estimate, many)
    text = picture(made, public)
    assert text.count("h0") == 1000
    assert "5,000 public rows, of which 1,000 are drawn" in text
    assert re.search(r"\d+ lie outside the frame", text)


def test_a_picture_takes_no_other_rows():
    """As the page does not."""
    with pytest.raises(InvalidInput, match="are not those"):
        picture(mean_release(), PublicTable(("age", "cost"), np.zeros((3, 2))))


def test_a_picture_stands_alone():
    """One well-formed SVG file with its namespace, a title and a description, and nothing to load."""
    for estimate in (mean_release(("a",)), gaussian_release(("a", "b", "c")), mixture_release(("<b>", "&", "\x01"))):
        root = ET.fromstring(picture(estimate))
        assert root.tag == f"{SVG}svg"
        assert root.find(f"{SVG}title").text
        assert root.find(f"{SVG}desc").text
        assert not [e for e in root.iter() if e.tag in {f"{SVG}image", f"{SVG}script", f"{SVG}use"}]


def test_directions_tell_components_apart():
    """Two components that differ in one hidden combination of columns come apart on the first axis."""
    generator = np.random.default_rng(4)
    for _ in range(10):
        root = generator.standard_normal((6, 6)) + np.eye(6)
        covariance = root @ root.T
        apart = 8 * np.linalg.eigh(covariance)[1][:, 0] * np.sqrt(np.linalg.eigvalsh(covariance)[0])
        mixture = Mixture.of([0.6, 0.4], [np.zeros(6), apart], [covariance, covariance])
        plane = Plane.of(mixture, list("abcdef"))
        centers = plane.of_rows(np.array([np.zeros(6), apart]))
        within = np.sqrt(plane.of_covariance(covariance)[0, 0])
        assert abs(centers[1, 0] - centers[0, 0]) / within == pytest.approx(8, rel=1e-6)
        total = mixture.moments[2]
        assert np.allclose(plane.axes.T @ total @ plane.axes, np.eye(2), atol=1e-9)


def test_directions_are_named_after_their_columns():
    """The title of an axis says which columns go with it, and which way."""
    means = np.zeros((2, 4))
    means[1] = [5.0, -5.0, 0.0, 0.0]
    plane = Plane.of(Mixture.of([0.5, 0.5], means, [np.eye(4)] * 2), ["up", "down", "idle", "calm"])
    assert plane.titles[0] in {"direction 1: more up, less down", "direction 1: more down, less up"}
    assert not {"up", "down"} & set(plane.titles[1].replace(",", "").split()[3:])


def test_columns_that_tell_components_apart_come_first():
    """By the share of a column's variance that lies between components."""
    means = np.array([[0.0, 0.0, 0.0], [1.0, 9.0, 3.0]])
    assert Mixture.of([0.5, 0.5], means, [np.eye(3)] * 2).telling.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (50.1234, 0.5, "50.12"),
        (50.1234, 0.096, "50.123"),
        (-0.0004, 0.5, "0.00"),
        (-3.456, 0.1, "\u22123.46"),
        (1234567.0, 4321.0, "1,234,600"),
        (1234567.0, None, "1,235,000"),
        (0.000012345, 0.0000001, "1.234e\u221205"),
        (2.0, None, "2"),
        (0.0, None, "0"),
        (float("inf"), 1.0, "not finite"),
        (12.0, 0.0, "12"),
    ],
)
def test_numbers_have_as_many_digits_as_their_error_lets_stand(value, error, text):
    """Two digits of the error; thousands are grouped; no minus before a zero."""
    assert rounded(value, error) == text


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0, 10, ["0", "2", "4", "6", "8", "10"]),
        (-0.4, 10.2, ["0.0", "2.5", "5.0", "7.5", "10.0"]),
        (-1.2, 1.3, ["\u22121.0", "\u22120.5", "0.0", "0.5", "1.0"]),
        (790, 1240, ["800", "900", "1,000", "1,100", "1,200"]),
        (0.01, 0.012, ["0.0100", "0.0105", "0.0110", "0.0115", "0.0120"]),
        (5, 5, ["5"]),
    ],
)
def test_marks_are_round_and_told_exactly(low, high, texts):
    """Marks on axes are round numbers, and what is written is where they are."""
    marks = _ticks(low, high)
    assert [_tick_text(mark, marks) for mark in marks] == texts
    for mark, text in zip(marks, texts, strict=True):
        assert float(text.replace("\u2212", "-").replace(",", "")) == pytest.approx(mark, abs=1e-12)


def test_an_axis_maps_both_ways():
    """Values to pixels, also upside down and of no width."""
    axis = Axis(10.0, 20.0, 300.0, 0.0)
    assert [axis(v) for v in (10, 15, 20)] == [300.0, 150.0, 0.0]
    assert axis.scale == -30.0
    assert Axis(5.0, 5.0, 0.0, 10.0)(5.0) == 0.0


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("one two three", ["one two", "three"]),
        ("x" * 40, ["x" * 8, "x" * 8, "x" * 7 + "…"]),
        ("", [""]),
    ],
    ids=["short", "words", "one long word", "empty"],
)
def test_long_titles_are_folded(text, lines):
    """At spaces where there are any, and never longer than asked."""
    assert folded(text, 8) == lines
