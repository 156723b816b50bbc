"""Random texts: the normal form against an evaluation of the text itself with 80 digits, and no odd error."""

import ast
import math
import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest

from armdyn.expression import Atom, Expression, ExpressionError, MissingValueError, expression, parse
from golden_messages import golden_error

VALUES = {"m": Fraction(9, 10), "a": Fraction("1.3"), "b": Fraction("-0.7"), "x": Fraction("0.4")}
DIGITS = 80


class Grammar:
    """Texts of + - * / ** and functions, with the value of each, taken while it is written."""

    def __init__(self, seed, near=False):
        self.random = random.Random(seed)
        self.near = near  # whether there are differences of rational numbers and multiples of pi

    def text(self, depth):
        kind = self.random.randrange(10)
        if depth == 0 or kind == 0:
            return self.random.choice([*VALUES, "pi", "2", "0.1", "1/3", "1.5e-3", "sqrt(2)", "sqrt(3)"])
        if self.near and self.random.random() < 0.1:
            number = self.random.choice(["3.2", "22/7", "1.5708", "2*a"])
            return f"({number} - {self.random.choice(['pi', 'pi/2'])})"
        inner = self.text(depth - 1)
        if kind <= 4:
            return f"({inner} {self.random.choice('+-*/')} {self.text(depth - 1)})"
        if kind <= 7:
            return f"({inner})**{self.random.choice([2, 3, 4, -1, -2, -3, -4, 0, 16, -16])}"
        return f"{self.random.choice(['cos', 'sin', 'abs', 'inv', '-'])}({inner})"


FUNCTIONS = {
    "cos": mpmath.cos,
    "sin": mpmath.sin,
    "sqrt": mpmath.sqrt,
    "abs": abs,
    "inv": lambda d: 1 / d,
    "inverse": lambda d: 1 / d,
}


def number(x):
    return mpmath.mpf(x.numerator) / x.denominator


def value_of_text(text):
    """Python's own reading of the text, every number in it with all digits."""
    names = {**FUNCTIONS, "pi": +mpmath.pi, **{name: number(x) for name, x in VALUES.items()}}
    tree = ast.fix_missing_locations(_Numbers().visit(ast.parse(text, mode="eval")))
    return eval(compile(tree, "text", "eval"), {"__builtins__": {}, "mpf": mpmath.mpf}, names)


class _Numbers(ast.NodeTransformer):
    """Every number but exponents as mpf("…")."""

    def visit_Constant(self, node):
        return ast.Call(ast.Name("mpf", ast.Load()), [ast.Constant(repr(node.value))], [])

    def visit_BinOp(self, node):
        if isinstance(node.op, ast.Pow):
            return ast.BinOp(self.visit(node.left), node.op, node.right)
        return self.generic_visit(node)


def value_of_form(x: Expression):
    """The normal form with all digits."""
    total = mpmath.mpf(0)
    for monomial, coefficient in x.terms:
        product = number(coefficient)
        for atom, exponent in monomial:
            product *= value_of_atom(atom) ** exponent
        total += product
    return total


def value_of_atom(atom: Atom):
    if atom.kind == "symbol":
        return number(VALUES[atom.name])
    return +mpmath.pi if atom.argument is None else FUNCTIONS[atom.kind](value_of_form(atom.argument))


def check(seed, count, depths=(2, 3, 4)):
    """How many texts were refused, and compared; the normal form of those is the text's value."""
    grammar, refused, compared = Grammar(seed), 0, 0
    for _ in range(count):
        text = grammar.text(grammar.random.choice(depths))
        try:
            found = parse(text, VALUES)
        except ExpressionError:
            refused += 1
            continue
        with mpmath.workdps(DIGITS):
            try:
                expected = digits_of(text)
                with mpmath.workdps(5 * DIGITS):  # (1 − cos²)⁸ is small beside its terms
                    form = value_of_form(found)
            except ZeroDivisionError:
                continue
            if expected is not None:
                compared += 1
                allowed = mpmath.mpf(10) ** -45 * abs(expected) + mpmath.mpf(10) ** -60
                assert abs(form - expected) <= allowed, text
    return refused, compared


def digits_of(text):
    """The text's value; None where it has none to go by: one over what is zero but for rounding."""
    value = value_of_text(text)
    with mpmath.workdps(DIGITS + 40):
        difference = abs(value_of_text(text) - value)
    return value if difference <= mpmath.mpf(10) ** -50 * max(1, abs(value)) else None


def test_random_texts_and_their_normal_forms():
    refused, compared = check(seed=8, count=800)
    assert 0 < refused < 160  # too large, division by zero
    assert compared > 600


@pytest.mark.slow
def test_many_random_texts_and_their_normal_forms():
    refused, compared = check(seed=9, count=40_000, depths=(2, 3, 4, 5))
    assert refused < 8_000
    assert compared > 30_000


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1/sin(m)**-4", "sin(m)**4"),
        ("1/(sin(m)**-4*cos(m))", "sin(m)**4/cos(m)"),
        ("(sin(m)**-3*sin(x)**-2)**-1", "sin(m)**3*sin(x)**2"),
        ("abs(sin(m) + x)**2*sin(m)**3", "(sin(m) + x)**2*sin(m)**3"),
        ("inv(sin(m) + cos(m))**-2*sin(m)**2", "(sin(m) + cos(m))**2*sin(m)**2"),
    ],
)
def test_powers_that_multiply_out(text, same):
    assert parse(text) == parse(same)
    with mpmath.workdps(DIGITS):
        assert abs(value_of_form(parse(text)) - value_of_text(text)) < mpmath.mpf(10) ** -60


def test_values_where_terms_cancel():
    """Decimals are what they are written as, so nothing is left of rounding."""
    x = parse("(1 - m)**16")
    assert x.value({"m": 0.9}) == 1e-16
    assert x.value({"m": Expression.of(Fraction(9, 10))}) == 1e-16
    assert parse("1 - 3*m").value({"m": Expression.of(Fraction(1, 3))}) == 0
    assert parse("(1 - m)*sqrt(2) + (m - 1)*pi").value({"m": 1}) == 0
    assert math.isclose(parse("inv(1 - m - a)").value({"m": 0.1, "a": 0.8}), 10, rel_tol=1e-15)
    assert parse("cos(1 - m - a)").value({"m": 0.1, "a": 0.9}) == 1
    assert parse("a*b*m").value({"a": 1e-200, "b": 1e-200, "m": 1e300}) == 1e-100


def check_values(seed, count):
    """Floats against hundreds of digits, also where irrational terms cancel inside functions; how many."""
    grammar, compared = Grammar(seed, near=True), 0
    floats = {name: float(x) for name, x in VALUES.items()}
    for _ in range(count):
        text = grammar.text(grammar.random.choice([1, 2, 3, 4]))
        try:
            found = parse(text, VALUES).value(floats)
            with mpmath.workdps(5 * DIGITS):
                expected = value_of_text(text)
        except (ExpressionError, ZeroDivisionError):
            continue
        if abs(expected) > 1e-290:
            compared += 1
            assert abs(found - expected) <= 1.5e-15 * abs(expected), text
    return compared


def test_values_of_random_texts():
    assert check_values(seed=10, count=400) > 350


@pytest.mark.slow
def test_values_of_many_random_texts():
    assert check_values(seed=13, count=30_000) > 27_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sin((-(3.2 - pi))**16)", 1.8343390429714747e-20),
        ("cos(pi/2 + 1/3 - m)", None),
        ("inv(sin(22/7))", None),
        ("abs(3.2 - pi)**15", None),
        ("sin(1e22)", -0.8522008497671888),
        ("cos(pi*1e18/3.0000001)", None),
    ],
)
def test_arguments_of_functions_keep_their_digits(text, expected):
    with mpmath.workdps(6 * DIGITS):
        digits = value_of_text(text)
    assert math.isclose(parse(text).value({"m": 0.9}), digits, rel_tol=1e-15)
    if expected is not None:
        assert math.isclose(digits, expected, rel_tol=1e-15)


def test_values_beyond_all_numbers_are_refused_as_such():
    large = {"a": 1e300, "b": -1e300, "m": 1.0}
    assert parse("a**2 + a*b").value(large) == 0
    assert parse("pi*a**2 + pi*a*b + sqrt(2)").value(large) == math.sqrt(2)
    for text, values in (
        ("pi*a**2 - sqrt(2)*a*b", large),
        ("a - b", dict.fromkeys("ab", math.inf)),
        ("a*pi - b*pi", dict.fromkeys("ab", math.inf)),
        ("a + pi", {"a": math.nan}),
    ):
        with golden_error(ExpressionError):
            parse(text).value(values)
    with golden_error(ExpressionError):
        parse("inv(cos(a + b) - cos(a)*cos(b) + sin(a)*sin(b))").value({"a": 0.3, "b": 0.4})


def test_values_where_irrational_terms_cancel():
    assert math.isclose(parse("sin(x)**16").value({"x": 1.5e-3}), math.sin(1.5e-3) ** 16, rel_tol=1e-14)
    assert math.isclose(parse("1 - cos(x)").value({"x": 1e-6}), 5e-13, rel_tol=1e-12)
    assert parse("cos(a + b) - cos(a)*cos(b) + sin(a)*sin(b)").value({"a": 0.3, "b": 0.4}) == 0
    assert math.isclose(parse("sin(x)**2").value({"x": parse("pi/3")}), 0.75, rel_tol=1e-15)


TOKENS = [
    *("a", "m", "pi", "q1", "1", "2", "0.1", "1e3", "1e-300", "1e999", "0x1f", "1j", "1_0", "07", "9" * 5000),
    *(
        "+",
        "-",
        "*",
        "/",
        "**",
        "//",
        "%",
        "@",
        "^",
        "~",
        "<",
        "=",
        ":=",
        ",",
        ".",
        ";",
        ":",
        "!",
        "(",
        "(",
        ")",
    ),
    *(
        "cos(",
        "sin(",
        "sqrt(",
        "abs(",
        "inv(",
        "lambda",
        "if",
        "else",
        "for",
        "in",
        "[",
        "]",
        "{",
        "}",
        "'",
        '"',
    ),
    *(
        "\\",
        "\n",
        "\r",
        "\t",
        "\x00",
        "\x0c",
        "\ud800",
        "é",
        "²",
        "√",
        "π",
        "#",
        "f'{a}'",
        " ",
        "**-16",
        ")**-1",
    ),
    *("1/", "(a+m)**16", "(" * 150, "-" * 300, "+1" * 500, "True", "None", "...", "await ", "yield "),
]


def only_refusals(seed, count):
    """Soups of tokens: read, or refused in the one way; how many were refused."""
    numbers, refused = random.Random(seed), 0
    for _ in range(count):
        text = "".join(numbers.choices(TOKENS, k=numbers.randint(1, 12)))
        try:
            parse(text, max_length=10**5).value({"a": 1.5, "m": 0.5, "q1": 1})
        except (ExpressionError, MissingValueError):
            refused += 1
    return refused


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_soups_of_tokens_are_refused_in_one_way():
    assert 450 < only_refusals(seed=11, count=600) < 600


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_many_soups_of_tokens_are_refused_in_one_way():
    assert only_refusals(seed=12, count=50_000) < 50_000


def test_numbers_without_end_are_refused():
    for x in (10**10_000, Fraction(1, 10**10_000), [10**10_000], Decimal("1e999999999")):
        with pytest.raises(ExpressionError):
            expression(x)
