"""Exit 2 where the input is wrong, 1 for anything else that fails."""

from __future__ import annotations

import errno

import pytest

from haystat import cli, errors

FAILED = (
    errors.StorageError("locked"),
    errors.StorageFull("full"),
    errors.EngineError("away"),
    errors.RemoteError("away"),
    OSError(errno.EIO, "Input/output error"),
    PermissionError(errno.EACCES, "Permission denied"),
    MemoryError(),
)
WRONG = (
    errors.BadOption("wrong"),
    errors.FileError("damaged"),
    errors.StudyError("damaged"),
    errors.StudyExists("taken"),
    FileNotFoundError("no file a.csv"),
    IsADirectoryError(errno.EISDIR, "Is a directory"),
    OSError(errno.ENAMETOOLONG, "File name too long"),
)


@pytest.mark.parametrize(("code", "error"), [(1, e) for e in FAILED] + [(2, e) for e in WRONG])
def test_the_exit_code_says_whether_the_input_is_wrong(monkeypatch, capsys, code, error):
    def command():
        raise error

    monkeypatch.setattr(cli, "app", command)
    assert cli._run() == code
    assert capsys.readouterr().err.startswith("error: ")
