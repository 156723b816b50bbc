"""A wrong value for every option of every verb: one line that names the option."""

import shutil
import sys
from importlib.util import find_spec

import pytest
import typer

from armdyn import Log, Robot, Trajectory, study
from armdyn.cli import app, main
from commands import refused

MAKE = ("trajectory", "planar", "-o", "x.csv")
TO = (*MAKE, "--to", "1, 1")
CUBIC = (*TO, "--profile", "cubic")
FREE = ("simulate", "planar", "--duration", "1", "-o", "x.csv")
HELD = (*FREE, "--controller", "computed-torque", "--to", "0, 0")
STATE = ("torque", "planar", "--q", "0, 0")
SCALE = ("scale", "planar", "motion.csv", "-o", "x.csv")
EXCITE = ("excite", "planar", "-o", "x.csv", "--starts", "1", "--iterations", "0")
SIZE = ("size", "planar", "--cycle", "planar_line")
VIEW = ("view", "planar", "--no-browser", "--port", "0")
C = ("export", "c", "planar", "-o", ".")
ROTORS = {"--rotors": ["some", ""]}
LINK = {"--link": ["tail", ""]}
WRENCH = {"--wrench": ["1", "1, 2, 3, 4, 5, x", "1,,2,3,4,5"], **LINK}
FILE = {"--output": ["nowhere/x.csv", "."]}
TIME = ["0", "-1", "nan", "inf", "x", ""]
LIMIT = ["0", "-1", "1, 2, 3", "x", ""]
CYCLE = {"--cycle": ["nosuch.toml", "", "puma560_pick_and_place", "motion.csv"]}

# For each verb: a command, and options with values that are wrong in it.
WRONG = {
    "show": [
        (("show", "planar"), {**ROTORS, **LINK, "--base": ["link 1"], "--tip": ["nosuch", "base"]}),
        (("show", "planar"), {"--lock": ["nosuch=1", "link 1", "=1", "link 1=x", "link 1="]}),
        (
            ("show", "planar"),
            {"--payload": ["", "x", "1, 2", "-1", "1, 0, 0, x", "1, 0, 0, 0, -1, 0, 0, 1, 0, 1"]},
        ),
        (("show", "planar"), {"--gear": ["nosuch=1", "link 1", "=1", "link 1=x", "link 1=", "link 1=0"]}),
        (("show", "arm.urdf"), {"--base": ["nosuch", ""], "--tip": ["nosuch", "base"], "--gear": ["j=2"]}),
        (("show", "arm.urdf"), {"--lock": ["nosuch=1", "j", "=1", "j=x", "j="]}),
    ],
    "study run": [
        (("study", "designs.toml"), {"--best": ["0", "x", ""], "--workers": ["0", "x", ""]}),
        (("study", "designs.toml"), {"--robots": ["nowhere/x", "motion.csv"]}),
    ],
    "study show": [
        (("study", "show", "designs"), {**FILE, "--best": ["0", "x", ""]}),
        (("study", "show", "designs"), {"--robots": ["nowhere/x", "motion.csv"]}),
        (("study", "show", "designs"), {"--minimise": ["x", ""], "--maximise": ["x", "a1,a2"]}),
    ],
    "size": [
        (SIZE, {"--catalogue": ["nosuch.toml", ""], "--objective": ["x", ""], "--joint": ["nobody", ""]}),
        (SIZE, {"--only": ["x", "nobody=M", "link 1=zz", "=M"], "--holding": ["x"]}),
        (SIZE, {"--stage": ["x", "nobody=1", "link 1=x", "link 1=0"], "--voltage": ["0", "-1", "x"]}),
        (SIZE, {"--life": ["0", "inf", "x"], "--inertia-ratio": ["0", "x"], "--wrench": ["1"]}),
        (SIZE, {"--count": ["0", "x"], "--nodes": ["0", "x"], "--output": ["nowhere/x.toml"]}),
        (
            SIZE,
            {"--json": ["nowhere/x", "."], "--markdown": ["nowhere/x"], "--plot": ["nowhere/x.svg", "x.png"]},
        ),
        (("size", "planar"), {"--cycle": ["nosuch.toml", "", "puma560_pick_and_place"]}),
        (("size", "planar"), {"--trajectory": ["nosuch.csv", "three.csv"]}),
    ],
    "new": [(("new", "x.toml"), {"--dh": ["1 2", "nosuch.csv", ";", "", "0 0 0 0 wheel"]})],
    "copy": [
        (("copy", "arm.urdf", "x.toml"), {"--base": ["nosuch", ""], "--tip": ["nosuch", "base"]}),
        (("copy", "arm.urdf", "x.toml"), {"--lock": ["nosuch=1", "j", "=1", "j=x", "j="]}),
    ],
    "derive": [
        (
            ("derive", "planar"),
            {**ROTORS, **FILE, "--notation": ["newton"], "--combine": ["x", "= 1", "x ="]},
        ),
        (("derive", "planar", "--latex"), {"--width": ["16", "x", "-3cm", "16 miles"]}),
        (
            ("derive", "planar", "--steps"),
            {"--frame": ["tip"], "--at": ["1", "a; b; c", "0, 0; 0, 0", "0, 0; 0, 0; 0, x"]},
        ),
    ],
    "trajectory": [
        (CUBIC, {"--duration": TIME, **FILE}),
        ((*CUBIC, "--duration", "1"), {"--step": TIME, "--profile": ["square"]}),
        ((*CUBIC, "--duration", "1"), {"--from": ["1", "a, b"], "--to": ["1", "x, 1"]}),
        ((*TO, "--duration", "1"), {"--acceleration-time": TIME, "--max-velocity": LIMIT}),
        ((*TO, "--acceleration-time", "1"), {"--max-acceleration": LIMIT}),
        (
            (*TO, "--profile", "jerk-limited", "--max-velocity", "1", "--max-acceleration", "1"),
            {"--max-jerk": LIMIT},
        ),
        ((*MAKE, "--profile", "cubic", "--duration", "1"), {"--line": ["1", "1, 2, x"]}),
        (
            (*MAKE, "--profile", "cubic", "--duration", "1"),
            {"--circle": ["1", "1, 2, 3, 4, 5, 6", "1,1,1,1,1,1,x"]},
        ),
        (MAKE, CYCLE),
        ((*CUBIC, "--duration", "1"), LINK),
    ],
    "torque": [
        (STATE, {"--q": ["1", "1, x"], "--qd": ["1"], "--qdd": ["1, 2, 3"], **WRENCH, **ROTORS}),
        (("torque", "planar", "--trajectory", "motion.csv"), {**FILE, "--trajectory": ["nosuch.csv"]}),
        (("torque", "planar"), CYCLE),
        (STATE, {"--coupling": ["some", ""]}),
    ],
    "motors": [
        (("motors", "planar"), {**WRENCH, **ROTORS, "--trajectory": ["nosuch.csv"]}),
        (("motors", "planar"), {"--cycle": ["nosuch.toml"]}),
        (("motors", "planar"), {"--csv": ["nowhere/x.csv", "."], "--plot": ["nowhere/x.svg", ".", "x.png"]}),
    ],
    "scale": [
        (
            SCALE,
            {"--torque": LIMIT, "--velocity": LIMIT, "--acceleration": LIMIT, **WRENCH, **ROTORS, **FILE},
        ),
        (SCALE, {"--motor-torque": LIMIT, "--motor-velocity": LIMIT}),
        (("scale", "planar", "-o", "x.csv"), CYCLE),
    ],
    "simulate": [
        (
            FREE,
            {
                "--duration": TIME,
                "--step": TIME,
                "--from": ["1"],
                "--qd": ["1", "1, x"],
                "--torque": ["1", "x, 1"],
                "--method": ["euler"],
                "--controller": ["pid"],
                "--limits": ["bounce"],
                "--max-steps": ["0", "-1", "many"],
                **WRENCH,
                **ROTORS,
                **FILE,
            },
        ),
        ((*FREE, "--method", "rk4"), {"--step": TIME}),
        (
            HELD,
            {
                "--to": ["1"],
                "--stiffness": ["-1", "1, 2, 3", "x"],
                "--damping": ["-1", "1, 2, 3", "x"],
                "--rate": ["0", "-5", "often"],
            },
        ),
        ((*FREE, "--controller", "computed-torque"), {"--trajectory": ["nosuch.csv"], **CYCLE}),
    ],
    "report": [
        (("report", "planar"), {**WRENCH, **ROTORS, **FILE, "--trajectory": ["nosuch.csv", "three.csv"]}),
        (("report", "planar"), CYCLE),
        (("report", "planar"), {"--fit": ["nosuch.json", "motion.csv"], "--log": ["log.csv"]}),
    ],
    "exercise": [
        (
            ("exercise", "planar"),
            {
                "--output": ["nowhere/x", "motion.csv"],
                "--seed": ["x", "1.5", ""],
                "--count": ["0", "-1", "x"],
                "--questions": ["", ",", "B,x"],
                **ROTORS,
            },
        ),
    ],
    "base": [
        (
            ("base", "planar"),
            {"--zeros": ["some", ""], "--tolerance": ["0", "1", "nan", "x"], **ROTORS, **FILE},
        ),
        (("base", "planar", "--latex"), {"--width": ["16", "0cm"]}),
    ],
    "excite": [
        (EXCITE, {"--kind": ["line"], "--criterion": ["best"], "--parameters": ["nosuch", ""]}),
        (EXCITE, {"--duration": TIME, "--step": TIME, "--harmonics": ["1", "x"], "--use": ["0", "2", "x"]}),
        (EXCITE, {"--velocity": LIMIT, "--acceleration": LIMIT, "--jerk": LIMIT, "--torque": LIMIT}),
        (EXCITE, {"--lower": ["1, 2, 3", "x", ""], "--upper": ["1, 2, 3", "x", ""]}),
        (EXCITE, {"--floor": ["nan", "x"], "--box": ["1", "1, 2, 3, 4, 5, x"]}),
        (EXCITE, {"--starts": ["0", "x"], "--iterations": ["-1", "x"], "--seed": ["-1", "x"]}),
        (EXCITE, {"--workers": ["0", "x"], **ROTORS, **FILE}),
        ((*EXCITE, "--kind", "quintic"), {"--points": ["1", "x"]}),
    ],
    "view": [
        (VIEW, {**ROTORS, **LINK, **CYCLE, "--trajectory": ["nosuch.csv"], "--log": ["nosuch.csv"]}),
        (VIEW, {"--fit": ["nosuch.json", "motion.csv"]}),
        (VIEW, {"--host": ["", "no such host", "198.51.100.7"], "--port": ["-1", "65535", "x", ""]}),
        (VIEW, {"--origin": ["", "*", "hub.example.org", "https://x/y", "ftp://x"]}),
    ],
    "payload": [
        (
            ("payload", "planar", "log.csv"),
            {"--mass": ["0", "-1", "nan", "x"], "--com": ["1", "1, 2, x"], "--cutoff": TIME, **LINK},
        ),
        (("payload", "planar", "log.csv"), {**ROTORS, **FILE, "--unloaded": ["nosuch.csv"]}),
    ],
    "look": [(("look", "planar", "log.csv"), {"--output": ["nowhere/x.html", ".", "x.png"]})],
    "identify": [
        (
            ("identify", "planar", "log.csv"),
            {"--cutoff": TIME, "--friction": ["x", ""], "--method": ["x", ""], "--validate": ["nosuch.csv"]},
        ),
        (
            ("identify", "planar", "log.csv"),
            {"--damping": ["-1", "x"], "--parameters": ["nosuch"], "--time": ["1", "x:", "5:9"]},
        ),
        (
            ("identify", "planar", "log.csv"),
            {
                "--instruments": ["nosuch.csv"],
                "--prior": ["nosuch"],
                "--report": ["nowhere/x.html", "."],
            },
        ),
        (("identify", "planar", "log.csv"), {**ROTORS, **FILE, "--save": ["nowhere/x.json", ".", "log.csv"]}),
        (
            ("identify", "planar", "log.csv"),
            {
                "--columns": ["q", "z=1"],
                "--units": ["q", "z=deg"],
                "--zeros": ["1", "x, 1"],
                "--delay": ["x", "nan"],
                "--transmission": ["1, 2; 3", "x"],
                "--torque-constant": ["x"],
                "--wrench-frame": ["tip", "base", ""],
                "--delimiter": ["|"],
                "--decimal": ["x"],
            },
        ),
    ],
    "drift": [(("drift", "nosuch.json", "nosuch.json"), {"--level": ["0", "1", "-1", "nan", "x", ""]})],
    "export c": [
        (
            C,
            {
                "--functions": [",", "", "nonsense"],
                "--inputs": ["nonsense", "tau", "wrench,wrench"],
                "--output": ["nowhere/x", "motion.csv"],
                **ROTORS,
            },
        )
    ],
    "export matlab": [
        (
            ("export", "matlab", "planar", "-o", "m"),
            {
                "--functions": [",", "", "nonsense"],
                "--inputs": ["nonsense", "tau", "wrench,wrench"],
                "--output": ["nowhere/x", "motion.csv"],
            },
        )
    ],
    "export fmu": [
        (
            ("export", "fmu", "planar", "-o", "arm.fmu"),
            {"--output": ["nowhere/x.fmu", "arm.txt", ""], "--fmi": ["1.0", "x", ""]},
        )
    ],
}
CASES = [
    (verb, command, option, value)
    for verb, tables in WRONG.items()
    for command, options in tables
    for option, values in options.items()
    for value in values
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a motion of two joints and one of three."""
    folder = tmp_path_factory.mktemp("files")
    Trajectory.cubic([0, 0], [1, 1], 1.0).to_csv(folder / "motion.csv", step=0.1)
    Trajectory.cubic([0, 0, 0], [1, 1, 1], 1.0).to_csv(folder / "three.csv", step=0.1)
    robot = Robot.load("planar")
    Log.from_trajectory(robot, Trajectory.cubic([0, 0], [1, 1], 1.0, step=0.01)).save(folder / "log.csv")
    joint = "<joint name='j' type='continuous'><parent link='base'/><child link='arm'/></joint>"
    text = f"<robot name='r'><link name='base'/><link name='arm'/>{joint}</robot>"
    (folder / "arm.urdf").write_text(text, "utf-8")
    if find_spec("pyarrow") is not None:
        study("manipulability", {"a1": [0.5, 1.0]}, robot=robot, q=[0, 1], folder=folder / "designs")
    table = 'robot = "planar"\ncompute = "torques"\n[cases]\nkind = "product"\ncolumns.a1 = [1]'
    (folder / "designs.toml").write_text(table, "utf-8")
    return folder


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """A copy of it, to work in."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("verb", "command", "option", "value"), CASES)
def test_a_wrong_value_is_refused_by_the_name_of_its_option(
    folder, monkeypatch, capsys, verb, command, option, value
):
    if verb == "study show":
        pytest.importorskip("pyarrow")
    before = sorted(folder.iterdir())
    line = refused(monkeypatch, capsys, *command, f"{option}={value}")
    text = line.removeprefix("error: ").removeprefix("joint 1: ")
    assert text.startswith((f"{option}: ", "nosuch.csv: ", "three.csv: ")), line
    assert sorted(folder.iterdir()) == before


def options_with_values():
    """Verb and option for every option that takes a value."""
    group = typer.main.get_command(app)
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        for further, verb in getattr(command, "commands", {"": command}).items():
            for parameter in verb.params:
                if parameter.param_type_name == "option" and not getattr(parameter, "is_flag", False):
                    yield f"{name} {further}".strip(), max(parameter.opts, key=len)


OF_ROBOTS = {"--tip", "--lock", "--payload", "--gear", "--link", "--rotors", "--base"}
OF_LOGS = {"--columns", "--units", "--zeros", "--delay", "--transmission", "--torque-constant"} | {
    *("--wrench-frame", "--delimiter", "--decimal")
}
SHARED = OF_ROBOTS | OF_LOGS


def test_no_option_is_left_out():
    """Those of robots, and of logs, are the same for all verbs: they are tried with one."""
    tried = {(verb, option) for verb, _, option, _ in CASES}
    assert {("show", option) for option in OF_ROBOTS} <= tried
    assert {("identify", option) for option in OF_LOGS} <= tried
    tried |= {("export c", "--prefix"), ("export matlab", "--prefix"), ("new", "--name")}  # any text will do
    assert {x for x in options_with_values() if x[1] not in SHARED} == {
        x for x in tried if x[1] not in SHARED
    }


def test_every_verb_that_takes_a_robot_has_all_options_of_robots():
    has = {}
    for verb, option in options_with_values():
        has.setdefault(verb, set()).add(option)
    without = {verb for verb, options in has.items() if not options & OF_ROBOTS}
    assert without == {"drift", "new", "study run", "study show"}
    assert all(options >= OF_ROBOTS for verb, options in has.items() if verb not in without)
    assert {verb for verb, options in has.items() if "--decimal" in options} == {
        "look",
        "identify",
        "payload",
    }
    assert all(has[verb] >= OF_LOGS for verb in ("look", "identify", "payload"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "No such command 'nosuch'; see armdyn --help"),
        (["trajectory"], "Missing argument 'robot'; see armdyn trajectory --help"),
        (["trajectory", "planar", "--to", "1, 1"], "--output"),
        (["show", "planar", "--zzz"], "No such option: --zzz; see armdyn show --help"),
        (["show", "planar", "--rotors"], "Option '--rotors' requires an argument"),
        (["show", "planar", "--lock", "link 1"], "--lock: expected JOINT=POSITION, found 'link 1'"),
        (
            ["show", "planar", "--lock", "link 1=0", "--lock", "link 1=1"],
            "--lock: joint 'link 1' is given twice",
        ),
        (["robots", "extra"], "extra"),
        (
            ["export", "d"],
            "export: expected a kind of code (c, matlab, fmu), found 'd'; such as: armdyn export fmu",
        ),
    ],
)
def test_a_wrong_command_is_one_line_too(monkeypatch, capsys, arguments, message):
    assert message in refused(monkeypatch, capsys, *arguments)


def test_arguments_in_the_middle_of_a_message_are_options_too(folder, monkeypatch, capsys):
    line = refused(monkeypatch, capsys, "scale", "rmit2r", "motion.csv", "--faster", "-o", "x.csv")
    assert line.endswith("give --torque, --velocity or --acceleration")


def test_a_motion_of_another_robot_is_named_as_the_verb_names_it(folder, monkeypatch, capsys):
    line = refused(monkeypatch, capsys, "scale", "planar", "three.csv", "-o", "x.csv")
    assert line.startswith("error: three.csv: it moves 3 joints")


def test_export_without_a_verb_lists_its_verbs_with_exit_code_2(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["armdyn", "export"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "Commands:" in capsys.readouterr().err
