import pytest
from captured_command import invoke
from typer.testing import CliRunner

from offbeat.base.errors import BadInput
from offbeat.cli.pattern import app
from offbeat.model.pattern import pattern_file


def run(*arguments):
    return invoke(app, *arguments)


def test_make_writes_the_pattern_to_standard_output(tmp_path):
    result = run("make", "ascending", "--p", 5, "--skew", "100 us")
    path = tmp_path / "ascending.txt"
    path.write_text(result.stdout)
    assert pattern_file.read(path, 5).delays_s == pytest.approx(
        [0.0, 2.5e-05, 5e-05, 7.5e-05, 1e-4], rel=1e-15
    )


def test_make_writes_the_file_that_it_is_given(tmp_path):
    path = tmp_path / "mine.txt"
    assert run("make", "random", "--p", 8, "--skew", "1 ms", "--seed", 3, "--output", path).stdout == ""
    pattern = pattern_file.read(path, 8)
    assert pattern.header["seed"] == "3"
    assert pattern.skew_s == 1e-3


def test_show_draws_files_and_shapes_and_a_picture(tmp_path):
    path, out = tmp_path / "mine.txt", tmp_path / "out.png"
    run("make", "bell", "--p", 8, "--skew", "1 ms", "--output", path)
    text = run("show", path, "node_delayed", "--p", 12, "--ppn", 4, "--skew", "2 ms", "--picture", out).stdout
    assert "mine: p = 8, skew 1 ms" in text
    assert "node_delayed: p = 12, skew 2 ms" in text
    assert out.stat().st_size > 1000


def test_show_of_neither_file_nor_shape_lists_the_shapes():
    with pytest.raises(BadInput, match="neither a pattern file nor a shape; the shapes are no_delay"):
        run("show", "zigzag")


def replay(tmp_path, text="0 1e-3\n0 3e-3\n0 2e-3\n"):
    path = tmp_path / "site.replay"
    path.write_text(text)
    return path


def test_show_draws_a_replay_by_the_mean_of_its_calls(tmp_path):
    out = tmp_path / "out.png"
    text = run("show", replay(tmp_path), "bell", "--p", 8, "--picture", out).stdout
    assert "site: p = 2, 3 calls, median skew 2 ms (5% to 95% of the calls: 1.1 ms to 2.9 ms)" in text
    assert "2 ms │" in text
    assert out.stat().st_size > 1000


def test_check_describes_a_replay(tmp_path):
    result = run("check", replay(tmp_path), "--p", 2)
    assert "site: p = 2, 3 calls" in result.stdout
    assert result.stderr == ""
    assert "the smallest delay of 1 call is not 0" in run("check", replay(tmp_path, "1 2\n0 1\n")).stderr
    assert "no rank is ever later" in run("check", replay(tmp_path, "0 0\n")).stderr
    with pytest.raises(BadInput, match="of 2 processes, but p = 3"):
        run("check", replay(tmp_path), "--p", 3)


def test_check_describes_a_pattern(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("0\n0.001\n")
    result = run("check", path, "--p", 2)
    assert "mine: p = 2, skew 1 ms" in result.stdout
    assert result.stderr == ""


def test_check_prints_the_partitions_of_a_pattern(tmp_path):
    path = tmp_path / "send.txt"
    path.write_text("# partitions: 3\n0 0 0\n0 1e-3 2e-3\n")
    assert (
        "send: p = 2, 3 partitions, skew 2 ms, mean delay 500 µs, 1 of 2 ranks late"
        in run("check", path).stdout
    )
    with pytest.raises(
        BadInput, match="the pattern has 3 delays for each rank, but one delay a rank is needed"
    ):
        run("show", path)


def test_check_warns_of_a_smallest_delay_that_is_not_zero(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("0.001\n0.002\n")
    assert "smallest delay is 1 ms, not 0" in run("check", path).stderr


def test_check_warns_of_a_pattern_that_delays_nobody(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("0\n0\n")
    assert "no_delay" in run("check", path).stderr


def test_check_refuses_a_file_for_another_p(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("0\n0\n")
    with pytest.raises(BadInput, match=r"has 2 delays, but p = 3"):
        run("check", path, "--p", 3)


def test_make_writes_no_file_that_could_not_be_read_again(tmp_path, monkeypatch):
    arguments = ["make", "random", "--p", 2**24, "--skew", "1 ms", "-o", tmp_path / "many.pattern"]
    done = CliRunner().invoke(app, [str(word) for word in arguments])
    assert "many.pattern would have 352 MiB, more than the limit of 64 MiB" in str(done.exception)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("OFFBEAT_READ_LIMIT", "100 B")
    done = CliRunner().invoke(app, ["make", "random", "--p", "5", "--skew", "1 ms"])
    assert "the pattern file would have 110 B" in str(done.exception)
