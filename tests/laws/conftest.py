"""Random arms are used once: they are evaluated, not compiled (tests/kernels and tests/agreement compile)."""

from collections.abc import Iterator

import pytest

import armdyn


@pytest.fixture(autouse=True)
def evaluator() -> Iterator[None]:
    with armdyn.backend("evaluator"):
        yield
