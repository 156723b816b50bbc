"""The functions of libm that programs call, as C99 that needs no library: for `c.py` without libm.

There are no tricks with bits, so the format of numbers may be any binary one with the precision of IEEE's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from math import factorial
from textwrap import dedent

import numpy as np

from armdyn.kernels.llvm.body import FORMATS, TWO_OVER_PI, Format


@dataclass(frozen=True)
class Precision:
    """What the functions of one type are made with, and the errors that tests hold them to."""

    scalar: str
    scales: tuple[int, ...]  # exponents of two, by which numbers are brought near 1
    largest_exponent: float  # beyond it exp overflows or is 0
    bits: int  # of the first part of ln 2
    taylor: int  # degree of exp
    fraction: int  # depth of tanh's continued fraction
    newton: int  # steps of sqrt
    sine: float  # largest error
    ulps: tuple[float, float, float]  # largest errors of exp, tanh, sqrt, in units of the last place

    @property
    def form(self) -> Format:
        return FORMATS[self.scalar]


PRECISIONS = {
    "double": Precision(
        "double", (512, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1), 800.0, 32, 13, 11, 4, 1e-16, (1.5, 2.0, 1.0)
    ),
    "float": Precision("float", (64, 64, 32, 16, 8, 4, 2, 1), 140.0, 12, 7, 6, 3, 5.5e-8, (1.5, 2.0, 1.0)),
}
NEEDS = {"sin": ("sine",), "cos": ("sine",), "tanh": ("exp",)}
FUNCTIONS = ("sin", "cos", "exp", "tanh", "sqrt", "abs")  # operations that are functions here
FRAME = 320  # bytes of stack that a function takes at most, with those it calls


def stated(operations: Iterable[str], scalar: str) -> list[str]:
    """What a header says of the functions: ranges and errors."""
    own, used = PRECISIONS[scalar], set(operations)
    exp, tanh, sqrt = own.ulps
    said = {
        "sin": f"sin and cos: error at most {own.sine:.2g} for |x| <= {own.form.limit:.0f}; none beyond",
        "exp": f"exp: error at most {exp:g} units of the last place",
        "tanh": f"tanh: error at most {tanh:g} units of the last place",
        "sqrt": f"sqrt: error at most {sqrt:g} units of the last place",
    }
    used |= {"sin"} if "cos" in used else set()
    return [text for name, text in said.items() if name in used]


def functions(prefix: str, operations: Iterable[str], scalar: str) -> list[str]:
    """Definitions `PREFIX_sin` and so on, of what operations need."""
    used = set(operations)
    needed = {x for name in used for x in NEEDS.get(name, ())} | used
    texts = _texts(prefix, PRECISIONS[scalar])
    return [dedent(texts[name]).lstrip("\n") for name in texts if name in needed]


def _literal(value: float, scalar: str) -> str:
    text = repr(float(np.float32(value)) if scalar == "float" else float(value))
    text += "" if "e" in text or "." in text else ".0"
    return text + ("f" if scalar == "float" else "")


def _horner(coefficients: Iterable[float], x: str, scalar: str) -> str:
    """A polynomial in x, coefficients from the lowest power on."""
    *rest, last = [_literal(c, scalar) for c in coefficients]
    text = last
    for c in reversed(rest):
        text = f"{c} + {x} * ({text})"
    return text


def _tanh_fraction(depth: int) -> tuple[list[float], list[float]]:
    """tanh x = x + x³ p(x²)/q(x²): from Lambert's continued fraction x/(1 + x²/(3 + x²/(5 + …)))."""
    numerators, denominators = [[0], [1]], [[1], [1]]
    for k in range(2, depth + 1):
        for found in (numerators, denominators):
            one, two = found[-1], [0, *found[-2]]
            size = max(len(one), len(two))
            pairs = zip(one + [0] * (size - len(one)), two + [0] * (size - len(two)), strict=True)
            found.append([(2 * k - 1) * a + b for a, b in pairs])
    p, q = numerators[-1], denominators[-1]
    p += [0] * (len(q) - len(p))
    return [(a - b) / q[0] for a, b in zip(p[1:], q[1:], strict=True)], [x / q[0] for x in q]


def _ln2(bits: int) -> tuple[float, float]:
    """ln 2 in two parts, the first with few bits."""
    with localcontext() as context:
        context.prec = 50
        exact = Decimal(2).ln()
        first = Decimal(int(exact * 2**bits)) / 2**bits
        return float(first), float(exact - first)


def _texts(prefix: str, own: Precision) -> dict[str, str]:
    """Definitions by name, in an order in which each comes before those that call it."""
    T, form = own.scalar, own.form

    def c(value: float) -> str:
        return _literal(value, T)

    first, second, third = (c(x) for x in form.parts)
    limit, count = c(form.limit), len(own.scales)
    up = ", ".join(c(2.0**k) for k in own.scales)
    down = ", ".join(c(2.0**-k) for k in own.scales)
    exponents = ", ".join(str(k) for k in own.scales)
    roots = [k for k in own.scales if k > 1]
    root_up, root_down = (", ".join(c(2.0 ** (s * k // 2)) for k in roots) for s in (1, -1))
    high, low = _ln2(own.bits)
    p, q = _tanh_fraction(own.fraction)
    return {
        "sine": f"""
            /* The sine of x (shift 0), its cosine (shift 1): x less k pi/2, which has three parts (Cody and
             * Waite, Software Manual for the Elementary Functions, 1980), then the polynomials of fdlibm. */
            static {T} {prefix}_sine({T} x, unsigned long shift)
            {{
                {T} result;
                if ((x >= -{limit}) && (x <= {limit})) {{
                    const {T} turns = x * {c(TWO_OVER_PI)};
                    const long k = (long)((turns < {c(0)}) ? (turns - {c(0.5)}) : (turns + {c(0.5)}));
                    const {T} n = ({T})k;
                    const {T} a = x - n * {first};
                    const {T} second = n * {second};
                    const {T} s = a - second;
                    const {T} b = s - a;
                    const {T} low = ((a - (s - b)) - (second + b)) - n * {third};
                    const {T} r = s + low;
                    const {T} tail = low - (r - s);
                    const {T} z = r * r;
                    const unsigned long quadrant = ((unsigned long)k + shift) & 3UL;
                    if ((quadrant & 1UL) == 0UL) {{
                        const {T} v = z * r;
                        const {T} p = {_horner(form.sine[1:], "z", T)};
                        result = r - ((z * ({c(0.5)} * tail - v * p) - tail) - v * ({c(form.sine[0])}));
                    }} else {{
                        const {T} h = {c(0.5)} * z;
                        const {T} w = {c(1)} - h;
                        const {T} p = z * ({_horner(form.cosine, "z", T)});
                        result = w + ((({c(1)} - w) - h) + (z * p - r * tail));
                    }}
                    if ((quadrant & 2UL) != 0UL) {{
                        result = -result;
                    }}
                }} else {{
                    result = (x - x) / (x - x); /* not a number */
                }}
                return result;
            }}
            """,
        "sin": f"""
            static {T} {prefix}_sin({T} x)
            {{
                return {prefix}_sine(x, 0UL);
            }}
            """,
        "cos": f"""
            static {T} {prefix}_cos({T} x)
            {{
                return {prefix}_sine(x, 1UL);
            }}
            """,
        "exp": f"""
            /* 2^k exp(r), with the series of exp(r). */
            static {T} {prefix}_exp({T} x)
            {{
                static const {T} up[{count}] = {{{up}}};
                static const {T} down[{count}] = {{{down}}};
                static const int exponent[{count}] = {{{exponents}}};
                {T} result = x; /* where it is not a number */
                if (x <= {c(-own.largest_exponent)}) {{
                    result = {c(0)};
                }} else if (x == x) {{
                    const {T} y = (x > {c(own.largest_exponent)}) ? {c(own.largest_exponent)} : x;
                    const {T} turns = y * {c(1.4426950408889634)};
                    int k = (int)((turns < {c(0)}) ? (turns - {c(0.5)}) : (turns + {c(0.5)}));
                    const {T} n = ({T})k;
                    const {T} r = (y - n * {c(high)}) - n * {c(low)};
                    int i;
                    result = {_horner([1 / factorial(k) for k in range(own.taylor + 1)], "r", T)};
                    for (i = 0; i < {count}; ++i) {{
                        if (k >= exponent[i]) {{
                            result *= up[i];
                            k -= exponent[i];
                        }} else if (k <= -exponent[i]) {{
                            result *= down[i];
                            k += exponent[i];
                        }} else {{
                            /* near enough */
                        }}
                    }}
                }} else {{
                    /* not a number */
                }}
                return result;
            }}
            """,
        "tanh": f"""
            /* Lambert's continued fraction near 0, exp elsewhere. */
            static {T} {prefix}_tanh({T} x)
            {{
                const {T} size = (x < {c(0)}) ? -x : x;
                {T} result;
                if (size < {c(0.75)}) {{
                    const {T} z = x * x;
                    const {T} d = z * ({_horner(p, "z", T)});
                    const {T} q = {_horner(q, "z", T)};
                    result = x + x * (d / q);
                }} else {{
                    const {T} t = {prefix}_exp({c(-2)} * size);
                    const {T} y = ({c(1)} - t) / ({c(1)} + t);
                    result = (x < {c(0)}) ? -y : y;
                }}
                return result;
            }}
            """,
        "sqrt": f"""
            /* Newton's steps, after x is brought to 1 ... 4 by powers of four. */
            static {T} {prefix}_sqrt({T} x)
            {{
                static const {T} up[{len(roots)}] = {{{", ".join(c(2.0**k) for k in roots)}}};
                static const {T} down[{len(roots)}] = {{{", ".join(c(2.0**-k) for k in roots)}}};
                static const {T} root_up[{len(roots)}] = {{{root_up}}};
                static const {T} root_down[{len(roots)}] = {{{root_down}}};
                {T} result = x; /* 0, infinite or not a number */
                if (x < {c(0)}) {{
                    result = (x - x) / (x - x); /* not a number */
                }} else if ((x > {c(0)}) && (x * {c(0.25)} < x)) {{
                    {T} y = x;
                    {T} scale = {c(1)};
                    int i;
                    for (i = 0; i < {len(roots)}; ++i) {{
                        if (y >= up[i]) {{
                            y *= down[i];
                            scale *= root_up[i];
                        }} else if (y < {c(4)} * down[i]) {{
                            y *= up[i];
                            scale *= root_down[i];
                        }} else {{
                            /* near enough */
                        }}
                    }}
                    result = {c(0.6861)} + {c(0.34305)} * y;
                    for (i = 0; i < {own.newton}; ++i) {{
                        result = {c(0.5)} * (result + y / result);
                    }}
                    result *= scale;
                }} else {{
                    /* 0, infinite or not a number */
                }}
                return result;
            }}
            """,
        "abs": f"""
            static {T} {prefix}_abs({T} x)
            {{
                return (x < {c(0)}) ? -x : x;
            }}
            """,
    }
