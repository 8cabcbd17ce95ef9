import numpy as np
import pytest
from helpers.releases import clipped, common, errors, gaussian_release

from pubpriv.errors import InvalidInput
from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.law import Mixture
from pubpriv.schemas._checks import require
from pubpriv.schemas.released import _RELEASED, estimates_table, released_table

WEIGHTS, MEANS, COLUMNS = np.array([0.7, 0.3]), np.array([[1.0, 2.0], [3.0, 4.0]]), ["age", "cost"]


def numbers(weights=WEIGHTS, means=MEANS):
    """The long table of a mixture of these numbers."""
    k, d = np.shape(means)
    mixture = Mixture.of(weights, means, np.tile(np.eye(d), (k, 1, 1)))
    told = {"weights": errors(k, 0.1), "means": errors((k, d), 0.1), "covariances": errors((k, d, d), 0.1)}
    return MixtureEstimate(mixture=mixture, standard_errors=told, **common(COLUMNS)).numbers()


def test_a_mixture_passes():
    assert released_table(numbers()).component.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("weights", "means", "says"),
    [
        ([0.7, 0.2], MEANS, "weights must sum to one"),
        ([1.5, -0.5], MEANS, "column 'weight'"),
        (WEIGHTS, MEANS * np.nan, "mean of age"),
        ([], np.empty((0, 2)), "at least one row"),
    ],
)
def test_what_is_no_mixture_fails(weights, means, says):
    with pytest.raises(InvalidInput, match=says):
        released_table(numbers(weights, means))


def test_a_table_tells_errors_of_clipping_where_there_are_any():
    heads = [set(estimates_table(each.numbers())) for each in (clipped(gaussian_release()), gaussian_release())]
    assert heads[0] - heads[1] == {"error of mean (clipping)", "error of variance (clipping)"}


def test_a_table_tells_its_target():
    assert estimates_table(gaussian_release().numbers(), "moments").target.tolist() == ["moments", "moments"]
    assert "target" not in estimates_table(gaussian_release().numbers())
    with pytest.raises(InvalidInput, match="target"):
        estimates_table(gaussian_release().numbers(), "mode")


def test_a_column_too_many_fails():
    with pytest.raises(InvalidInput, match="note"):
        require(_RELEASED, released_table(numbers()).assign(note=1.0), "the released mixture")
