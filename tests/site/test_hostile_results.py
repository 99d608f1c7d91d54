"""A result directory that someone else made changes no file outside of the knowledge base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from site_factory import library, rows, study

from offbeat.base.campaign.append_file import AppendFile
from offbeat.base.campaign.checksum import document_with_checksum
from offbeat.base.campaign.durable import write_durably
from offbeat.base.campaign.lock import LOCK, Lock
from offbeat.base.errors import BadInput, OffbeatError
from offbeat.measurement.results.layout import PROVENANCE
from offbeat.tuning.site.add import add
from offbeat.tuning.site.collect import collect
from offbeat.tuning.site.directory import read_site

TEXTS = st.one_of(
    st.sampled_from(
        ["", ".", "..", "../..", "/", "/tmp/x", "a/b", "a\0b", "a\nb", "é", "a" * 300, "4/../../x"]
    ),
    st.text(max_size=20),
    st.text("./", min_size=1, max_size=12),
)
PARTS = st.one_of(st.integers(-5, 10**9), st.integers(), TEXTS, st.none(), st.booleans(), st.floats())
VERSIONS = st.one_of(st.lists(PARTS, max_size=6), PARTS)
"""Values that JSON allows in place of a library's version."""


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("handed-in") / "results", rows({"default": 2.0, "way1": 1.0}))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(version=VERSIONS, family=st.one_of(st.just("openmpi"), TEXTS))
@example(version=[4, 1, 4], family="openmpi")
@example(version=["..", "..", "other"], family="openmpi")
@example(version=["/../../../other"], family="openmpi")
@example(version=[4, 1, 4], family="../openmpi")
@example(version=[True], family="openmpi")
def test_no_version_or_family_of_a_library_leads_out_of_the_knowledge_base(
    results: Path, tmp_path_factory: pytest.TempPathFactory, version: Any, family: str
) -> None:
    folder = tmp_path_factory.mktemp("base")
    provenance = results / PROVENANCE
    facts = json.loads(provenance.read_bytes())
    del facts["checksum"]
    facts["library"] = library() | {"family": family, "version": version}
    provenance.write_bytes(document_with_checksum(facts))
    (folder / "other").mkdir()
    (folder / "other" / "results.jsonl").write_text("kept", encoding="utf-8")
    site = folder / "site"
    try:
        add(site, collect(results, "results").entry)
    except OffbeatError:
        assert not site.exists()
        assert version != [4, 1, 4] or family != "openmpi"
    else:
        (entry,) = read_site(site).entries
        assert (site / entry.library_name / "results.jsonl").is_file()
    outside = {name for name in files_below(folder) if not name.startswith("site/")}
    assert outside == {"other/results.jsonl"}
    assert (folder / "other" / "results.jsonl").read_text(encoding="utf-8") == "kept"


def test_a_library_without_a_version_in_an_entry_is_named_with_the_file(tmp_path: Path) -> None:
    site = tmp_path / "site"
    add(site, collect(study(tmp_path / "results", rows({"default": 2.0, "way1": 1.0}))).entry)
    (path,) = site.rglob("*.jsonl")
    path.write_text(
        path.read_text(encoding="utf-8").replace('"version":[5,0,11]', '"version":["5"]'), encoding="utf-8"
    )
    with pytest.raises(BadInput, match=r"results\.jsonl: the MPI library has no valid family and version"):
        read_site(site)


def test_nothing_is_written_through_a_symbolic_link_in_a_directory_of_someone_else(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("kept", encoding="utf-8")
    handed_in = tmp_path / "handed-in"
    handed_in.mkdir()
    for name in (LOCK, "records.jsonl", "head.json.tmp"):
        (handed_in / name).symlink_to(own)
    with pytest.raises(OffbeatError, match=r"records\.jsonl: Too many levels of symbolic links"):
        AppendFile(handed_in / "records.jsonl")
    with pytest.raises(OffbeatError):
        Lock(handed_in)
    write_durably(handed_in / "head.json", b"new")
    assert own.read_text(encoding="utf-8") == "kept"
    assert (handed_in / "head.json").read_bytes() == b"new"
