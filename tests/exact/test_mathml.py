"""Formulas in MathML: well-formed, and worth the same number as the entry they show."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from armdyn import Robot
from armdyn.exact.printing.mathml import MATHML, inline
from armdyn.exact.printing.names import Glyph
from armdyn.exact.printing.printer import Printer
from armdyn.expression import parse
from arms import WITHOUT_LOOPS, bundled, in_suites

SMALL = [name for name in WITHOUT_LOOPS if bundled(name).n <= 4]


def element(text):
    return ET.fromstring(f"<root>{text}</root>")


def plain(node):
    return ET.tostring(node, encoding="unicode").strip()


class Reader:
    """The value of presentation MathML, given what each symbol, spelled as an element, is worth.

    It knows signs, invisible products, powers, fractions and brackets, and nothing of the printer.
    """

    def __init__(self, values):
        self.values = {plain(element(text)[0]): value for text, value in values.items()}

    def sequence(self, nodes):
        total, product, sign, empty = 0.0, 1.0, 1.0, True
        for node in nodes:
            if node.tag == "mo" and node.text in ("+", "−"):
                total += 0.0 if empty else sign * product
                product, sign, empty = 1.0, -1.0 if node.text == "−" else 1.0, True
            elif not (node.tag == "mo" and node.text in ("⁢", "·")):
                product, empty = product * self.value(node), False
        return total + (0.0 if empty else sign * product)

    def value(self, node):
        if plain(node) in self.values:
            return self.values[plain(node)]
        if node.tag == "mn":
            return float(node.text)
        if node.tag == "mrow":
            inner = list(node)
            if inner[0].tag == "mi" and inner[0].text in ("cos", "sin", "sgn"):
                functions = {"cos": math.cos, "sin": math.sin, "sgn": np.sign}
                return functions[inner[0].text](self.value(inner[2]))
            if inner[0].text == "(":
                assert inner[-1].text == ")"
                inner = inner[1:-1]
            return self.sequence(inner)
        if node.tag == "mfrac":
            return self.value(node[0]) / self.value(node[1])
        if node.tag == "msup":
            return self.value(node[0]) ** self.value(node[1])
        if node.tag == "msubsup":
            base = f"<msub>{plain(node[0])}{plain(node[1])}</msub>"
            return self.value(ET.fromstring(base)) ** self.value(node[2])
        raise AssertionError(f"no value: {plain(node)}")


def values_of(equations, rng):
    """Random values of all generators, by name and by how MathML spells them."""
    basis, n = equations.basis, equations.n
    by_name = {name: float(value.value()) for name, value in equations.model.symbols}
    q, qd, qdd = rng.uniform(0.3, 1.2, (3, n))
    spelled = {}
    for i in range(n):
        by_name |= {f"q{i + 1}": q[i], f"qd{i + 1}": qd[i], f"qdd{i + 1}": qdd[i], f"sgn{i + 1}": 1.0}
        by_name |= {f"c{i + 1}": math.cos(q[i]), f"s{i + 1}": math.sin(q[i])}
    for i, surface in enumerate(basis.speeds):
        speed = sum(float(parse(str(k)).value(equations.model.exact_values)) * qd[j] for j, k in surface.row)
        by_name[f"sgnm{i + 1}"] = float(np.sign(speed))
    for name, value in by_name.items():
        if not (name[0] in "cs" and name[1:].isdigit()):
            spelled[MATHML.generator(name, basis)] = value
    for mask in range(1, 2**n):
        joints = [i for i in range(n) if mask >> i & 1]
        label = "".join(str(i + 1) for i in joints)
        angle = sum(q[i] for i in joints)
        spelled |= {MATHML.trig("c", label): math.cos(angle), MATHML.trig("s", label): math.sin(angle)}
    return by_name, spelled


def with_functions(equations, by_name, spelled):
    """Generators such as cos(alpha1), which the kinematic ring may have."""
    names = {name for name in (*equations.basis.full.names, *equations.basis.kinematic.names) if "(" in name}
    symbols = {name: by_name[name] for name, _ in equations.model.symbols}
    for name in names:
        by_name[name] = parse(name).value(symbols)
        spelled[MATHML.generator(name, equations.basis)] = by_name[name]


@pytest.mark.parametrize("name", in_suites(SMALL))
def test_formula_and_entry_have_the_same_value(name):
    equations = Robot.load(name).equations()
    by_name, spelled = values_of(equations, np.random.default_rng(4))
    with_functions(equations, by_name, spelled)
    for generator in equations.basis.full.names:
        if generator.startswith("1/"):
            by_name[generator] = 1 / by_name[generator[2:]]
    reader = Reader(spelled)
    entries = [x for row in equations.B for x in row] + [x for row in equations.C for x in row]
    entries += [*equations.g, *equations.friction, *equations.tau]
    compared = 0
    for entry in entries:
        if entry.size > 300:
            continue
        formula = element(Printer(equations.basis, MATHML).entry(entry))
        assert reader.sequence(list(formula)) == pytest.approx(entry.value(by_name), rel=1e-9, abs=1e-12)
        compared += 1
    assert compared >= 2


@pytest.mark.parametrize("name", in_suites([*SMALL, "puma560"], ("rp", "planar", "elastic_link")))
def test_document_is_well_formed_and_uses_mathml_core_alone(name):
    root = element(Robot.load(name).equations().mathml())
    core = {"math", "mtable", "mtr", "mtd", "mrow", "mi", "mn", "mo", "msub", "msup", "msubsup", "mover"}
    core |= {"mfrac", "mspace", "msqrt", "mtext"}
    assert {node.tag for node in root.iter()} <= core | {"root", "h1", "h2", "p"}
    children = {"msub": 2, "msup": 2, "mfrac": 2, "mover": 2, "msubsup": 3}
    for node in root.iter():
        if node.tag in children:
            assert len(node) == children[node.tag]


def test_long_sums_go_on_over_several_rows():
    (math_block,) = element(Robot.load("elbow").equations().mathml()).findall("math")[:1]
    rows = math_block.findall(".//mtr")
    assert len(rows) > 3  # three equations
    for row in rows:
        assert len("".join(row[2].itertext())) < 130


@pytest.mark.parametrize(
    ("glyph", "spelled"),
    [
        (Glyph("alpha"), "<mi>α</mi>"),
        (Glyph("omega"), "<mi>ω</mi>"),
        (Glyph("Omega"), "<mi>Ω</mi>"),
        (Glyph("sigma"), "<mi>σ</mi>"),
        (Glyph("ell", ("1",)), "<msub><mi>ℓ</mi><mn>1</mn></msub>"),
        (Glyph("I", ("2xx",)), "<msub><mi>I</mi><mrow><mn>2</mn><mi>x</mi><mi>x</mi></mrow></msub>"),
        (
            Glyph("m", (Glyph("ell", ("1",)),)),
            "<msub><mi>m</mi><msub><mi>ℓ</mi><mn>1</mn></msub></msub>",
        ),
        (
            Glyph("q", (), "ddot"),
            '<mover accent="true"><mi>q</mi><mo stretchy="false">¨</mo></mover>',
        ),
    ],
)
def test_letters(glyph, spelled):
    assert MATHML.glyph(glyph) == spelled


def test_a_power_stands_above_the_subscript():
    subscripted, bare = MATHML.glyph(Glyph("a", ("1",))), MATHML.glyph(Glyph("a"))
    assert MATHML.power(subscripted, 2) == "<msubsup><mi>a</mi><mn>1</mn><mn>2</mn></msubsup>"
    assert MATHML.power(bare, -1) == "<msup><mi>a</mi><mrow><mo>−</mo><mn>1</mn></mrow></msup>"


def test_one_entry_as_an_inline_formula():
    entry = Robot.load("pendulum").equations().g[0]
    assert inline(entry).startswith("<math><")
    assert ET.fromstring(inline(entry)).tag == "math"
