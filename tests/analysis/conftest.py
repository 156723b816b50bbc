"""Random arms are used once: they are evaluated, not compiled. Bundled ones are few."""

from collections.abc import Iterator

import pytest

import armdyn


@pytest.fixture(autouse=True)
def evaluator() -> Iterator[None]:
    with armdyn.backend("evaluator"):
        yield
