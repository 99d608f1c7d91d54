"""Adding to a knowledge base: again, in any order, at the same time, killed half-way."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from site_factory import entry, library, rows, study

from offbeat.base.errors import BadInput, RunFailed
from offbeat.model.study.template import TEMPLATE
from offbeat.tuning.site.add import ADDED, OLDER, REPLACED, REWEIGHTED, UNCHANGED, add
from offbeat.tuning.site.collect import collect
from offbeat.tuning.site.directory import changing, read_site, remove_entry
from offbeat.tuning.site.merge import merge, plan

DELAYS = {"default": 4.0, "way1": 2.0, "way2": 3.0}


def content(site: Path) -> dict[str, bytes]:
    return {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_adding_the_same_results_again_changes_no_byte(tmp_path: Path) -> None:
    results, site = study(tmp_path / "lulesh", rows(DELAYS)), tmp_path / "site"
    assert add(site, collect(results, weight=500.0).entry)[0] == ADDED
    before = content(site)
    again = collect(results).entry
    assert add(site, again, keep_weight=True)[0] == UNCHANGED
    assert content(site) == before


def test_another_weight_changes_one_line(tmp_path: Path) -> None:
    results, site = study(tmp_path / "lulesh", rows(DELAYS)), tmp_path / "site"
    add(site, collect(results, weight=500.0).entry)
    before = content(site)["openmpi-5.0.11/lulesh.jsonl"].splitlines()
    assert add(site, collect(results, weight=600.0).entry)[0] == REWEIGHTED
    after = content(site)["openmpi-5.0.11/lulesh.jsonl"].splitlines()
    assert [line for line in after if line not in before] == [b'{"fact":"weight","weight":600.0}']


def test_newer_measurements_of_a_study_replace_older_ones_and_keep_the_weight(tmp_path: Path) -> None:
    old = collect(study(tmp_path / "1" / "x", rows(DELAYS)), weight=5.0).entry
    newer = rows(DELAYS | {"way2": 1.0})
    new = collect(study(tmp_path / "2" / "x", newer, time="2026-11-20T00:00:00+00:00")).entry
    site = tmp_path / "site"
    add(site, old)
    outcome, now = add(site, new, keep_weight=True)
    assert (outcome, now.weight, now.origin.digest) == (REPLACED, 5.0, new.origin.digest)
    outcome, now = add(site, old, keep_weight=True)
    assert (outcome, now.origin.digest) == (OLDER, new.origin.digest)


def test_a_study_that_grew_replaces_what_it_was(tmp_path: Path) -> None:
    site = tmp_path / "site"
    small = collect(study(tmp_path / "1" / "x", rows(DELAYS))).entry
    grown = collect(study(tmp_path / "2" / "x", [*rows(DELAYS), *rows(DELAYS, bytes=128)])).entry
    assert [add(site, one)[0] for one in (small, grown, small)] == [ADDED, REPLACED, OLDER]


def test_another_study_of_the_same_name_is_refused(tmp_path: Path) -> None:
    add(tmp_path / "site", collect(study(tmp_path / "1" / "x", rows(DELAYS))).entry)
    other = study(tmp_path / "2" / "x", rows(DELAYS), text=TEMPLATE.replace("p = [4]", "p = [8]"))
    with pytest.raises(
        BadInput, match=r"has an entry 'x' of openmpi-5.0.11 already.* another name with --name"
    ):
        add(tmp_path / "site", collect(other).entry)


def test_the_same_study_on_another_library_is_another_entry(tmp_path: Path) -> None:
    site = tmp_path / "site"
    add(site, collect(study(tmp_path / "1" / "x", rows(DELAYS))).entry)
    add(site, collect(study(tmp_path / "2" / "x", rows(DELAYS), library=library((4, 1, 4)))).entry)
    assert read_site(site).libraries == ["openmpi-4.1.4", "openmpi-5.0.11"]
    with pytest.raises(
        BadInput, match=r"several libraries have an entry 'x': write one of openmpi-4.1.4/x, "
    ):
        read_site(site).named("x")
    assert read_site(site).named("openmpi-4.1.4/x").library["version"] == [4, 1, 4]


def test_the_export_is_the_same_after_any_order_of_additions(tmp_path: Path) -> None:
    some = [
        entry(tmp_path / "1", "a", DELAYS, 3.0),
        entry(tmp_path / "2", "b", DELAYS | {"way1": 3.5}, 4.0),
        entry(tmp_path / "3", "c", DELAYS, 5.0, bytes=256),
        msgspec.structs.replace(entry(tmp_path / "4", "a", DELAYS | {"way2": 1.0}, 3.0), weight=3.0),
    ]
    ages = {one.age for one in some}
    assert len(ages) == len(some)
    seen = set()
    for number, order in enumerate(itertools.permutations(some)):
        site = tmp_path / f"site{number}"
        for one in order:
            add(site, one)
        files = {path: data for path, data in content(site).items() if not path.endswith("lock")}
        rules = plan(merge(read_site(site), "openmpi-5.0.11")).rules
        seen.add((tuple(sorted(files.items())), msgspec.json.encode(rules)))
    assert len(seen) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from offbeat.base.campaign import durable
from offbeat.tuning.site.add import add
from offbeat.tuning.site.collect import collect

durable.publish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
add(Path(sys.argv[1]), collect(Path(sys.argv[2])).entry)
"""
"""Adds an entry, and is killed when its text is on disk, but has not replaced the old one."""


def test_a_kill_half_way_leaves_the_old_state_and_blocks_nobody(tmp_path: Path) -> None:
    site = tmp_path / "site"
    add(site, collect(study(tmp_path / "1" / "x", rows(DELAYS))).entry)
    before = content(site)
    newer = study(tmp_path / "2" / "x", rows(DELAYS), time="2026-11-20T00:00:00+00:00")
    done = subprocess.run([sys.executable, "-c", KILLED, str(site), str(newer)], check=False)
    assert done.returncode == -signal.SIGKILL
    entry_file = "openmpi-5.0.11/x.jsonl"
    assert content(site)[entry_file] == before[entry_file]
    assert [one.origin.measured[:10] for one in read_site(site).entries] == ["2026-11-01"]
    assert add(site, collect(newer).entry)[0] == REPLACED


def test_two_commands_do_not_change_it_at_the_same_time(tmp_path: Path) -> None:
    one = entry(tmp_path, "a", DELAYS)
    with changing(tmp_path / "site", create=True), pytest.raises(RunFailed, match="is being written by"):
        add(tmp_path / "site", one)
    assert add(tmp_path / "site", one)[0] == ADDED


def test_a_removed_entry_is_gone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    add(site, entry(tmp_path, "a", DELAYS))
    with changing(site) as opened:
        remove_entry(opened, opened.named("a"))
    assert read_site(site).entries == []


def test_other_directories_are_not_taken_for_a_knowledge_base(tmp_path: Path) -> None:
    one = entry(tmp_path, "a", DELAYS)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("")
    with pytest.raises(BadInput, match="is not empty and does not hold a knowledge base"):
        add(tmp_path / "home", one)
    with pytest.raises(BadInput, match=r"there is no directory .*nowhere; 'offbeat site add' creates one"):
        read_site(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"does not hold a knowledge base of offbeat: it has no site.json"):
        read_site(tmp_path / "home")
    add(tmp_path / "site", one)
    (tmp_path / "site" / "site.json").write_text('{"site_version": 2}')
    with pytest.raises(BadInput, match="in site version 2; this one reads version 1"):
        read_site(tmp_path / "site")


def test_a_renamed_file_is_refused(tmp_path: Path) -> None:
    add(tmp_path / "site", entry(tmp_path, "a", DELAYS))
    file = tmp_path / "site" / "openmpi-5.0.11" / "a.jsonl"
    file.rename(file.with_name("b.jsonl"))
    with pytest.raises(BadInput, match=r"b.jsonl holds the entry openmpi-5.0.11/a.jsonl: give it that name"):
        read_site(tmp_path / "site")
