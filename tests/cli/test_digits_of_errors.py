"""Numbers on the console have all digits that their errors leave: no powers of ten for money, nor for dates."""

import re

from helpers.releases import gaussian_release, mixture_release
from typer.testing import CliRunner

from pubpriv.cli.main import app


def shown(release, folder):
    """What `show` prints of a release."""
    release.save(folder / "m.json")
    done = CliRunner().invoke(app, ["show", str(folder / "m.json")])
    assert done.exit_code == 0, done.output
    return done.output


def test_no_power_of_ten_is_shown_of_money_and_dates(tmp_path):
    columns = ("money", "day")
    of_gaussian = shown(
        gaussian_release(columns, center=[23019.7, 18100.6], covariance=[[4.8e7, 0], [0, 13924]], error=140.0), tmp_path
    )
    of_mixture = shown(mixture_release(columns, means=[[23019.7, 18100.6], [9, 5]], error=140.0), tmp_path)
    assert "±140" in of_gaussian
    assert "23,020 ±140" in of_mixture
    for told in (of_gaussian, of_mixture):
        assert not re.search(r"\de\+", told)
