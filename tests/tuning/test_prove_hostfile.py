"""``offbeat verify`` launches with the host file that is stored with the results."""

from __future__ import annotations

from pathlib import Path

import pytest

from offbeat.base.errors import BadInput
from offbeat.model.study.schema import MpiSection
from offbeat.selection.verification.verify import with_stored_hostfile


def test_the_stored_host_file_is_used_wherever_the_study_file_was(tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text("a\nb\n")
    for named in ("hosts.txt", "../hosts.txt", "/gone/hosts.txt"):
        section = with_stored_hostfile(MpiSection(hostfile=named, options=["-x"]), tmp_path)
        assert (tmp_path / section.hostfile).read_text() == "a\nb\n"
        assert section.options == ["-x"]


def test_without_a_host_file_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text("a\n")
    assert with_stored_hostfile(MpiSection(), tmp_path) == MpiSection()


def test_results_of_earlier_versions_get_a_note(tmp_path: Path) -> None:
    absolute = MpiSection(hostfile=str(tmp_path / "hosts.txt"))
    assert with_stored_hostfile(absolute, tmp_path) == absolute
    with pytest.raises(BadInput, match=r"host file hosts.txt, but holds no copy of it: put one there as "):
        with_stored_hostfile(MpiSection(hostfile="hosts.txt"), tmp_path)
