"""Every algebraic rule: an expression in, the expression that is recorded out."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.program import evaluate, record
from armdyn.program.program import RULES

RULE_NAMES = [rule.__name__ for rules in RULES.values() for rule in rules]
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

# What a rule turns each expression into. Without the rule the result must be another one.
EXAMPLES = {
    "add_zero": [("x + 0", "x"), ("0 + x", "x"), ("(x - x) + y", "y")],
    "add_negative": [("x + -y", "(x - y)"), ("-x + y", "(y - x)")],
    "add_difference": [("x + (y - x)", "y"), ("(y - x) + x", "y")],
    "subtract_zero": [("x - 0", "x"), ("0 - x", "-x"), ("x - x", "0.0"), ("x*y - y*x", "0.0")],
    "subtract_negative": [("x - -y", "(x + y)"), ("-x - y", "-(x + y)")],
    "subtract_difference": [("x - (x - y)", "y"), ("(x + y) - x", "y"), ("(x + y) - y", "x")],
    "multiply_constant": [
        ("0 * x", "0.0"),
        ("x * 0", "0.0"),
        ("1 * x", "x"),
        ("x * 1", "x"),
        ("-1 * x", "-x"),
        ("x * -1", "-x"),
    ],
    "multiply_negative": [
        ("-x * y", "-(x * y)"),
        ("x * -y", "-(x * y)"),
        ("-x * -y", "(x * y)"),
        ("3 * -x", "(x * -3.0)"),
        ("-x * 3", "(x * -3.0)"),
    ],
    "multiply_constants": [("2 * (3 * x)", "(x * 6.0)"), ("(x * 3) * 2", "(x * 6.0)")],
    "divide_constant": [("x / 4", "(x * 0.25)"), ("0 / x", "0.0"), ("x / 1", "x"), ("x / -1", "-x")],
    "negate_negative": [("-(-x)", "x"), ("-(x - y)", "(y - x)"), ("-(2 * x)", "(x * -2.0)")],
    "cosine_of_negative": [("cos(-x)", "cos(x)"), ("cos(y - x) - cos(-(y - x))", None)],
    "sine_of_negative": [("sin(-x)", "-sin(x)")],
}
CASES = [(rule, *example) for rule, examples in EXAMPLES.items() for example in examples]


def recorded(expression):
    """The program of an expression in x, y, z."""

    def function(x, y, z):
        names = {"x": x[0], "y": y[0], "z": z[0], "sin": lambda a: a.sin(), "cos": lambda a: a.cos()}
        return eval(expression, names)

    return record(function, [("x", 1), ("y", 1), ("z", 1)], [("r", ())])


def text(expression):
    """What is recorded for an expression, as an expression."""
    program = recorded(expression)
    texts = []
    for node in program.nodes:
        arguments = [texts[a] for a in node[1:]] if node[0] not in ("input", "const") else []
        if node[0] == "input":
            texts.append("xyz"[node[1]])
        elif node[0] == "const":
            texts.append(repr(node[1]))
        elif node[0] == "neg":
            texts.append(f"-{arguments[0]}")
        elif node[0] in OPERATORS:
            texts.append(f"({arguments[0]} {OPERATORS[node[0]]} {arguments[1]})")
        else:
            texts.append(f"{node[0]}({', '.join(arguments)})")
    return texts[program.results[0]]


def without(monkeypatch, name):
    for op, rules in RULES.items():
        monkeypatch.setitem(RULES, op, tuple(rule for rule in rules if rule.__name__ != name))


def test_every_rule_has_examples():
    assert sorted(EXAMPLES) == sorted(RULE_NAMES)


@pytest.mark.parametrize(("rule", "before", "after"), [case for case in CASES if case[2]])
def test_rule(rule, before, after):
    assert text(before) == after


@pytest.mark.parametrize(("rule", "before", "after"), [case for case in CASES if case[2]])
def test_the_rule_is_what_does_it(monkeypatch, rule, before, after):
    without(monkeypatch, rule)
    assert text(before) != after


@pytest.mark.parametrize(("rule", "before", "after"), CASES)
def test_a_rule_keeps_the_value_and_adds_no_operation(monkeypatch, rule, before, after):
    x, y, z = np.random.default_rng(1).uniform(-3, 3, (3, 20, 1))
    program = recorded(before)
    value = eval(before, {"x": x, "y": y, "z": z, "sin": np.sin, "cos": np.cos})
    np.testing.assert_allclose(evaluate(program, x, y, z)[0], value[:, 0], rtol=0, atol=1e-14)
    without(monkeypatch, rule)
    plain = recorded(before)
    assert program.operations <= plain.operations
    assert sum(program.counts.values()) <= sum(plain.counts.values())


@pytest.mark.parametrize(
    "expression",
    ["x + y", "x - y", "x * y", "x / y", "x * x", "2 * x", "-x", "x + 1", "x - 1", "1 - x", "1 / x"],
)
def test_no_rule_touches_what_is_plain(expression):
    counts = recorded(expression).counts
    assert sum(counts.values()) == 1


def test_a_product_with_zero_is_zero_whatever_the_other_factor():
    program = recorded("0 * (x / y)")
    assert evaluate(program, [np.nan], [0.0], [0.0])[0] == 0.0
    assert program.counts == {}


@pytest.mark.parametrize("name", ["puma560", "stanford", "panda"])
def test_the_rules_save_operations_on_arms(monkeypatch, name):
    with_rules = Robot.load(name).program("inverse_dynamics").operations
    for op in RULES:
        monkeypatch.setitem(RULES, op, ())
    assert with_rules < Robot.load(name).program("inverse_dynamics").operations


def test_rules_together():
    """Random expressions of many operations have the same value with the rules."""
    rng = np.random.default_rng(7)
    leaves = ["x", "y", "z", "0", "1", "-1", "2", "0.5", "(x - x)", "(y * 0)"]
    points = rng.uniform(0.5, 2, (3, 4, 1))
    for _ in range(300):
        parts = list(rng.choice(leaves, 6))
        while len(parts) > 1:
            a, b = parts.pop(rng.integers(len(parts))), parts.pop(rng.integers(len(parts)))
            parts.append(
                str(
                    rng.choice(
                        [f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"(-{a})*({b})", f"cos({a})*{b}"]
                    )
                )
            )
        expression = f"x*0 + ({parts[0].replace('cos(', 'cos(0*x + ')})"
        program = recorded(expression)
        x, y, z = points
        expected = eval(expression, {"x": x, "y": y, "z": z, "cos": np.cos})
        np.testing.assert_allclose(
            evaluate(program, x, y, z)[0], expected[:, 0], rtol=1e-12, atol=1e-12, err_msg=expression
        )
