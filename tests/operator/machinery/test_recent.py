"""A memory of bounded size."""

from arriero_operator.recent import Recent


def test_what_was_used_last_stays() -> None:
    known: Recent[str, int] = Recent(2)
    known.put("a", 1)
    known.put("b", 2)
    assert known.get("a") == 1
    known.put("c", 3)
    assert (known.get("a"), known.get("b"), known.get("c")) == (1, None, 3)


def test_a_new_value_takes_the_place_of_the_old_one() -> None:
    known: Recent[str, int] = Recent(2)
    known.put("a", 1)
    known.put("b", 2)
    known.put("a", 3)
    known.put("c", 4)
    assert (known.get("a"), known.get("b")) == (3, None)


def test_what_is_dropped_is_not_known() -> None:
    known: Recent[str, int] = Recent(2)
    known.put("a", 1)
    known.drop("a")
    known.drop("never there")
    assert known.get("a") is None
