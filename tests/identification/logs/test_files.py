"""Files: columns by name and by recognition, units, delimiters; what is damaged is refused or said."""

import builtins
import os
import sys
import zipfile

import numpy as np
import pytest

from armdyn.identification import IdentificationError, IdentificationWarning, Log
from armdyn.identification import log_files as log_file
from golden_messages import golden_error, golden_warning
from recordings import arm, recording

T = np.arange(10) / 100
Q = np.column_stack([np.sin(T), np.cos(T)])
TAU = np.column_stack([np.cos(3 * T), np.sin(2 * T)])


def written(path, header, *columns, delimiter=",", end="\n", decimal="."):
    rows = np.column_stack(columns).tolist()
    lines = [delimiter.join(header), *(delimiter.join(map(repr, row)).replace(".", decimal) for row in rows)]
    path.write_text("\n".join(lines) + end, "utf-8")
    return path


def assert_same(log, q=Q, tau=TAU, t=T):
    np.testing.assert_allclose(log.t, t, atol=1e-15)
    np.testing.assert_allclose(log.q, q, atol=1e-15)
    np.testing.assert_allclose(log.tau, tau, atol=1e-15)


# ---- names of columns --------------------------------------------------------------------------------------

HEADERS = [
    "t,q1,q2,tau1,tau2",
    "time,q_0,q_1,tau_0,tau_1",
    "timestamp,position_joint_1,position_joint_2,torque_joint_1,torque_joint_2",
    "Time [s],joint1.pos,joint2.pos,joint1.effort,joint2.effort",
    "t (s),q[0],q[1],tau[0],tau[1]",
    "TimeStamp,actual_q_0,actual_q_1,jointTorque1,jointTorque2",
    "stamp,J1 position [rad],J2 position [rad],J1 torque [N m],J2 torque [N·m]",
    "t_s,q1_rad,q2_rad,tau1_Nm,tau2_Nm",
]


@pytest.mark.parametrize("header", HEADERS)
def test_usual_names_are_recognised(tmp_path, header):
    log = Log.load(written(tmp_path / "a.csv", header.split(","), T, Q, TAU))
    assert_same(log)
    assert log.notes == ()
    assert log.name == "a"


def test_numbers_order_the_columns(tmp_path):
    header = ["t", *(f"q{i}" for i in (2, 1)), *(f"tau{i}" for i in (2, 1))]
    assert_same(Log.load(written(tmp_path / "a.csv", header, T, Q[:, ::-1], TAU[:, ::-1])))


def test_ten_joints_are_ordered_by_number(tmp_path):
    x = np.random.default_rng(0).normal(size=(10, 24))
    header = ["t", *(f"q{i}" for i in range(12)), *(f"tau{i}" for i in range(12))]
    log = Log.load(written(tmp_path / "a.csv", header, T, x))
    np.testing.assert_array_equal(log.q, x[:, :12])


def test_all_channels_are_recognised(tmp_path):
    header = [
        "t",
        "q1",
        "q2",
        "dq1",
        "dq2",
        "ddq1",
        "ddq2",
        "tau1",
        "tau2",
        "temperature",
        "current1",
        "current2",
    ]
    log = Log.load(written(tmp_path / "a.csv", header, T, Q, Q + 1, Q + 2, TAU, T, Q))
    assert log.channels == ("t", "q", "qd", "qdd", "tau")
    np.testing.assert_allclose(log.qdd, Q + 2)
    assert log.notes == (
        "the file has tau and current: tau is used",
        "columns that were not used: temperature",
    )


@pytest.mark.parametrize(
    "header",
    [
        "time,a1,a2,tau1,tau2",
        "time,q1,q2,x,y",
        "x,q1,q2,tau1,tau2",
        "t,q1,q3,tau1,tau2",
        "t,q2,q3,tau1,tau2",
        "t,q1,position1,tau1,tau2",
        "t,q1,q1,tau1,tau2",
        "t,q1,q2,tau1,time",
    ],
)
def test_names_that_do_not_tell_are_refused(tmp_path, header):
    path = written(tmp_path / "a.csv", header.split(","), T, Q, TAU)
    with golden_error(IdentificationError) as refusal:
        Log.load(path)
    assert str(refusal.value).startswith(str(path))


COLUMNS = [
    {"t": "clock", "q": ["alpha", "beta"], "tau": ["m_a", "m_b"]},
    {"t": "clock", "q": ("alpha", "beta"), "tau": "m_*"},
    {"t": 0, "q": [1, 2], "tau": "m_?"},
]


@pytest.mark.parametrize("columns", COLUMNS)
def test_columns_as_given(tmp_path, columns):
    path = written(tmp_path / "a.csv", ["clock", "alpha", "beta", "m_a", "m_b"], T, Q, TAU)
    assert_same(Log.load(path, columns=columns))


def test_columns_given_are_the_only_ones_but_for_the_time(tmp_path):
    path = written(tmp_path / "a.csv", ["t", "q1", "q2", "qd1", "qd2", "tau1", "tau2"], T, Q, Q, TAU)
    log = Log.load(path, columns={"q": "q?", "tau": "tau*"})
    assert log.channels == ("t", "q", "tau")


@pytest.mark.parametrize(
    "columns",
    [
        {"q": "alpha"},
        {"q": 9},
        {"q": ["q1", "q1"]},
        {"q": []},
        {"speed": "q1"},
        "q1",
        {"t": ["t", "q1"], "q": "q2", "tau": "tau*"},
        {"q": None},
    ],
)
def test_wrong_columns_are_refused(tmp_path, columns):
    path = written(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], T, Q, TAU)
    with golden_error(IdentificationError):
        Log.load(path, columns=columns)


# ---- units -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("channel", "unit", "factor"),
    [
        *(("t", "ms", 1e-3), ("t", "us", 1e-6), ("t", "ns", 1e-9), ("t", "min", 60), ("t", 0.002, 0.002)),
        *(("q", "deg", np.pi / 180), ("q", "degrees", np.pi / 180), ("q", "°", np.pi / 180)),
        *(("q", "turn", 2 * np.pi), ("q", "mm", 1e-3), ("q", ["deg", "mm"], [np.pi / 180, 1e-3])),
        *(("tau", "mNm", 1e-3), ("tau", "kN m", 1e3), ("tau", "kN", 1e3), ("tau", "N·cm", 1e-2)),
    ],
)
def test_units_become_si(tmp_path, channel, unit, factor):
    path = written(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], T, Q, TAU)
    values = {"t": T, "q": Q, "tau": TAU}
    values[channel] = values[channel] * np.asarray(factor)
    assert_same(Log.load(path, units={channel: unit}), values["q"], values["tau"], values["t"])


def test_units_in_names_are_understood_and_those_given_go_first(tmp_path):
    header = ["time_ms", "q1 [deg]", "q2 (mm)", "qd1 [rpm]", "qd2 [mm/s]", "tau1 [mNm]", "tau2 [kN]"]
    path = written(tmp_path / "a.csv", header, T, Q, Q, TAU)
    log = Log.load(path)
    assert_same(log, Q * [np.pi / 180, 1e-3], TAU * [1e-3, 1e3], T / 1000)
    np.testing.assert_allclose(log.qd, Q * [2 * np.pi / 60, 1e-3])
    assert_same(Log.load(path, units={"t": "s"}), Q * [np.pi / 180, 1e-3], TAU * [1e-3, 1e3], T)


@pytest.mark.parametrize(
    "units",
    [
        {"q": "parsec"},
        {"t": "deg"},
        {"q": 0},
        {"q": ["deg"]},
        {"speed": "deg"},
        {"current": "mA"},
        "deg",
        {"q": None},
    ],
)
def test_wrong_units_are_refused(tmp_path, units):
    path = written(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], T, Q, TAU)
    with golden_error(IdentificationError):
        Log.load(path, units=units)


def test_units_that_do_not_fit_the_joints_are_refused(tmp_path):
    recording().save(tmp_path / "a.csv")
    log = Log.load(tmp_path / "a.csv", units={"q": "deg"})
    with golden_error(IdentificationError):
        log.at_joints(arm())
    Log.load(tmp_path / "a.csv", units={"q": ["deg", "mm", "rad"]}).at_joints(arm())


# ---- text files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", ", "])
def test_delimiters_are_found(tmp_path, delimiter):
    path = written(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], T, Q, TAU, delimiter=delimiter)
    assert_same(Log.load(path))


def test_decimal_commas_are_refused_unless_said(tmp_path):
    path = written(
        tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], T, Q, TAU, delimiter=";", decimal=","
    )
    with pytest.raises(IdentificationError, match=r"line 2: column t: found '0,0'; .* give decimal=','"):
        Log.load(path)
    assert_same(Log.load(path, decimal=","))


def test_comments_blank_lines_and_quotes(tmp_path):
    path = written(tmp_path / "a.csv", ['"t"', '"q1"', "q2", "tau1", "tau2"], T, Q, TAU)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\ufeff# robot 7\n\n" + "\n\n# note\n".join(lines) + "\n", "utf-8")
    assert_same(Log.load(path))


def test_names_in_a_comment_as_numpy_writes_them(tmp_path):
    table = np.column_stack([T, Q, TAU])
    np.savetxt(tmp_path / "a.txt", table, header="t q1 q2 tau1 tau2", fmt="%.17g")
    assert_same(Log.load(tmp_path / "a.txt"))
    np.savetxt(tmp_path / "b.txt", table, fmt="%.17g")
    assert_same(Log.load(tmp_path / "b.txt", columns={"t": 0, "q": [1, 2], "tau": [3, 4]}))
    np.savetxt(tmp_path / "c.txt", table, fmt="%.17g", header="0 1 2 3 4", comments="")
    assert_same(Log.load(tmp_path / "c.txt", columns={"t": 0, "q": [1, 2], "tau": [3, 4]}))
    with golden_error(IdentificationError):
        Log.load(tmp_path / "b.txt")


def test_empty_cells_are_missing_values(tmp_path):
    path = written(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], T, Q, TAU)
    text = path.read_text("utf-8").splitlines()
    text[3] = "0.02,,NA,nan,1.0"
    path.write_text("\n".join(text) + "\n", "utf-8")
    log = Log.load(path)
    assert np.isnan([log.q[2, 0], log.q[2, 1], log.tau[2, 0]]).all()
    assert np.isfinite(log.q).sum() == 18


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0.02,1,2,3", "line 4: 5 columns are expected, found 4"),
        ("0.02,1,2,3,4,5", "line 4: 5 columns are expected, found 6"),
        ("0.02,1,2,error,4", "line 4: column tau1: found 'error'; a number is expected"),
        ("0.02,1_0,2,3,4", "line 4: column q1: found '1_0'"),
        ('0.02,"1,2,3,4', "line 4: "),
    ],
)
def test_a_wrong_row_is_refused_with_its_line(tmp_path, line, message):
    path = written(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], T, Q, TAU)
    text = path.read_text("utf-8").splitlines()
    text[3] = line
    path.write_text("\n".join(text) + "\n", "utf-8")
    with pytest.raises(IdentificationError, match=message) as refusal:
        Log.load(path)
    assert str(refusal.value).startswith(str(path))


def test_a_last_row_that_lacks_cells_is_left_out(tmp_path):
    path = written(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], T, Q, TAU)
    text = path.read_text("utf-8")
    path.write_text(text[: text.rindex(",")], "utf-8")
    log = Log.load(path)
    assert len(log) == len(Log.open(path)) == 9
    assert log.notes == ("line 11, the last of the file, is cut off and was left out",)


@pytest.mark.parametrize("content", [b"", b"# only a comment\n", b"t,q1,tau1\n", b"t,q1,tau1\n0,1,2\n"])
def test_files_without_rows_are_refused(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    with golden_error(IdentificationError):
        Log.load(tmp_path / "a.csv")


def test_files_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes("t,q1,tau1\n".encode("utf-16"))
    with golden_error(IdentificationError):
        Log.load(tmp_path / "a.csv")


# ---- NPZ and Parquet ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_arrays_are_channels(tmp_path, save):
    save(tmp_path / "a.npz", time=T, q=np.asfortranarray(Q), tau=TAU.astype(">f8"), extra=np.ones(3))
    log = Log.load(tmp_path / "a.npz")
    assert_same(log)
    assert log.notes == ("columns that were not used: extra",)
    save(tmp_path / "b.npz", t=T, pos=Q, m=TAU)
    assert_same(Log.load(tmp_path / "b.npz", columns={"q": "pos", "tau": "m"}))
    save(tmp_path / "c.npz", t=T, motor_pos=Q, motor_torque=TAU)
    assert Log.load(tmp_path / "c.npz").channels == ("t", "motor_position", "motor_torque")


def test_npz_arrays_of_other_lengths_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", t=T, q=Q[:9], tau=TAU)
    with pytest.raises(IdentificationError, match=r"a.npz: 'q' is \(9, 2\), but 't' has 10 rows"):
        Log.load(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", t=T, q=Q.T, tau=TAU)
    with pytest.raises(IdentificationError, match=r"b.npz: 'q' is \(2, 10\), .*; transpose it"):
        Log.load(tmp_path / "b.npz")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_files_cut_off_are_refused(tmp_path, share, kind):
    path = tmp_path / f"a.{kind}"
    Log(T, Q, TAU).save(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(IdentificationError, match=f"a.{kind}: "):
        Log.load(path)


def test_a_damaged_npz_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", t=T, q=Q, tau=TAU)
    with zipfile.ZipFile(tmp_path / "a.npz") as file:
        place = next(x for x in file.infolist() if x.filename == "q.npy").header_offset + 200
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[place] ^= 0xFF
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(IdentificationError, match="Bad CRC-32"):
        Log.load(tmp_path / "a.npz")


def test_pickles_in_npz_files_are_not_opened(tmp_path):
    np.savez(tmp_path / "a.npz", t=T, q=Q, tau=TAU, danger=np.array([print], dtype=object))
    assert_same(Log.load(tmp_path / "a.npz"))


HEADERS_THAT_LIE = {
    "a text of 4e8 characters": (
        "name",
        "<U400000000",
        "()",
        0,
        "1600000.* bytes, but the file has no more than",
    ),
    "a text that is there": ("name", "<U500000", "()", 2_000_000, "has 2000000 bytes; 1048576 are allowed"),
    "no characters": ("name", "<U2", "()", b"\xff" * 8, "cannot be read"),
    "several names": ("name", "<U1", "(2,)", 8, "name: found .*a text is expected"),
    "many rows": ("t", "<f8", "(1000000000,)", 0, "says that it is an array"),
    "more than memory": ("t", "<f8", f"({1 << 62},)", 0, "says that it is an array"),
    "a wide row": ("tau", "<f8", "(9, 20000)", 1_440_000, "tau: found 20000 columns; 10000 are allowed"),
    "deep brackets": ("x", "<f8", "(" * 5000, 0, "the header of a NumPy array is expected; found"),
    "many signs": ("x", "<f8", "-" * 5000 + "1", 0, "the header of a NumPy array is expected; found"),
}


@pytest.mark.parametrize("case", HEADERS_THAT_LIE)
def test_what_npz_headers_claim_is_held_against_the_file(tmp_path, case):
    name, kind, shape, data, message = HEADERS_THAT_LIE[case]
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    small = {key: np.zeros((9, 1)) for key in ("q", "tau")} | {"t": np.arange(9.0)}
    np.savez(tmp_path / "log.npz", **{key: x for key, x in small.items() if key != name})
    with zipfile.ZipFile(tmp_path / "log.npz", "a", zipfile.ZIP_DEFLATED) as file:
        content = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
        file.writestr(f"{name}.npy", content + (data if isinstance(data, bytes) else bytes(data)))
    with pytest.raises(IdentificationError, match=message):
        Log.load(tmp_path / "log.npz")


def test_arrays_in_npz_files_are_packed_as_numpy_packs_them(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.npz", "w", zipfile.ZIP_LZMA) as file:
        file.writestr("t.npy", bytes(100_000))  # unpacked in one go, whatever its size
    with pytest.raises(IdentificationError, match=r"'t\.npy': found compression by method 14; NumPy's"):
        Log.load(tmp_path / "log.npz")


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_a_file_of_more_numbers_than_are_read_whole_is_read_in_blocks(tmp_path, monkeypatch, kind):
    path = tmp_path / f"log.{kind}"
    Log(np.arange(90.0), np.zeros((90, 2)), np.ones((90, 2))).save(path)
    monkeypatch.setattr(log_file, "_MOST", 449)
    with pytest.raises(
        IdentificationError, match=r"holds 450 numbers; at most 449 are read whole\. Log\.open"
    ):
        Log.load(path)
    assert sum(block.core.stop - block.core.start for block in Log.open(path).blocks(20, 5)) == 90


@pytest.mark.parametrize(
    "text",
    [
        b"[1, 2]",
        b"null",
        b'[["t", [1]]]',
        b'{"first": "a"}',
        b"[" * 100_000,
        b'{"name": "\xff"}',
        b'{"name": 5}',
        b" " * 2_000_000,
    ],
)
def test_metadata_that_are_not_ours_are_refused(tmp_path, text):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").table({key: np.arange(9.0) for key in ("t", "q1", "tau1")})
    parquet.write_table(table.replace_schema_metadata({b"armdyn": text}), tmp_path / "log.parquet")
    with golden_error(IdentificationError):
        Log.load(tmp_path / "log.parquet")


def test_lists_that_are_too_long_for_a_channel_are_not_read(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {key: list(range(9)) for key in ("t", "tau1")} | {"q": [np.zeros(200_000)] + [[0.0]] * 8}
    parquet.write_table(pytest.importorskip("pyarrow").table(columns), tmp_path / "log.parquet")
    with pytest.raises(IdentificationError, match="q: found 22223 columns; 10000 are allowed"):
        Log.load(tmp_path / "log.parquet")


def test_a_name_of_any_length_is_looked_at_quickly(tmp_path):
    (tmp_path / "log.csv").write_text(
        f"t,q1,tau1,q2{' ' * 100_000}x,[{'a' * 100_000}\n" + "0,0,0,0,0\n1,0,0,0,0\n"
    )
    assert Log.load(tmp_path / "log.csv").n == 1


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes on Linux")
@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_a_file_whose_name_is_no_text_is_read_and_saved(tmp_path, kind):
    path = tmp_path / os.fsdecode(b"log\xff." + kind.encode())
    Log(np.arange(9.0), np.zeros((9, 1)), np.ones((9, 1)), name=path.stem).save(path)
    assert Log.load(path).name == path.stem
    assert len(Log.load(path)) == 9


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_log_is_a_file(tmp_path):
    os.mkfifo(tmp_path / "log.csv")
    with golden_error(IdentificationError):
        Log.load(tmp_path / "log.csv")


def test_parquet_columns_lists_and_time_stamps(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    stamps = pyarrow.array(1_700_000_000_000_000_000 + np.rint(T * 1e9).astype("int64"))
    columns = {"stamp": stamps.cast(pyarrow.timestamp("ns")), "q": Q.tolist(), "text": ["x"] * 10}
    columns |= {"tau1": [None, *TAU[1:, 0]], "tau2": TAU[:, 1]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    log = Log.load(tmp_path / "a.parquet")
    np.testing.assert_allclose(log.t, T, atol=1e-12)
    np.testing.assert_array_equal(log.q, Q)
    assert np.isnan(log.tau[0, 0])
    assert log.notes == ("the times are counted from the first one, 1700000000000000000",)
    ragged = pyarrow.table({"t": T, "q": [[1.0, 2.0]] * 9 + [[1.0]], "tau": TAU.tolist()})
    parquet.write_table(ragged, tmp_path / "b.parquet")
    with pytest.raises(
        IdentificationError, match=r"b.parquet: row 9: column q: found 1 numbers, 2 in other rows"
    ):
        Log.load(tmp_path / "b.parquet")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    load = builtins.__import__

    def missing(name, *args, **others):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return load(name, *args, **others)

    monkeypatch.setattr(builtins, "__import__", missing)
    for name in [name for name in sys.modules if name.startswith("pyarrow")]:
        monkeypatch.delitem(sys.modules, name)
    with golden_error(IdentificationError):
        Log.load(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "path",
    ["no.csv", "a.mat", 3],
)
def test_other_files_are_refused(path):
    with golden_error(IdentificationError):
        Log.load(path)


# ---- saving ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_a_log_saved_is_the_log_read(tmp_path, kind):
    log = recording(duration=1, derivatives=True)
    path = tmp_path / f"a.{kind}"
    log.save(path)
    again = Log.load(path)
    assert again.channels == log.channels
    for name in log.channels:
        np.testing.assert_array_equal(getattr(again, name), getattr(log, name))
    assert [x.name for x in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_constants_are_saved_or_said_to_be_lost(tmp_path, kind):
    K = [[50.0, 0], [10, 20]]
    log = Log(T, motor_position=Q, current=TAU, transmission=K, torque_constant=[0.1, 0.2], name="seven")
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        with golden_warning(IdentificationWarning):
            log.save(path)
        again = Log.load(path, transmission=K, torque_constant=[0.1, 0.2], name="seven")
    else:
        log.save(path)
        again = Log.load(path)
    assert again.name == "seven"
    np.testing.assert_array_equal(again.transmission, K)
    np.testing.assert_array_equal(again.torque_constant, [0.1, 0.2])


@pytest.mark.parametrize("path", ["a.mat", "no/folder/a.csv", "no/folder/a.npz", "no/folder/a.parquet"])
def test_a_log_that_cannot_be_saved(tmp_path, path):
    with golden_error(IdentificationError):
        Log(T, Q, TAU).save(tmp_path / path)
