"""The page has all sections for every kind of study, and escapes what results contain."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import study_factory as factory
from markupsafe import escape

from offbeat.base.document.tables import Table
from offbeat.base.errors import BadInput
from offbeat.measurement.results import schema
from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import Algorithm, Verdict
from offbeat.presentation.drawing.page import Section
from offbeat.presentation.study_report.html import write_report
from offbeat.presentation.study_report.sections import SECTIONS, Content
from offbeat.selection.choices.choose import select

pytestmark = pytest.mark.slow

VOID = {"meta", "img", "input", "br", "wbr", "link"}
EVIL = "<script>alert('x')</script>"


class Elements(HTMLParser):
    """Collects the elements and their attributes, and checks that they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(study: Results, rule: str = "average", **more: Any) -> str:
    selection = select(study, rule, bootstrap=50)
    return write_report(study, selection, study.directory, **more).read_text(encoding="utf-8")


def elements(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Elements()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser.elements


def text_of(page: str) -> str:
    """What a reader sees, without scripts and styles."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", bare.replace("<wbr>", ""))).split())


def test_the_page_has_its_parts_in_order(tmp_path: Path) -> None:
    study = factory.results(tmp_path, factory.case_frame(factory.many_algorithms(4), factory.SHAPES))
    page = page_of(study)
    headings = [
        "Verdict",
        "Results per configuration",
        "How the last delays are distributed",
        "Arrival patterns used",
        "Algorithms",
        "How it was measured",
        "Warnings",
        "Tuning files",
    ]
    assert re.findall(r"<h2>(.*?)</h2>", page) == headings


def test_nothing_outside_the_file_is_needed(tmp_path: Path) -> None:
    study = factory.results(tmp_path, factory.case_frame(factory.many_algorithms(4), factory.SHAPES))
    page_elements = elements(page_of(study))
    assert all(attributes.get("src", "data:").startswith("data:") for _, attributes in page_elements)
    assert not [attributes for tag, attributes in page_elements if tag in ("link", "iframe", "object")]
    assert {attributes["href"][0] for tag, attributes in page_elements if tag == "a"} == {"#"}
    policies = [a["content"] for tag, a in page_elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies[0].startswith("default-src 'none';")


def test_names_and_reasons_cannot_bring_markup_into_the_page(tmp_path: Path) -> None:
    rows = [
        factory.row(name, pattern, 1e-6, library=EVIL)
        for name in (EVIL, '"onload="x')
        for pattern in ("no_delay", EVIL)
    ]
    rows[3] |= {"status": "quarantined", "reason": EVIL, "last_delay_s": None}
    study = factory.results(
        tmp_path,
        factory.frame(rows),
        study={"name": EVIL},
        provenance={"host": EVIL, EVIL: {"deep": [EVIL]}, "warnings": [EVIL]},
        verdicts=[
            Verdict(collective="reduce", algorithm=EVIL, p=8, bytes=8192, status="proved", evidence=EVIL),
            Verdict(collective=EVIL, algorithm=EVIL, p=8, bytes=8192, status="wrong", reason=EVIL),
        ],
        notes=[EVIL],
    )
    (tmp_path / "study.toml").write_text(EVIL)
    page = page_of(study)
    assert EVIL not in page
    assert str(escape(EVIL)) in page
    scripts = [attributes for tag, attributes in elements(page) if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "plot-data"}, {}, {}]
    assert not [a for _, a in elements(page) if "onload" in a]


def test_the_selection_table_has_the_published_numbers(tmp_path: Path) -> None:
    page = page_of(factory.imported("hydra-ft-scenario", tmp_path / "ft"))
    (row,) = re.findall(r"<tbody>\s*(<tr>.*?</tr>)", page.partition('id="selection"')[2], re.DOTALL)[:1]
    cells = [text_of(cell) for cell in re.findall(r"<td.*?</td>", row)]
    assert cells == [
        "alltoall",
        "1024 (32×32)",
        "32 KiB",
        "Pair",
        "unknown",
        "unknown",
        "unknown",
        "1.005",
        "Lin ≠",
        "+99%",
        "–",
    ]
    assert "there Lin scores 99% worse than Pair" in text_of(page).replace("There", "there")


def test_the_requested_rule_is_reported(tmp_path: Path) -> None:
    page = text_of(page_of(factory.imported("hydra-ft-scenario", tmp_path / "ft"), "scenario:ft_scenario"))
    assert "by the rule scenario:ft_scenario" in page


def test_the_page_of_an_empty_study(tmp_path: Path) -> None:
    empty = pl.DataFrame(schema=schema.polars_schema(schema.CASES))
    page = page_of(factory.results(tmp_path, empty))
    elements(page)
    assert "Nothing has been measured yet." in text_of(page)
    assert "offbeat run" in text_of(page)
    assert len(page) < 100_000, "no plotting library without a plot"


def test_the_page_of_a_study_with_only_quarantined_cases(tmp_path: Path) -> None:
    rows = [
        factory.row(name, pattern, None, status="quarantined", reason="hung for 60 s", repetitions=0)
        for name in ("a", "b")
        for pattern in ("no_delay", "random")
    ]
    text = text_of(page_of(factory.results(tmp_path, factory.frame(rows))))
    assert "Nothing can be selected: no case has been measured." in text
    assert "4 of 4 cases were quarantined." in text
    assert "a under no_delay, random: quarantined; hung for 60 s" in text


def test_one_algorithm_and_one_process_are_enough(tmp_path: Path) -> None:
    rows = [factory.row("only", pattern, 1e-6, p=1) for pattern in ("no_delay", "ascending")]
    text = text_of(page_of(factory.results(tmp_path, factory.frame(rows)), pictures=tmp_path / "pictures"))
    assert "p = 1" in text
    assert "only is the only algorithm" in text
    assert len(list((tmp_path / "pictures").iterdir())) == 3 * 4


def test_barrier_has_no_size_and_patterns_without_a_formula_are_named(tmp_path: Path) -> None:
    rows = [
        factory.row("a", pattern, 1e-6, collective="barrier", bytes=0, op="")
        for pattern in ("no_delay", "odd")
    ]
    text = text_of(page_of(factory.results(tmp_path, factory.frame(rows))))
    assert "barrier · p = 8 select a" in text
    assert "Not drawn: odd: the results hold no arrival times." in text


def test_verdicts_have_evidence_reason_and_settings(tmp_path: Path) -> None:
    more: dict[str, Any] = {"collective": "reduce", "p": 8, "bytes": 8192}
    study = factory.results(
        tmp_path,
        factory.case_frame(["ring"], ["no_delay"]),
        algorithms=[
            Algorithm(collective="reduce", name=name, settings={"coll_x": name}) for name in "rstuvw"
        ],
        verdicts=[
            Verdict(algorithm="r", status="proved", evidence="functions:base_r", **more),
            Verdict(algorithm="s", status="duplicate", same_as="r", **more),
            Verdict(algorithm="t", status="fell_back", reason="ran linear", **more),
            Verdict(algorithm="u", status="wrong", reason="element 3 is 4, not 6", **more),
            Verdict(algorithm="v", status="refused", reason="MPI_ERR_ARG", **more),
            Verdict(algorithm="w", status="quarantined", reason="hung", **more),
        ],
    )
    text = text_of(page_of(study))
    for part in (
        "1 proved, 1 duplicate, 1 fell back, 1 wrong, 1 refused, 1 quarantined",
        "r ✓ proved everywhere base_r functions:base_r coll_x=r",
        "s = duplicate everywhere same as r",
        "t ↩ fell back everywhere ran linear",
        "u ✗ wrong everywhere element 3 is 4, not 6",
        "v ⊘ refused everywhere MPI_ERR_ARG",
        "w ! quarantined everywhere hung",
    ):
        assert part in text


def test_verdicts_that_differ_by_size_list_where_each_holds(tmp_path: Path) -> None:
    verdicts = [
        Verdict(collective="reduce", algorithm="r", p=p, bytes=size, status=status, reason=reason)
        for p, size, status, reason in (
            (4, 8, "proved", ""),
            (8, 1024, "proved", ""),
            (8, 8, "fell_back", "ran linear"),
        )
    ]
    study = factory.results(tmp_path, factory.case_frame(["r"], ["no_delay"]), verdicts=verdicts)
    text = text_of(page_of(study))
    assert "✓ proved p = 4: 8 B; p = 8: 1 KiB" in text
    assert "↩ fell back p = 8: 8 B ran linear" in text


def test_the_study_and_the_machine_are_in_the_page(tmp_path: Path) -> None:
    provenance = {"host": "node01", "topology": {"cores": 2, "container_cpus": None}, "memory_bytes": 2**34}
    page = page_of(factory.results(tmp_path, factory.case_frame(["a"], ["no_delay"]), provenance=provenance))
    assert str(escape(factory.STUDY_TOML)) in page
    text = text_of(page)
    assert "host node01" in text
    assert "topology · cores 2" in text
    assert "memory 16.0 GiB" in text
    assert "container" not in text
    assert "largest error bound of the shared clock 100 ns" in text


def test_the_page_of_a_large_study_has_a_limited_size(tmp_path: Path) -> None:
    cases = factory.case_frame(
        ["default", *factory.many_algorithms(7)],
        factory.SHAPES,
        collectives=("reduce", "allreduce", "alltoall", "bcast"),
        sizes=(8, 64, 512, 4096, 32768),
        ps=(2, 4, 8),
    )
    page = page_of(factory.results(tmp_path, cases))
    assert len(page.encode()) < 2_200_000
    assert page.count('<details class="configuration"') == 60
    assert page.count(" open>") <= 6
    assert len(re.findall(r'<a href="#[a-z]+-p\d-\d+B" title', page)) == 60


def test_every_link_has_a_target(tmp_path: Path) -> None:
    cases = factory.case_frame(factory.many_algorithms(3), factory.SHAPES, sizes=(8, 64))
    page_elements = elements(page_of(factory.results(tmp_path, cases), pictures=tmp_path / "pictures of it"))
    ids = [attributes["id"] for _, attributes in page_elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for tag, attributes in page_elements if tag == "a"]
    assert all(link[1:] in ids for link in links if link.startswith("#"))
    files = [link for link in links if not link.startswith("#")]
    assert len(files) == len(list((tmp_path / "pictures of it").iterdir())) >= 3 * 7
    assert all((tmp_path / link).is_file() for link in files)


def test_configurations_that_differ_only_in_operation_have_distinct_labels(tmp_path: Path) -> None:
    rows = [factory.row("a", "no_delay", 1e-6, op=op) for op in ("sum", "max")]
    page = page_of(factory.results(tmp_path, factory.frame(rows)))
    assert 'id="reduce-p8-8192B"' in page
    assert 'id="reduce-p8-8192B-2"' in page
    assert "max of double, root 0" in text_of(page)


def test_a_page_that_cannot_be_written_ends_with_a_sentence(tmp_path: Path) -> None:
    study = factory.results(tmp_path, factory.case_frame(["a"], ["no_delay"]))
    with pytest.raises(BadInput, match=r"cannot write the report .*--output"):
        page_of(study, output=tmp_path / "study.toml" / "report.html")


def test_an_unknown_rule_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="rule 'best' is unknown"):
        page_of(factory.results(tmp_path, factory.case_frame(["a"], ["no_delay"])), "best")


def test_a_section_that_is_added_is_on_the_page_and_in_its_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fastest(content: Content) -> Section:
        choices = [view.choice for view in content.views if view.choice]
        table = Table(title="Choices", headings=["algorithm"], rows=[[one.algorithm] for one in choices])
        return Section(anchor="fastest", title="The fastest", link="Fastest", parts=[table])

    monkeypatch.setattr("offbeat.presentation.study_report.html.SECTIONS", (*SECTIONS, fastest))
    study = factory.results(tmp_path, factory.table({"no_delay": {"a": 1.0, "b": 2.0}}))
    page = page_of(study)
    elements(page)
    assert '<a href="#fastest">Fastest</a>' in page
    assert "The fastest Choices algorithm a" in text_of(page)
