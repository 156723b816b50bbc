"""Names that have a successor: what a call of the old one says, and that it still works."""

import inspect
import warnings
from pathlib import Path

import pytest

from armdyn.names import deprecated


@deprecated("new_sum", gone="2.0")
def old_sum(a, *, b=2):
    """The sum of two numbers."""
    return a + b


class Held:
    @deprecated("Held.value", gone="3.0")
    def get(self):
        return 7


def test_a_deprecated_function_warns_at_its_caller_and_works():
    with pytest.warns(DeprecationWarning, match="old_sum") as told:
        assert old_sum(1, b=3) == 4
    assert [str(w.message) for w in told] == ["old_sum is deprecated and goes with armdyn 2.0; use new_sum"]
    assert Path(told[0].filename) == Path(__file__)
    with pytest.warns(DeprecationWarning, match=r"Held\.get is deprecated and goes with armdyn 3\.0"):
        assert Held().get() == 7


def test_a_deprecated_function_looks_as_it_did():
    assert str(inspect.signature(old_sum)) == "(a, *, b=2)"
    assert old_sum.__name__ == "old_sum"
    assert inspect.getdoc(old_sum).startswith("The sum of two numbers.")
    assert inspect.getdoc(old_sum).endswith("use new_sum.")
    assert inspect.getdoc(Held.get).startswith("Deprecated: ")


def test_importing_it_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        deprecated("x", gone="2.0")(lambda: None)
