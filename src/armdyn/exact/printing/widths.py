"""How wide formulas are when they are typeset, in em; lengths such as "16cm" as em of 10 pt type.

Letters have the widths of Computer Modern, subscripts those of its smaller sizes, spaces those of TeX.
Browsers have other fonts that are about as wide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from xml.etree import ElementTree

from armdyn.expression import ArmdynError, shown

_POINTS = {"pt": 1.0, "mm": 72.27 / 25.4, "cm": 72.27 / 2.54, "in": 72.27, "em": 10.0}
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(pt|mm|cm|in|em)\s*")
NARROWEST = 14.0  # em, about 5 cm: a product of a few factors

# Thousandths of an em: italic letters a … z and A … Z, upright ones, Greek ones
_ITALIC = """
528 429 432 520 465 489 477 576 344 411 520 298 878 600 484 503 446 451 468 361 572 484 715 571 490 465
750 758 714 827 738 643 786 831 439 554 849 680 970 803 762 642 790 759 613 584 682 583 944 828 580 682"""
_UPRIGHT = """
500 555 444 555 444 305 500 555 277 305 527 277 833 555 500 555 527 391 394 388 555 527 722 527 527 444
750 708 722 763 680 652 784 750 361 513 777 625 916 750 777 680 777 736 555 722 750 750 1027 750 750 611"""
_GREEK = """
alpha 639 beta 565 gamma 517 delta 444 epsilon 405 zeta 437 eta 496 theta 469 vartheta 591 iota 353 kappa 576
lambda 583 mu 602 nu 494 xi 437 pi 570 rho 517 sigma 571 tau 437 phi 595 varphi 654 chi 625 psi 651 omega 622
ell 416 Gamma 625 Delta 833 Theta 777 Lambda 694 Xi 666 Pi 750 Sigma 722 Phi 722 Psi 777 Omega 722"""
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ITALIC = {a: int(w) / 1000 for a, w in zip(_LETTERS, _ITALIC.split(), strict=True)}
UPRIGHT = {a: int(w) / 1000 for a, w in zip(_LETTERS, _UPRIGHT.split(), strict=True)}
GREEK = {name: int(w) / 1000 for name, w in zip(_GREEK.split()[::2], _GREEK.split()[1::2], strict=True)}
_SIGNS = {"+": 1.222, "-": 1.222, "−": 1.222, "=": 1.333, "·": 0.722, ",": 0.444, ".": 0.278, "/": 0.5}
_SIGNS |= {
    "(": 0.389,
    ")": 0.389,
    "[": 0.278,
    "]": 0.278,
    "|": 0.278,
    "'": 0.3,
    "′": 0.3,
    "…": 1.2,
    "⁢": 0,
    "⁡": 0,
}
_SMALLER = (1.0, 0.8, 0.68)  # of letters in formulas, in their subscripts, and in subscripts of these
_IN_BROWSERS = (1.0, 0.75, 0.62)
_RESERVE = 1.02  # for what letters lean over their widths


def in_em(width: object) -> float:
    """A length as em of 10 pt type."""
    match = _LENGTH.fullmatch(width) if isinstance(width, str) else None
    if match is None:
        raise ArmdynError(
            f"width: found {shown(width)}; expected a length such as '16cm' (cm, mm, in, pt or em)"
        )
    found = float(match[1]) * _POINTS[match[2]] / 10
    if found < NARROWEST:
        raise ArmdynError(f"width: found {shown(width)}; no formula fits into less than 5cm")
    return found


# ---- LaTeX -------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^ \n]")
_COMMANDS = {"quad": 1.0, "qquad": 2.0, ",": 0.167, "ldots": 1.2, "cdot": 0.722, "&": 0.0}
_BRACKETS = {"left": 0.46, "right": 0.46, "bigl": 0.46, "bigr": 0.46, "Bigl": 0.6, "Bigr": 0.6}
_BRACKETS |= {"biggl": 0.74, "biggr": 0.74, "Biggl": 0.8, "Biggr": 0.8}


@lru_cache(maxsize=10_000)
def latex_width(formula: str) -> float:
    """The width of a formula in LaTeX; only what armdyn writes is known."""
    return _RESERVE * _Latex(_TOKEN.findall(formula)).row()


class _Latex:
    """Reads tokens from the left; a row ends where they do, or at the brace that closes it."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0

    def _next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    @property
    def _ahead(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def row(self, size: int = 0, letters: dict[str, float] = ITALIC) -> float:
        total = widest = 0.0
        while self._ahead not in ("", "}", r"\end"):
            if self._ahead == r"\\":  # a row of a matrix
                self._next()
                total, widest = 0.0, max(widest, total)
                continue
            total += self._one(size, letters) + max(self._scripts(size), default=0.0)
        return max(total, widest)

    def _scripts(self, size: int) -> Iterator[float]:
        while self._ahead in ("_", "^"):
            self._next()
            yield self._one(min(size + 1, 2), ITALIC)

    def _one(self, size: int, letters: dict[str, float]) -> float:
        """What stands in braces, or one token and what belongs to it."""
        token, scale = self._next(), _SMALLER[size]
        if token == "{":
            width = self.row(size, letters)
            self._next()
            return width
        if token.startswith("\\") and len(token) > 1:
            return self._command(token[1:], size)
        return scale * letters.get(token, _SIGNS.get(token, 0.5))

    def _command(self, name: str, size: int) -> float:
        scale = _SMALLER[size]
        if name in _BRACKETS:
            self._next()  # the bracket itself
            return scale * (_BRACKETS[name] + (0.167 if name in ("left", "right") else 0.0))
        if name in ("frac", "tfrac"):
            inner = min(size + 1, 2) if name == "tfrac" or size else 0
            return max(self._one(inner, ITALIC), self._one(inner, ITALIC)) + 0.24
        if name in ("dot", "ddot", "hat", "bar"):
            return self._one(size, ITALIC)
        if name in ("mathrm", "text", "operatorname"):
            return self._one(size, UPRIGHT) + (0.167 if name == "operatorname" else 0.0)
        if name == "sqrt":
            return self._one(size, ITALIC) + 0.83 * scale
        if name in ("begin", "end"):
            self._one(size, ITALIC)
            return 0.53 + (self.row(size) if name == "begin" else 0.0)
        if name in ("cos", "sin", "exp", "tan"):
            return scale * (0.167 + sum(UPRIGHT[letter] for letter in name))
        return scale * GREEK.get(name, _COMMANDS.get(name, 0.5))


# ---- MathML ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=10_000)
def mathml_width(formula: str) -> float:
    """The width of presentation MathML."""
    return _RESERVE * _row(ElementTree.fromstring(f"<mrow>{formula}</mrow>"), 0)


def _row(node: ElementTree.Element, size: int) -> float:
    return sum(_element(child, size) for child in node)


def _element(node: ElementTree.Element, size: int) -> float:
    smaller, children = min(size + 1, 2), list(node)
    match node.tag:
        case "mi" | "mn" | "mo" | "mtext":
            text = node.text or ""
            letters = ITALIC if node.tag == "mi" and len(text) == 1 else UPRIGHT
            prefix = 0.444 if node.get("form") == "prefix" else 0.0
            return _IN_BROWSERS[size] * (sum(letters.get(c, _SIGNS.get(c, 0.55)) for c in text) - prefix)
        case "msub" | "msup":
            return _element(children[0], size) + _element(children[1], smaller)
        case "msubsup":
            return _element(children[0], size) + max(_element(x, smaller) for x in children[1:])
        case "mfrac":
            inner = smaller if node.get("displaystyle") == "false" or size else size
            return max(_element(x, inner) for x in children) + 0.24
        case "mover":
            return _element(children[0], size)
        case "msqrt":
            return _row(node, size) + 0.83
        case "mspace":
            return float(node.get("width", "0em").removesuffix("em"))
    return _row(node, size)
