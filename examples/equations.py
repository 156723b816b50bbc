"""Exact equations: to read, to check against a formula, to typeset, to hand to SymPy."""

import sympy

from armdyn import Robot


def main() -> None:
    equations = Robot.load("planar").equations()

    # B, C, g and the rest are exact arrays; entries print as the book writes them.
    print("b12 =", equations.B[0, 1])
    print("c12 =", equations.C[0, 1])
    print("c_112 =", equations.christoffel[0, 0, 1])
    print("T =", equations.kinetic_energy)

    # Comparison with a text is a proof of equality, whatever way the text is written.
    print(equations.g[1] == "ml2*l2*g*(c1*c2 - s1*s2)", equations.B[1, 1] == "Il2 + ml2*l2**2")

    # LaTeX and Markdown, of an entry or of everything.
    print(equations.B[0, 1].latex())
    print(len(equations.latex().splitlines()), "lines of LaTeX,", end=" ")
    print(len(equations.markdown().splitlines()), "lines of Markdown")

    # SymPy matrices in q1, q2, qd1, qd2 and the symbols of the description.
    s = equations.sympy()
    rotors = {s.symbols["Im1"]: 0, s.symbols["Im2"]: 0}
    print("det B without rotors =", sympy.expand(sympy.trigsimp(s.B.subs(rotors).det())))
    print("dU/dq2 =", s.g[1], "-> at q = 0:", s.g[1].subs(dict.fromkeys(s.q, 0)))

    # Every number a symbol, for an arm that comes with numbers: 6 joints in a moment.
    puma = Robot.load("puma560").symbolic().equations()
    print("PUMA 560: b66 =", puma.B[5, 5], "and g5 =", puma.g[4])


if __name__ == "__main__":
    main()
