"""The report of a simulated study is marked as simulated."""

from __future__ import annotations

import subprocess
import sys

from offbeat.measurement.results.read import read_study
from offbeat.presentation.study_report.configurations import views
from offbeat.presentation.study_report.grids import grids
from offbeat.selection.choices.choose import select

STUDY = """
engine = "sim"
[[collective]]
names = ["reduce"]
sizes = [8, 4096]
[processes]
p = [16]
"""


def offbeat(*arguments):
    subprocess.run([sys.executable, "-m", "offbeat", *map(str, arguments)], check=True, timeout=120)


def test_simulated_results_get_no_warnings_about_cores_clocks_and_governors(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    offbeat("run", tmp_path / "study.toml", "-o", tmp_path / "results")
    offbeat("report", tmp_path / "results", "--no-pictures")
    page = (tmp_path / "results" / "report.html").read_text()
    assert "are simulated: sim-openmpi on paper." in page
    for word in ("governor was", "share 2 cores", "error bound (up to", "rest on fewer than", "resamples"):
        assert word not in page
    results = read_study(tmp_path / "results")
    for view in views(results.cases, select(results)):
        titles = [grid.title for grid in grids(view, 0.05)]
        assert any("Simulated last delay" in title for title in titles)
        assert not any("Measured" in title for title in titles)
