"""The verb show: what a robot is made of."""

from __future__ import annotations

from rich.table import Table

from armdyn.cli.common import (
    BaseOption,
    LockOption,
    RepairOption,
    RobotArgument,
    RotorsOption,
    SnapOption,
    TipOption,
    load_robot,
)
from armdyn.cli.terminal import add_row, table_of, terminal
from armdyn.expression import Expression
from armdyn.output import one_line
from armdyn.report.findings.tables import (
    Grid,
    cell_text,
    frames_grid,
    limits_grid,
    links_grid,
    motors_grid,
    operations_grid,
)
from armdyn.robot import Robot


def show(
    robot: RobotArgument,
    rotors: RotorsOption = None,
    base: BaseOption = None,
    tip: TipOption = None,
    lock: LockOption = None,
    repair: RepairOption = False,
    snap: SnapOption = False,
) -> None:
    """Show links, motors, limits, symbols, what looks wrong, where the diagonal rotor model is exact."""
    loaded = load_robot(robot, rotors, base=base, tip=tip, lock=lock, repair=repair, snap=snap)
    console = terminal()
    model = loaded.model
    title = f"{model.name}: {loaded.n} moving joints, rotors {model.rotors}, tip on '{model.tip}'"
    gravity = ", ".join(str(Expression.of(x)) for x in model.gravity)
    console.print(one_line(title), style="bold")
    console.print(f"gravity ({gravity}) m/s² in the base frame")
    for grid in (links_grid(model), frames_grid(model), motors_grid(model), limits_grid(model)):
        if grid.rows:
            console.print(_table(grid))
    if model.symbols:
        values = [f"{name} = {'free' if value is None else value}" for name, value in model.symbols]
        console.print("symbols: " + ", ".join(values))
    for line in _coupling_lines(loaded):
        console.print(one_line(line))
    if not any(value is None for _, value in model.symbols):
        console.print(_table(operations_grid(loaded)))
    for text in loaded.warnings:
        console.print(one_line(f"warning: {text}"), style="yellow")


def _table(grid: Grid) -> Table:
    table = table_of(*grid.headings)
    for row in grid.rows:
        add_row(table, *(cell_text(cell) for cell in row))
    return table


def _coupling_lines(robot: Robot) -> list[str]:
    """Per motor, whether adding k²Im to the diagonal is exact."""
    if robot.model.rotors != "exact":
        return []
    lines = []
    for coupling in robot.equations().rotor_couplings():
        where = f"motor of '{coupling.link}' on '{coupling.carrier}'"
        if coupling.diagonal_is_exact:
            lines.append(f"{where}: z_m·ω = 0, the diagonal rotor model is exact")
            continue
        text = "" if coupling.speed is None else f" = {coupling.speed}"
        shown = text if len(text) <= 83 else text[:80] + "..."
        lines.append(f"{where}: z_m·ω{shown or ' is not zero'}, the diagonal rotor model is not exact")
    return lines
