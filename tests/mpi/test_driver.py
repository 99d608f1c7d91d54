"""The front end's side of a launch, against a program that misbehaves on demand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from raw_commands import ask_raw

from offbeat.libraries.launch import process_cleanup
from offbeat.libraries.launch.driver import CommandRefused, Driver, DriverLost

FAKE = [sys.executable, "-S", str(Path(__file__).with_name("fake_driver.py"))]
SOON_S = 60.0
"""Far longer than any step of these tests, even on an oversubscribed machine."""


@pytest.fixture
def start(tmp_path):
    """Starts a fake driver; afterwards no process of it may be left, alive or as a zombie."""
    started: list[Driver] = []

    def begin(*arguments: str, argv=(), **environment: str) -> Driver:
        command_line = [*argv, *FAKE, *arguments]
        driver = Driver(command_line, os.environ | environment, tmp_path / f"log-{len(started)}")
        started.append(driver)
        return driver

    yield begin
    for driver in started:
        driver.close(patience_s=0.5)
        assert process_cleanup.marked_processes(driver._watchdog.mark) == []
        for process in (driver._process, driver._watchdog._process):
            assert process.returncode is not None
            assert not psutil.pid_exists(process.pid)
    zombies = [one for one in psutil.Process().children() if one.status() == psutil.STATUS_ZOMBIE]
    assert zombies == []


def ask(driver, verb, timeout_s=SOON_S, **values):
    return ask_raw(driver, verb, timeout_s=timeout_s, **values)


def processes_of(driver):
    return process_cleanup.marked_processes(driver._watchdog.mark)


def is_gone(driver):
    return processes_of(driver) == [] and driver._process.poll() is not None


def is_alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition):
    give_up = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_a_command_is_one_line_and_is_answered(start):
    driver = start()
    answer = ask_raw(driver, "echo", "one", "two=2", timeout_s=SOON_S, collective="reduce", bytes=8)
    assert answer["line"] == "echo one two=2 collective=reduce bytes=8"
    assert ask(driver, "echo")["line"] == "echo"


def test_output_between_answers_goes_to_the_log(start, tmp_path):
    driver = start()
    assert ask(driver, "noise") == {"ok": True, "heard": "noise"}
    assert ask(driver, "noise") == {"ok": True, "heard": "noise"}
    driver.close()
    log = (tmp_path / "log-0").read_bytes()
    assert log.count(b"a library's own words\n") == 2
    assert log.count(b"half a line, and its rest\n") == 2
    assert b'"heard"' not in log


def test_an_answer_may_be_large(start):
    assert len(ask(start(), "large", size=3_000_000)["text"]) == 3_000_000


def test_a_refusal_leaves_the_launch_usable(start):
    driver = start()
    with pytest.raises(CommandRefused, match=r"^I would rather not$"):
        ask(driver, "refuse")
    with pytest.raises(CommandRefused, match=r"^no reason given$"):
        ask(driver, "refuse_without_reason")
    assert ask(driver, "echo")["ok"]


def test_the_launch_has_the_given_environment(start):
    driver = start(OFFBEAT_TEST="is set")
    assert ask(driver, "environment", name="OFFBEAT_TEST")["value"] == "is set"


@pytest.mark.parametrize("verb", ["silence", "chatter"])
def test_a_launch_that_does_not_answer_is_hung_and_killed(start, verb):
    driver = start()
    with pytest.raises(DriverLost, match=r"^hung: no answer within 0\.3 s$"):
        ask(driver, verb, timeout_s=0.3)
    assert is_gone(driver)


def test_the_children_of_a_hung_launch_end_with_it_in_any_session(start):
    driver = start()
    ask(driver, "children", ignores_quit="yes")
    children = set(processes_of(driver)) - {driver._process.pid}
    assert len(children) == 2
    with pytest.raises(DriverLost, match=r"^hung"):
        ask(driver, "silence", timeout_s=0.3)
    assert is_gone(driver)
    assert not any(is_alive(child) for child in children)


def test_a_hung_launch_is_terminated_before_it_is_killed_so_that_its_launcher_can_end_remote_processes(
    start, tmp_path
):
    driver = start()
    ask(driver, "last_words", file=tmp_path / "asked")
    with pytest.raises(DriverLost, match=r"^hung"):
        ask(driver, "silence", timeout_s=0.3)
    assert (tmp_path / "asked").exists()


def test_a_launch_that_ends_by_itself_leaves_no_children(start):
    driver = start()
    ask(driver, "children")
    with pytest.raises(DriverLost, match="exit status 3"):
        ask(driver, "exit", status=3)
    assert is_gone(driver)


def test_the_reason_is_the_exit_status_and_the_most_informative_line(start):
    with pytest.raises(DriverLost, match=r"^the launch ended with exit status 3: Error: out of luck$"):
        ask(start(), "exit", status=3)


def test_the_reason_is_taken_from_this_launchs_part_of_the_log(tmp_path, start):
    (tmp_path / "log-0").write_text("Error: of a launch before\n")
    with pytest.raises(DriverLost) as lost:
        ask(start(), "exit", status=1)
    assert "before" not in str(lost.value)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_death_by_a_signal_is_reported_with_its_number(start, number):
    with pytest.raises(DriverLost, match=f"^the launch was killed by signal {number:d}$"):
        ask(start(), "die", signal=int(number))


@pytest.mark.parametrize("verb", ["garbage", "list"])
def test_an_answer_that_is_no_json_object_loses_the_launch(start, verb):
    driver = start()
    with pytest.raises(DriverLost, match=r"^sent an answer that is not JSON"):
        ask(driver, verb)
    assert is_gone(driver)


def test_a_launch_that_closes_its_output_is_lost_at_once(start):
    driver = start()
    driver.PATIENCE_S = 0.3
    with pytest.raises(DriverLost):
        ask(driver, "close_output")
    assert is_gone(driver)


def test_a_lost_launch_reports_its_loss_for_every_further_command(start):
    driver = start()
    with pytest.raises(DriverLost):
        ask(driver, "exit", status=3)
    with pytest.raises(DriverLost, match="exit status 3"):
        ask(driver, "echo")


def test_a_launch_that_died_between_commands_is_lost_at_the_next_one(start):
    driver = start()
    ask(driver, "echo")
    os.kill(driver._process.pid, signal.SIGKILL)
    with pytest.raises(DriverLost, match="signal 9"):
        ask(driver, "echo")


def test_closing_asks_the_launch_to_quit(start):
    driver = start()
    ask(driver, "echo")
    driver.close()
    assert driver._process.returncode == 0


def test_closing_kills_a_launch_that_ignores_quit_and_signals(start):
    driver = start("--ignores-quit")
    ask(driver, "children")
    driver.close(patience_s=0.2)
    assert is_gone(driver)
    driver.close()


def test_a_missing_launcher_leaves_nothing_behind(tmp_path):
    before = {one.pid for one in psutil.Process().children()}
    with pytest.raises(OSError, match="no-such-launcher"):
        Driver(["/no-such-launcher"], os.environ, tmp_path / "log")
    assert {one.pid for one in psutil.Process().children()} <= before


FRONT_END = """
import os, sys, time
from pathlib import Path
from offbeat.libraries.launch.driver import Driver
driver = Driver(sys.argv[2:], os.environ, Path(sys.argv[1]))
driver.exchange("children", timeout_s=60)
print(driver._watchdog.mark, flush=True)
try:
    driver.exchange("silence", timeout_s=300)
except KeyboardInterrupt:
    pass
"""


@pytest.mark.parametrize("launcher", [[], ["sh", "-c", '"$0" "$@" <&0; exit $?']], ids=["plain", "script"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_launch_ends_with_a_killed_front_end(tmp_path, launcher, number):
    """The launcher may be a shell script, like Intel MPI's, which dies without ending its children."""
    front = subprocess.Popen(
        [sys.executable, "-c", FRONT_END, str(tmp_path / "log"), *launcher, *FAKE],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert front.stdout
    mark = front.stdout.readline().strip()
    assert len(process_cleanup.marked_processes(mark)) >= 3
    front.send_signal(number)
    front.wait()
    front.stdout.close()
    wait_until(lambda: process_cleanup.marked_processes(mark) == [])
