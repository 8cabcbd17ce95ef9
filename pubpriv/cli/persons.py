"""`pubpriv bench persons` and `bench groups`: tables with many rows per person, or with many groups."""

from typing import Annotated

import typer

from pubpriv.cli.figures import named, tell, tell_rows
from pubpriv.cli.options import FirstSeedOption, JsonOption
from pubpriv.errors import InvalidInput

_REAL = named("way", "budget", "person_mean", "person_covariance", "row_mean", "row_covariance")
_PANELS = named(
    *("sizes", "alike", "slope", "persons", "budget", "means", "variances", "best", "auto", "best_error"),
    *("auto_error", "ratio"),
)

_REGISTRY = named(
    *("table", "unit", "number", "column", "held", "non_private", "furthest", "width", "all_held", "all_width")
)


def persons(
    splits: Annotated[int, typer.Option(min=1, help="Splits of people, or draws of each panel.")] = 6,
    first_seed: FirstSeedOption = 0,
    panels: Annotated[bool, typer.Option("--panels", help="Made-up panels: coverage, and what auto chooses.")] = False,
    largest: Annotated[int, typer.Option(min=1000, help="Persons of the largest panels.")] = 10_000,
    speed: Annotated[bool, typer.Option("--speed", help="Time and memory of the pass over ids, and of scans.")] = False,
    rows: Annotated[int, typer.Option(min=1000, help="Rows of the table for --speed.")] = 1_000_000,
    dims: Annotated[int, typer.Option(min=1, help="Columns of it.")] = 2,
    as_json: JsonOption = False,
) -> None:
    """Measure Gaussians of a table in which a person has many rows, by how many of each count."""
    if panels and speed:
        raise InvalidInput("--panels and --speed are two measurements: give one of them")
    if speed:
        from benchmarks.person_speed import bench as of_speed

        tell(of_speed(rows, dims), as_json)
        return
    if panels:
        from benchmarks.panels import bench as of_panels

        found, title, headings = of_panels(splits, first_seed, largest), "95% intervals and auto, by panel", _PANELS
    else:
        from benchmarks.persons import bench

        found, title, headings = bench(splits, first_seed), "root mean square errors per whitened coordinate", _REAL
    if not as_json:
        tell_rows(title, headings, found["rows"])
    tell(found, as_json)


def groups(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each row.")] = 20,
    first_seed: FirstSeedOption = 0,
    frames: Annotated[
        bool, typer.Option("--frames", help="What a second round in coordinates of each large group would change.")
    ] = False,
    registry: Annotated[
        bool, typer.Option("--registry", help="Columns of zeros, heaps and tails, several rows a person: coverage.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure Gaussians by group, compared with each group's raw answer and with all rows together."""
    if frames and registry:
        raise InvalidInput("--frames and --registry are two measurements: give one of them")
    if registry:
        from benchmarks.registry import bench as of_registry

        found = of_registry(runs, first_seed)
        if not as_json:
            tell_rows("95% intervals of groups, and widths over those of the rows", _REGISTRY, found["rows"])
        tell(found, as_json)
        return
    if frames:
        from benchmarks.group_frames import bench as of_frames

        found = of_frames(runs, first_seed)
        if not as_json:
            headings = named("apart", "rows", "mean", "covariance", "mean_ratio", "covariance_ratio")
            tell_rows("errors of raw answers by one question, and by two over those", headings, found["rows"])
        tell(found, as_json)
        return
    from benchmarks.groups import bench

    found = bench(runs, first_seed)
    if not as_json:
        errors = ("own", "raw", "all_rows", "ratio")
        names = ("groups", "rows", "apart", *(f"{of}_{name}" for of in ("mean", "covariance") for name in errors))
        tell_rows("root mean square errors per whitened coordinate", named(*names), found["rows"])
        held = ("groups", "rows", "apart", "means_held", "variances_held", "held_or_flagged", "flagged")
        tell_rows("shares of 95% intervals that hold, and of groups that are flagged", named(*held), found["rows"])
    tell(found, as_json)
