"""A file is replaced whole or stays as it was; names are one line of printable characters."""

import os
import stat
import threading

import pytest

from armdyn import ArmdynError, files
from armdyn.files import write_files, write_whole
from armdyn.names import one_line
from golden_messages import golden_error


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_new_file_and_its_text(tmp_path):
    write_whole(tmp_path / "a.txt", "näme\n")
    assert (tmp_path / "a.txt").read_bytes() == "näme\n".encode()
    assert names_in(tmp_path) == ["a.txt"]


def test_permissions_of_the_old_file_and_of_a_new_one(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    write_whole(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    plain = tmp_path / "plain.txt"
    plain.write_text("x")
    write_whole(tmp_path / "b.txt", "x")
    assert (tmp_path / "b.txt").stat().st_mode == plain.stat().st_mode


def full_disk(monkeypatch, after):
    """fsync fails from the given call on, as on a full disk."""
    calls = []

    def fsync(handle):
        calls.append(handle)
        if len(calls) > after:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fsync)


def test_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    full_disk(monkeypatch, 0)
    with golden_error(ArmdynError):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


def test_of_several_files_none_is_replaced_when_the_last_cannot_be_written(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text("old")
    full_disk(monkeypatch, 2)
    with golden_error(ArmdynError):
        write_files(dict.fromkeys(paths, "new"))
    assert [path.read_text() for path in paths] == ["old"] * 3
    assert names_in(tmp_path) == ["a", "b", "c"]


def test_folders_are_not_made(tmp_path):
    with golden_error(ArmdynError):
        write_whole(tmp_path / "typo" / "a.txt", "x")
    assert names_in(tmp_path) == []


def test_a_folder_is_not_replaced(tmp_path):
    with golden_error(ArmdynError):
        write_whole(tmp_path, "x")


def test_a_name_no_file_can_have(tmp_path):
    with golden_error(ArmdynError):
        write_whole(tmp_path / "a\0b", "x")
    with golden_error(ArmdynError):
        write_whole(tmp_path / ("a" * 300), "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no links and pipes here")
def test_the_longest_name_a_file_can_have(tmp_path):
    path = tmp_path / ("\N{CJK UNIFIED IDEOGRAPH-6F22}" * 85)  # 255 bytes
    assert write_whole(path, "a").read_text() == "a"
    assert list(tmp_path.iterdir()) == [path]


def test_links_stay_and_pipes_are_written_into(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "through")
    reader.join()
    assert heard == ["through"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("plain name", "plain name"),
        ("a\\\nb", "a\\ b"),
        ("a\r\n\r\n# b", "a # b"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("a\u202eb", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("  é ² μ  ", "é ² μ"),
    ],
)
def test_names_are_one_line(name, line):
    assert one_line(name) == line
