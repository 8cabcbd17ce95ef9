"""What Prefect's form answers to a value that is out of bounds: the field, the value and the bound."""

import pytest
from prefect.utilities.callables import parameter_schema
from prefect.utilities.schema_tools.validation import ValidationError, validate

from pubpriv.flows.estimate import estimate_mixture

FORM = {
    "private": "/tables/private.parquet",
    "public": "/tables/public.parquet",
    "budget": "zcdp:0.5",
    "dataset": "visits",
    "ledger": "PUBPRIV_LEDGER",
}


def refusal(**fields: object) -> str | None:
    """What the server says about a form, if it refuses it."""
    schema = parameter_schema(estimate_mixture).model_dump_for_openapi()
    try:
        validate({"parameters": FORM | fields}, schema, raise_on_error=True)
    except ValidationError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("components", 999, "999 is greater than the maximum of"),
        ("components", 0, "0 is less than the minimum of 1"),
        ("min_weight", 2.0, "2.0 is greater than the maximum of 1"),
        ("release_id", "a b", "'a b' does not match"),
        ("components", "many", "'many' is not one of ['auto', 'apart']"),
    ],
)
def test_a_field_that_may_be_empty_is_refused_with_its_bound(field, value, said):
    """Bounds stand beside the types of such a field, so that the message can name them."""
    answer = refusal(**{field: value})
    assert answer is not None
    assert f"parameters.{field}" in answer
    assert said in answer


def test_empty_and_good_values_are_taken():
    """Nothing, null, and a number within the bounds."""
    assert refusal() is None
    assert refusal(components=None, min_weight=None, release_id=None) is None
    assert refusal(components=3, min_weight=0.1, release_id="2026-11") is None
