"""Texts that a spreadsheet would evaluate are exported so that it shows them, and are imported unchanged."""

from __future__ import annotations

import csv
from pathlib import Path

from sample_cases import FACTS, STUDY, make_case, make_samples

from offbeat.measurement.results.export import export_file
from offbeat.measurement.results.import_csv import import_csv
from offbeat.measurement.results.read import read_study
from offbeat.measurement.results.store import Store

NAMES = ["=1+2", "+a", "-b", "@c", "plain"]


def test_no_cell_of_a_csv_begins_like_a_formula_and_an_import_takes_the_apostrophe_off(
    tmp_path: Path,
) -> None:
    with Store.create(tmp_path / "ours", study_toml=STUDY, provenance={}) as store:
        for number, name in enumerate(NAMES):
            store.append(make_case(number, algorithm=name), FACTS, make_samples(number))
    export_file(read_study(tmp_path / "ours"), tmp_path / "ours.csv")
    with (tmp_path / "ours.csv").open(newline="") as file:
        names = [row["algorithm"] for row in csv.DictReader(file)]
    assert names == ["'=1+2", "'+a", "'-b", "'@c", "plain"]
    import_csv(tmp_path / "ours.csv", tmp_path / "theirs")
    assert read_study(tmp_path / "theirs").cases["algorithm"].to_list() == NAMES
