"""Sine and cosine of a register as LLVM IR: to 2 ulp for |x| ≤ 1e5 in double precision, to 2⁻²⁴ in single.

The argument is reduced by multiples of π/2 held in three parts (Cody and Waite; the first two short enough
for exact products, their difference kept with its rounding error), then fdlibm's kernel polynomials are used.
What lies beyond the range, NaN and infinity go to libm number by number, and only these: a result does not
depend on what else is in the register. No instruction here raises a floating-point flag on a NaN: the
quadrant is read off the bits of k + 1.5·2⁵², not converted.
"""

from __future__ import annotations

from dataclasses import dataclass

from armdyn.kernels.llvm.code import Code
from armdyn.kernels.llvm.lane import Lane, per_lane


@dataclass(frozen=True)
class Format:
    """Constants of one floating-point format: π/2 in parts, range, magic number, polynomials."""

    limit: float
    parts: tuple[float, float, float]
    magic: float
    sine: tuple[float, ...]  # coefficients of r³, r⁵, …
    cosine: tuple[float, ...]  # coefficients of r⁴, r⁶, …
    functions: tuple[str, str]


TWO_OVER_PI = 0.6366197723675814
FORMATS = {
    "double": Format(
        limit=1e5,
        parts=(
            float.fromhex("0x1.921fb54440000p+0"),  # 36 bits
            float.fromhex("0x1.68c234c4c0000p-39"),  # 36 bits
            float.fromhex("0x1.98a2e03707345p-77"),
        ),
        magic=6755399441055744.0,
        sine=(
            -1.66666666666666324348e-01,
            8.33333333332248946124e-03,
            -1.98412698298579493134e-04,
            2.75573137070700676789e-06,
            -2.50507602534068634195e-08,
            1.58969099521155010221e-10,
        ),
        cosine=(
            4.16666666666666019037e-02,
            -1.38888888888741095749e-03,
            2.48015872894767294178e-05,
            -2.75573143513906633035e-07,
            2.08757232129817482790e-09,
            -1.13596475577881948265e-11,
        ),
        functions=("sin", "cos"),
    ),
    "float": Format(
        limit=8000.0,
        parts=(1.5703125, 0.0004837512969970703, 7.549790126404332e-08),
        magic=12582912.0,
        sine=(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
        cosine=(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
        functions=("sinf", "cosf"),
    ),
}


class _Code(Code):
    """Arithmetic on registers."""

    def __init__(self, lane: Lane) -> None:
        super().__init__()
        self.lane = lane

    def __call__(self, instruction: str, *args: str, type: str | None = None) -> str:
        return self.value(f"{instruction} {type or self.lane.type} {', '.join(args)}")


def sincos_ir(lane: Lane) -> str:
    """`{sin, cos} @sincos_W(x)`."""
    form, T = FORMATS[lane.scalar], lane.type
    code = _Code(lane)
    absolute = code.value(f"call {T} @llvm.fabs.{lane.suffix}({T} %x)")
    inside = code("fcmp ole", absolute, lane.constant(form.limit))
    x = code.value(f"select {lane.mask} {inside}, {T} %x, {T} {lane.constant(0.0)}")
    shifted = code("fadd", code("fmul", x, lane.constant(TWO_OVER_PI)), lane.constant(form.magic))
    k = code("fsub", shifted, lane.constant(form.magic))
    r, tail = _reduced(code, lane, form, x, k)
    s, c = _kernels(code, lane, form, r, tail)
    s, c = _quadrants(code, lane, shifted, s, c)
    zero = code("fcmp oeq", x, lane.constant(0.0))
    s = code.value(f"select {lane.mask} {zero}, {T} {x}, {T} {s}")  # sin(−0) = −0
    return _function(lane, form, code, inside, s, c)


def _reduced(code: _Code, lane: Lane, form: Format, x: str, k: str) -> tuple[str, str]:
    """r + tail = x − k π/2, |r| ≤ π/4."""
    first, second, third = (code("fmul", k, lane.constant(p)) for p in form.parts)
    a = code("fsub", x, first)  # exact
    s = code("fsub", a, second)
    b = code("fsub", s, a)
    error = code("fsub", code("fsub", a, code("fsub", s, b)), code("fadd", second, b))
    low = code("fsub", error, third)
    r = code("fadd", s, low)
    return r, code("fsub", low, code("fsub", r, s))


def _kernels(code: _Code, lane: Lane, form: Format, r: str, tail: str) -> tuple[str, str]:
    """sin and cos of r + tail, as in fdlibm's k_sin and k_cos."""
    z = code("fmul", r, r)
    v = code("fmul", z, r)
    half = lane.constant(0.5)
    p = _polynomial(code, lane, form.sine[1:], z)
    inner = code("fsub", code("fmul", half, tail), code("fmul", v, p))
    inner = code("fsub", code("fmul", z, inner), tail)
    sine = code("fsub", r, code("fsub", inner, code("fmul", v, lane.constant(form.sine[0]))))
    p = code("fmul", z, _polynomial(code, lane, form.cosine, z))
    hz = code("fmul", half, z)
    w = code("fsub", lane.constant(1.0), hz)
    rounding = code("fsub", code("fsub", lane.constant(1.0), w), hz)
    small = code("fsub", code("fmul", z, p), code("fmul", r, tail))
    return sine, code("fadd", w, code("fadd", rounding, small))


def _polynomial(code: _Code, lane: Lane, coefficients: tuple[float, ...], z: str) -> str:
    total = lane.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = code("fadd contract", code("fmul contract", total, z), lane.constant(c))
    return total


def _quadrants(code: _Code, lane: Lane, shifted: str, s: str, c: str) -> tuple[str, str]:
    """Swap and change signs by k mod 4."""
    T, I, M = lane.type, lane.integer, lane.mask
    bits = code.value(f"bitcast {T} {shifted} to {I}")
    odd = code("and", bits, lane.integer_constant(1), type=I)
    swap = code("icmp ne", odd, lane.integer_constant(0), type=I)
    results = []
    for first, second, offset in ((s, c, 0), (c, s, 1)):
        value = code.value(f"select {M} {swap}, {T} {second}, {T} {first}")
        moved = code("add", bits, lane.integer_constant(offset), type=I)
        negative = code("and", moved, lane.integer_constant(2), type=I)
        sign = code("shl", negative, lane.integer_constant(lane.bits - 2), type=I)
        raw = code.value(f"bitcast {T} {value} to {I}")
        flipped = code("xor", raw, sign, type=I)
        results.append(code.value(f"bitcast {I} {flipped} to {T}"))
    return results[0], results[1]


def _function(lane: Lane, form: Format, code: _Code, inside: str, s: str, c: str) -> str:
    T, w = lane.type, lane.width
    sine, cosine = form.functions
    slow_sine, slow_s = per_lane(lane, "%x", sine, "s")
    slow_cosine, slow_c = per_lane(lane, "%x", cosine, "c")
    reduce = f"  %all = call i1 @llvm.vector.reduce.and.v{w}i1(<{w} x i1> {inside})" if w > 1 else ""
    condition = "%all" if w > 1 else inside
    declare = f"declare i1 @llvm.vector.reduce.and.v{w}i1(<{w} x i1>)" if w > 1 else ""
    fast = "\n".join(code.lines)
    chosen = "\n".join(
        f"  %{name} = select {lane.mask} {inside}, {T} {quick}, {T} {slow}"
        for name, quick, slow in (("ms", s, slow_s), ("mc", c, slow_c))
    )
    return f"""
declare {T} @llvm.fabs.{lane.suffix}({T})
{declare}
declare {lane.scalar} @{sine}({lane.scalar})
declare {lane.scalar} @{cosine}({lane.scalar})
define internal {{{T}, {T}}} @sincos_{w}({T} %x) noinline {{
fast:
{fast}
{reduce}
  br i1 {condition}, label %done, label %slow
slow:
{slow_sine}
{slow_cosine}
{chosen}
  br label %done
done:
  %rs = phi {T} [ {s}, %fast ], [ %ms, %slow ]
  %rc = phi {T} [ {c}, %fast ], [ %mc, %slow ]
  %pair0 = insertvalue {{{T}, {T}}} undef, {T} %rs, 0
  %pair1 = insertvalue {{{T}, {T}}} %pair0, {T} %rc, 1
  ret {{{T}, {T}}} %pair1
}}
"""
