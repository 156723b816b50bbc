"""armdyn base: what it prints is what the library says."""

import pytest

from armdyn import Robot
from commands import refused, run


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ((), {}),
        (("--zeros", "given"), {"zeros": "given"}),
        (("--friction",), {"friction": True}),
        (("--numeric", "--tolerance", "1e-5"), {"route": "numeric", "tolerance": 1e-5}),
    ],
)
def test_base_prints_what_the_library_prints(options, arguments):
    assert run("base", "elbow", *options) == Robot.load("elbow").base_parameters(**arguments).text()


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_base_typesets_combinations_and_equations(form):
    base = Robot.load("planar").base_parameters()
    parts = [getattr(x, form)() for x in (base, base.equations())]
    assert run("base", "planar", "--equations", f"--{form}").rstrip("\n") == "\n".join(parts).rstrip("\n")


def test_base_with_every_number_a_symbol_and_another_rotor_model():
    assert "kr2**2*Im2" in run("base", "puma560", "--symbolic", "--rotors", "reflected")


def test_base_writes_to_a_file_what_it_would_print(tmp_path):
    path = tmp_path / "base.txt"
    assert run("base", "planar", "-o", path) == f"wrote {path}\n"
    assert path.read_text("utf-8") == run("base", "planar")


def test_base_refuses_two_forms(monkeypatch, capsys):
    message = refused(monkeypatch, capsys, "base", "planar", "--latex", "--markdown")
    assert "one of --latex, --markdown" in message


def test_base_refuses_a_tolerance_that_is_none(monkeypatch, capsys):
    assert "tolerance: found 0" in refused(monkeypatch, capsys, "base", "planar", "--tolerance", "0")
