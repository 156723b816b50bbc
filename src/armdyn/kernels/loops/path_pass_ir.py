"""The passes of `path_pass` as LLVM IR: the same steps as `path_pass_reference`, row by row.

A row is a slope, a low and a high number; `last` points to those of the row that leads into what can be
reached, which has index m. Values without a name of their own in the reference are named by what they are.
"""

from __future__ import annotations

# The smallest upper and the largest lower line at x, and their rows.
_LINES = """
%gap = type {double, double, i64, i64}
define internal %gap @lines(i64 %m, ptr %slope, ptr %low, ptr %high, ptr %last, double %x) {
entry:
  %lowp0 = getelementptr double, ptr %last, i64 1
  %highp0 = getelementptr double, ptr %last, i64 2
  %slope0 = load double, ptr %last
  %low0 = load double, ptr %lowp0
  %high0 = load double, ptr %highp0
  %rise0 = fmul double %slope0, %x
  %upper0 = fadd double %high0, %rise0
  %lower0 = fadd double %low0, %rise0
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %row]
  %upper = phi double [%upper0, %entry], [%upper1, %row]
  %lower = phi double [%lower0, %entry], [%lower1, %row]
  %j = phi i64 [%m, %entry], [%j1, %row]
  %k = phi i64 [%m, %entry], [%k1, %row]
  %more = icmp slt i64 %i, %m
  br i1 %more, label %row, label %done
row:
  %slopep = getelementptr double, ptr %slope, i64 %i
  %lowp = getelementptr double, ptr %low, i64 %i
  %highp = getelementptr double, ptr %high, i64 %i
  %slopei = load double, ptr %slopep
  %lowi = load double, ptr %lowp
  %highi = load double, ptr %highp
  %rise = fmul double %slopei, %x
  %upperi = fadd double %highi, %rise
  %loweri = fadd double %lowi, %rise
  %less = fcmp olt double %upperi, %upper
  %greater = fcmp ogt double %loweri, %lower
  %upper1 = select i1 %less, double %upperi, double %upper
  %lower1 = select i1 %greater, double %loweri, double %lower
  %j1 = select i1 %less, i64 %i, i64 %j
  %k1 = select i1 %greater, i64 %i, i64 %k
  %next = add i64 %i, 1
  br label %head
done:
  %r0 = insertvalue %gap undef, double %upper, 0
  %r1 = insertvalue %gap %r0, double %lower, 1
  %r2 = insertvalue %gap %r1, i64 %j, 2
  %r3 = insertvalue %gap %r2, i64 %k, 3
  ret %gap %r3
}
"""

# A number of a row: of the last one where its index is m.
_ENTRY = """
define internal double @entry_of(i64 %m, ptr %column, ptr %last, i64 %of_last, i64 %row) {
  %is_last = icmp eq i64 %row, %m
  %there = getelementptr double, ptr %last, i64 %of_last
  %here = getelementptr double, ptr %column, i64 %row
  %place = select i1 %is_last, ptr %there, ptr %here
  %value = load double, ptr %place
  ret double %value
}
"""

# Newton's method on the gap. `%from` is where it starts, `%end` the last x of interest, `%sign` the way.
# −1 is `_down`, whose failure (−1) leaves the two rows in `%where`; +1 is `_up`, which ends at `%end`.
_SEARCH = """
define internal double @search(i64 %m, ptr %slope, ptr %low, ptr %high, ptr %last, double %from, double %end,
                               double %sign, ptr %where) {
entry:
  br label %again
again:
  %x = phi double [%from, %entry], [%meet, %further]
  %found = call %gap @lines(i64 %m, ptr %slope, ptr %low, ptr %high, ptr %last, double %x)
  %upper = extractvalue %gap %found, 0
  %lower = extractvalue %gap %found, 1
  %j = extractvalue %gap %found, 2
  %k = extractvalue %gap %found, 3
  %open = fcmp oge double %upper, %lower
  br i1 %open, label %here, label %excluded
excluded:
  %slopej = call double @entry_of(i64 %m, ptr %slope, ptr %last, i64 0, i64 %j)
  %slopek = call double @entry_of(i64 %m, ptr %slope, ptr %last, i64 0, i64 %k)
  %highj = call double @entry_of(i64 %m, ptr %high, ptr %last, i64 2, i64 %j)
  %lowk = call double @entry_of(i64 %m, ptr %low, ptr %last, i64 1, i64 %k)
  %tilt = fsub double %slopej, %slopek
  %signed = fmul double %tilt, %sign
  %opens = fcmp ogt double %signed, 0.0
  br i1 %opens, label %meeting, label %never
meeting:
  %apart = fsub double %lowk, %highj
  %meet = fdiv double %apart, %tilt
  %beyond = fsub double %meet, %end
  %passed = fmul double %beyond, %sign
  %outside = fcmp ogt double %passed, 0.0
  br i1 %outside, label %never, label %inside
inside:
  %moved = fsub double %meet, %x
  %ahead = fmul double %moved, %sign
  %moves = fcmp ogt double %ahead, 0.0
  br i1 %moves, label %further, label %here
further:
  br label %again
here:
  ret double %x
never:
  store i64 %j, ptr %where
  %second = getelementptr i64, ptr %where, i64 1
  store i64 %k, ptr %second
  %up = fcmp ogt double %sign, 0.0
  %result = select i1 %up, double %end, double -1.0
  ret double %result
}
"""

# The row that leads from an interval into what can be reached at its end.
_LAST = """
define internal void @last_row(ptr %last, double %step, ptr %reach) {
  %inverse = fdiv double 1.0, %step
  %slope = fneg double %inverse
  %leastp = getelementptr double, ptr %reach, i64 0
  %mostp = getelementptr double, ptr %reach, i64 1
  %least = load double, ptr %leastp
  %most = load double, ptr %mostp
  %low = fdiv double %least, %step
  %high = fdiv double %most, %step
  %lowp = getelementptr double, ptr %last, i64 1
  %highp = getelementptr double, ptr %last, i64 2
  store double %slope, ptr %last
  store double %low, ptr %lowp
  store double %high, ptr %highp
  ret void
}
"""

# Back and forth. Returns the interval that failed, or −1.
_PASS = """
define i64 @NAME(i64 %count, i64 %m, ptr %step, ptr %slope, ptr %low, ptr %high, ptr %most,
                 ptr %x, ptr %u, ptr %reach, ptr %where) {
entry:
  %last = alloca [3 x double]
  %endp = getelementptr double, ptr %most, i64 %count
  %end = load double, ptr %endp
  %end2 = mul i64 %count, 2
  %reach0 = getelementptr double, ptr %reach, i64 %end2
  %reach1 = getelementptr double, ptr %reach0, i64 1
  store double 0.0, ptr %reach0
  store double %end, ptr %reach1
  br label %back
back:
  %above = phi i64 [%count, %entry], [%i, %kept]
  %more = icmp sgt i64 %above, 0
  br i1 %more, label %interval, label %start
interval:
  %i = sub i64 %above, 1
  %row = mul i64 %i, %m
  %slopei = getelementptr double, ptr %slope, i64 %row
  %lowi = getelementptr double, ptr %low, i64 %row
  %highi = getelementptr double, ptr %high, i64 %row
  %stepp = getelementptr double, ptr %step, i64 %i
  %stepi = load double, ptr %stepp
  %after2 = mul i64 %above, 2
  %after = getelementptr double, ptr %reach, i64 %after2
  call void @last_row(ptr %last, double %stepi, ptr %after)
  %mostp = getelementptr double, ptr %most, i64 %i
  %mosti = load double, ptr %mostp
  %top = call double @search(i64 %m, ptr %slopei, ptr %lowi, ptr %highi, ptr %last, double %mosti, double 0.0,
                             double -1.0, ptr %where)
  %none = fcmp olt double %top, 0.0
  br i1 %none, label %fail, label %kept
kept:
  %bottom = call double @search(i64 %m, ptr %slopei, ptr %lowi, ptr %highi, ptr %last, double 0.0,
                                double %top, double 1.0, ptr %where)
  %here2 = mul i64 %i, 2
  %bottomp = getelementptr double, ptr %reach, i64 %here2
  %topp = getelementptr double, ptr %bottomp, i64 1
  store double %bottom, ptr %bottomp
  store double %top, ptr %topp
  br label %back
fail:
  ret i64 %i
start:
  %firstp = getelementptr double, ptr %reach, i64 1
  %first = load double, ptr %firstp
  store double %first, ptr %x
  br label %forth
forth:
  %f = phi i64 [0, %start], [%f1, %forward]
  %xf = phi double [%first, %start], [%xnext, %forward]
  %on = icmp slt i64 %f, %count
  br i1 %on, label %forward, label %done
forward:
  %f1 = add i64 %f, 1
  %frow = mul i64 %f, %m
  %slopef = getelementptr double, ptr %slope, i64 %frow
  %lowf = getelementptr double, ptr %low, i64 %frow
  %highf = getelementptr double, ptr %high, i64 %frow
  %stepfp = getelementptr double, ptr %step, i64 %f
  %stepf = load double, ptr %stepfp
  %next2 = mul i64 %f1, 2
  %next = getelementptr double, ptr %reach, i64 %next2
  call void @last_row(ptr %last, double %stepf, ptr %next)
  %taken = call double @search(i64 %m, ptr %slopef, ptr %lowf, ptr %highf, ptr %last, double %xf, double 0.0,
                               double -1.0, ptr %where)
  %lost = fcmp olt double %taken, 0.0
  %xhere = select i1 %lost, double %xf, double %taken
  %lines = call %gap @lines(i64 %m, ptr %slopef, ptr %lowf, ptr %highf, ptr %last, double %xhere)
  %uf = extractvalue %gap %lines, 0
  %up = getelementptr double, ptr %u, i64 %f
  store double %uf, ptr %up
  %gain = fmul double %stepf, %uf
  %free = fadd double %xhere, %gain
  %leastp = getelementptr double, ptr %next, i64 0
  %mostnp = getelementptr double, ptr %next, i64 1
  %least = load double, ptr %leastp
  %mostn = load double, ptr %mostnp
  %below = fcmp olt double %free, %least
  %raised = select i1 %below, double %least, double %free
  %over = fcmp ogt double %raised, %mostn
  %xnext = select i1 %over, double %mostn, double %raised
  %xp = getelementptr double, ptr %x, i64 %f1
  store double %xnext, ptr %xp
  br label %forth
done:
  ret i64 -1
}
"""


def path_pass_ir(name: str) -> str:
    """The module with `i64 NAME(count, m, step, slope, low, high, most, x, u, reach, where)`."""
    return "".join([_LINES, _ENTRY, _SEARCH, _LAST, _PASS.replace("NAME", name)])
