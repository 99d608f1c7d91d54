"""``offbeat select`` on a result directory: its output, files and exit statuses."""

import json

import pytest
import typer
from measured import FT_SCENARIO, MICRO_BENCHMARK
from typer.testing import CliRunner

from offbeat.base.errors import BadInput, RunFailed
from offbeat.cli import select
from offbeat.measurement.results.import_csv import import_csv


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Both published tables as result directories."""
    root = tmp_path_factory.mktemp("imported")
    for csv in (FT_SCENARIO, MICRO_BENCHMARK):
        import_csv(csv, root / csv.stem)
    return root


@pytest.fixture
def ft(imported):
    return str(imported / FT_SCENARIO.stem)


@pytest.fixture
def micro(imported):
    return str(imported / MICRO_BENCHMARK.stem)


def run(*arguments):
    app = typer.Typer()
    app.command()(select.command)
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "100"})


def flat(result):
    return " ".join(result.output.split())


def test_an_imported_study_is_selected_pairwise_by_average_and_linear_without_delay(ft):
    result = run(ft)
    assert result.exit_code == 0
    assert "32 KiB Lin = L-Sync Pair unknown +99%" in flat(result)
    assert "32 KiB Lin = L-Sync Pair unknown" in flat(run(ft, "--rule", "scenario:ft_scenario"))
    assert "32 KiB Lin = L-Sync Lin = L-Sync unknown none" in flat(run(ft, "--rule", "no_delay"))


def test_details_come_on_demand(ft):
    assert "average with scenarios" not in run(ft).output
    assert "average with scenarios 1.967 1.005 1.967 2.009" in flat(run(ft, "--details", "--notes"))


def test_the_averages_of_other_machines_in_a_csv_do_not_become_patterns(micro):
    text = run(micro, "--details").output
    assert "avg" not in text
    assert "1 MiB Pair Lin unknown +762%" in " ".join(text.split())


def test_json_goes_to_a_file_beside_the_tables_or_alone_to_the_output(ft, tmp_path):
    target = tmp_path / "selection.json"
    assert "32 KiB" in run(ft, "--json", str(target)).output
    alone = run(ft, "--json", "-")
    assert alone.exit_code == 0
    assert json.loads(alone.output) == json.loads(target.read_text())
    assert json.loads(alone.output)["configurations"][0]["choice"]["algorithm"] == "Pair"


def test_scenarios_can_be_included(ft):
    document = json.loads(run(ft, "--include-scenarios", "--json", "-").output)
    assert f"{document['configurations'][0]['choice']['scores']['Lin']:.3f}" == "1.967"


def test_the_share_that_counts_as_good_is_an_option(ft):
    document = json.loads(run(ft, "--within", "1%", "--json", "-").output)
    assert document["configurations"][0]["choice"]["good"]["no_delay"] == ["Lin", "L-Sync"]


def test_collectives_can_be_selected(micro):
    text = run(micro, "--collective", "reduce").output
    assert "reduce" in text
    assert "alltoall" not in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rule", "median"], "rule 'median' is unknown; the rules are average"),
        (["--rule", "scenario:lu"], "scenario 'lu' was not measured; the scenarios are ft_scenario"),
        (["--within", "much"], "'much' is not a share"),
        (["--collective", "bcast"], "collective 'bcast' was not measured; these results hold alltoall"),
        (["--json", "/dev/null/selection.json"], "cannot write"),
    ],
)
def test_invalid_options_give_a_sentence_and_exit_status_2(ft, arguments, sentence):
    error = run(ft, *arguments).exception
    assert isinstance(error, BadInput)
    assert error.exit_status == 2
    assert sentence in str(error)


def test_a_directory_without_results_is_refused(tmp_path):
    error = run(str(tmp_path)).exception
    assert isinstance(error, BadInput)


def test_results_from_which_nothing_can_be_selected_end_with_exit_status_1(tmp_path):
    csv = tmp_path / "mine.csv"
    csv.write_text(
        "machine,p,collective,bytes,pattern,algorithm,last_delay_s\nx,4,reduce,8,no_delay,default,1.0\n"
    )
    import_csv(csv, tmp_path / "results")
    result = run(str(tmp_path / "results"))
    assert isinstance(result.exception, RunFailed)
    assert result.exception.exit_status == 1
    assert "nothing can be selected: no algorithm is proved to have run" in str(result.exception)
