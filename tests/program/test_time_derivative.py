"""Derivatives of programs by time, against those of the functions."""

from __future__ import annotations

import numpy as np

from armdyn.program import evaluate, record, time_derivative


def test_time_derivatives_and_the_chain_rule() -> None:
    """x = sin(a) b + a²/b along a(t) = t³, b(t) = e^t: once and twice."""
    program = record(
        lambda a, b: [a[0].sin() * b[0] + a[0] * a[0] / b[0]], [("a", 1), ("b", 1)], [("x", (1,))]
    )
    once = time_derivative(program, {"a": "ad", "b": "bd"})
    assert [name for name, _ in once.inputs] == ["a", "b", "ad", "bd"]
    twice = time_derivative(once, {"a": "ad", "b": "bd", "ad": "add", "bd": "bdd"})
    t = np.linspace(0.2, 1.5, 7)
    a, b = [t**3, 3 * t**2, 6 * t], [np.exp(t)] * 3

    def x(t):
        return np.sin(t**3) * np.exp(t) + t**6 * np.exp(-t)

    columns = [y[:, None] for y in (a[0], b[0], a[1], b[1], a[2], b[2])]
    h = 1e-4
    (first,) = evaluate(once, *columns[:4])
    (second,) = evaluate(twice, *columns)
    assert np.allclose(first[:, 0], (x(t + h) - x(t - h)) / (2 * h), rtol=1e-6)
    assert np.allclose(second[:, 0], (x(t + h) - 2 * x(t) + x(t - h)) / h**2, rtol=1e-5)


def test_what_does_not_change_has_no_rate() -> None:
    program = record(lambda a, b: [a[0] * b[0], b[0]], [("a", 1), ("b", 1)], [("x", (2,))])
    rate = time_derivative(program, {"a": "ad"})
    (found,) = evaluate(rate, *(np.array([[x]]) for x in (2.0, 3.0, 5.0)))
    assert found.tolist() == [[15.0, 0.0]]
