"""Questions are stored as canonical text and come back bit for bit."""

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from helpers.neighbours import QUESTIONS
from hypothesis import given, settings
from hypothesis import strategies as st

from pubpriv.data.codec import from_json, public_value, rebuilt, row_tuples, to_json
from pubpriv.data.columns import Column
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts, LiftedGram
from pubpriv.data.regions import Cells, Everything
from pubpriv.privacy.ledger.texts import body_text, canonical
from pubpriv.released.law import Mixture


def through_text(value):
    return from_json(json.loads(canonical(to_json(value))))


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_survives_its_text(name):
    """Equal, of the same type, with the same price and parts, and with the same text again."""
    question = QUESTIONS[name]
    back = through_text(question)
    assert type(back) is type(question)
    assert back == question
    assert hash(back) == hash(question)
    assert back.squared_distance == question.squared_distance
    assert dict(back.parts) == dict(question.parts)
    assert canonical(to_json(back)) == canonical(to_json(question))


@settings(derandomize=True, deadline=None, database=None, max_examples=200)
@given(
    center=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4),
    sd=st.integers(1, 10**40),
)
def test_floats_and_large_integers_keep_their_bits(center, sd):
    """Denormals, negative zeros, seventeen digits and integers beyond 2^64."""
    frame = through_text(Frame(tuple(center)))
    assert [math.copysign(1, x) for x in frame.center] == [math.copysign(1, x) for x in center]
    assert np.array(frame.center).tobytes() == np.array(center).tobytes()
    assert through_text(Counts(Everything(), sd)).noise_scale == sd


def test_the_text_does_not_depend_on_how_arrays_were_laid_out():
    """Fortran order, strides and NumPy scalars give the text of plain lists."""
    matrix = np.array([[1.0, 0.5], [0.25, 2.0]])
    texts = {
        canonical(to_json(Frame.of(center, table)))
        for center in (np.array([1.0, 2.0]), np.array([1, 2]), np.array([1.0, 9.0, 2.0])[::2])
        for table in (matrix, np.asfortranarray(matrix), matrix[::-1][::-1])
    }
    assert texts == {
        '{"center":[1.0,2.0],"diagonal":null,"matrix":[[1.0,0.5],[0.25,2.0]],"type":"Frame"}',
    }


def test_the_text_of_a_question_is_what_ledgers_hold():
    """A stored question of today is read tomorrow: this text never changes its meaning."""
    text = '{"noise_scale":3,"partition":{"type":"Everything"},"type":"Counts"}'
    assert canonical(to_json(Counts(Everything(), 3))) == text
    assert from_json(json.loads(text)) == Counts(Everything(), 3)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_ledger_writes_the_text_of_a_question(name):
    """What stands in several places is written once, and the text is that of one who does not know."""
    facts = {"question": to_json(QUESTIONS[name]), "label": "l\u00e4", "empty": {}, "none": [], "sd": -0.0}
    assert body_text(facts) == canonical(facts)


def test_a_frame_in_two_places_is_one_object():
    """In the data, of which a ledger writes its text once, and in what is built of the data."""
    cells = Cells((Frame((0.0,), ((2.0,),)), Frame((1.0,), ((3.0,),))), (0.0, 0.0))
    data = to_json(LiftedGram(cells, cells.frames, (1.0, 1.0), (0, 0, 10**9)))
    assert data["frames"][1] is data["partition"]["frames"][1]
    built = from_json(data)
    assert built.frames[1] is built.partition.frames[1]


def test_the_text_is_the_same_in_another_process(in_new_process):
    """Hash seeds do not matter."""
    code = """
from helpers.neighbours import QUESTIONS
from pubpriv.data.codec import to_json
from pubpriv.privacy.ledger.texts import canonical
print(canonical([to_json(q) for q in QUESTIONS.values()]))
"""
    found = in_new_process(code)
    assert found == canonical([to_json(question) for question in QUESTIONS.values()])


@pytest.mark.parametrize(
    "data", [{"type": "Ledger"}, {"type": "os.system"}, {"type": ""}, {}, {"a": 1}, {"type": "int"}]
)
def test_an_unknown_tag_is_refused(data):
    """Reading a ledger runs nothing that is not on the closed list, at any depth."""
    with pytest.raises(ValueError, match="unknown type tag"):
        from_json(data)
    with pytest.raises(ValueError, match="unknown type tag"):
        from_json({"type": "Counts", "noise_scale": 1, "partition": data})


def test_fields_that_a_type_does_not_have_are_refused():
    """A tag with other fields than its own is not silently read."""
    with pytest.raises(TypeError):
        from_json({"type": "Column", "source": "a", "bomb": 1})
    with pytest.raises(TypeError):
        from_json({"type": "Counts", "noise_scale": 1})


def kind_of(value):
    """A name that is the same in every process."""
    return type(value).__name__


@pytest.mark.parametrize(
    "value", [np.zeros(2), np.float32(1), np.int64(3), {"a": 1}, {1}, b"a", 1j, object(), Frame], ids=kind_of
)
def test_what_is_not_a_public_value_is_refused(value):
    """Arrays and their scalars, dictionaries, bytes, foreign objects and classes, alone or inside a tuple."""
    for wrapped in (value, (1.0, value), Column(value)):
        with pytest.raises(TypeError, match="not a public value"):
            to_json(wrapped)


def test_an_array_in_a_field_is_refused():
    """A registered dataclass that holds an array is not stored half."""

    @public_value
    @dataclass(frozen=True)
    class HoldsAnArray:
        values: np.ndarray

    with pytest.raises(TypeError, match="ndarray is not a public value"):
        to_json(HoldsAnArray(np.zeros(2)))


def test_a_name_is_one_public_values():
    """Stored values are found again by the name of their class, so a second class of that name is refused."""

    @dataclass(frozen=True)
    class Frame:
        value: int

    with pytest.raises(TypeError, match=r"two public values are named Frame: pubpriv\.data\.frames"):
        public_value(Frame)
    with pytest.raises(TypeError, match="not a public value"):
        to_json(Frame(1))


def test_a_dataclass_that_is_not_registered_is_refused():
    """The list is closed: being a dataclass is not enough."""

    @dataclass(frozen=True)
    class Stranger:
        number: int

    with pytest.raises(TypeError, match="Stranger is not a public value"):
        to_json(Stranger(1))


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not_are_refused(odd):
    """No text is written that another reader would refuse."""
    with pytest.raises(ValueError, match="JSON"):
        canonical(to_json((1.0, odd)))


def test_a_number_that_lies_about_itself_is_written_as_what_it_is():
    """What is stored, and so what is asked, is the number that was checked and priced."""

    class Sly(float):
        def __float__(self):
            return 5.0

        def __repr__(self):
            return "5.0"

    question = replace(QUESTIONS["score"], bound=Sly(3.0))
    for written in (to_json(question)["bound"], rebuilt(question).bound):
        assert (type(written), written) == (float, 3.0)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_rebuilt_question_is_the_one_that_a_ledger_gives_back(name):
    """Equal, and another object: what was planted beside the fields is gone."""
    question = replace(QUESTIONS[name])
    question.__dict__["planted"] = 1
    again = rebuilt(question)
    assert again == from_json(to_json(question)) == question
    assert "planted" not in again.__dict__


def test_a_mixture_is_a_public_value():
    """Models of steps travel as the questions do."""
    mixture = Mixture.of([0.25, 0.75], np.eye(2), np.stack([np.eye(2), 2 * np.eye(2)]))
    assert through_text(mixture) == mixture


def test_a_class_of_one_module_is_stored_without_its_underscore():
    """Whether other modules may use a class is no business of the ledger."""

    @public_value
    @dataclass(frozen=True)
    class _KeptToItself:
        value: float

    assert to_json(_KeptToItself(0.5)) == {"type": "KeptToItself", "value": 0.5}
    assert from_json({"type": "KeptToItself", "value": 0.5}) == _KeptToItself(0.5)


@pytest.mark.parametrize("array", [np.array([[0.1, 1e-300], [-0.0, 3.0]]), np.zeros((0, 2)), np.arange(3)[:, None]])
def test_an_array_is_held_as_tuples_of_plain_numbers(array):
    """The same bits, in no numpy type; integers stay integers."""
    held = row_tuples(array)
    assert np.array(held, dtype=array.dtype).reshape(array.shape).tobytes() == array.tobytes()
    assert {type(value) for row in held for value in row} <= {float, int}
    assert through_text(held) == held
