"""Exit codes and one-line errors that every command shares; whole-file writes."""

import subprocess
import sys
from pathlib import Path

import pytest

from lvc_jax.files import atomic_write

COMMAND = """
from absl import flags
from lvc_jax import cli
from lvc_jax.errors import InputError
FLAGS = flags.FlagValues()
number = flags.DEFINE_integer("number", 0, "a number", flag_values=FLAGS)

def main():
    if number.value == 1:
        raise InputError("bad number:\\n  mend it")
    if number.value == 2:
        raise KeyboardInterrupt
    if number.value == 3:
        raise RuntimeError("a bug")
    if number.value == 4:
        return cli.EXIT_PREEMPTED
    if number.value == 5:
        print("a line\\n" * 100_000)
    print("done")

cli.run(main, FLAGS)
"""


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        ((), 0, ""),
        (("--number=1",), 2, "error: bad number: mend it\n"),
        (("--number=2",), 130, "interrupted\n"),
        (("--number=4",), 75, ""),
        (("stray",), 2, "error: unexpected argument 'stray'; every option is a --flag, see --help\n"),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int, error: str) -> None:
    done = call(*arguments)
    assert (done.returncode, done.stderr) == (code, error)


POSITIONAL = """
from absl import flags
from lvc_jax import cli
FLAGS = flags.FlagValues()
one = flags.DEFINE_string("one", None, "one value", flag_values=FLAGS)
many = flags.DEFINE_multi_string("many", [], "any number of values", flag_values=FLAGS)
cli.run(lambda: print(one.value, many.value), FLAGS, positional=NAME)
"""


@pytest.mark.parametrize(
    ("name", "arguments", "printed"),
    [
        ("one", ("a",), "a []"),
        ("one", ("--many=x", "a", "--many=y"), "a ['x', 'y']"),
        ("one", (), "None []"),
        ("many", ("a", "--many=b", "c"), "None ['b', 'a', 'c']"),
        ("many", ("a", "--", "--c"), "None ['a', '--c']"),
        ("one", ("a", "b"), "error: unexpected argument 'b'; --one takes one value, see --help"),
        ("one", ("--one=a", "b"), "error: unexpected argument 'b'; --one takes one value, see --help"),
    ],
)
def test_arguments_without_a_name_go_to_the_flag_that_collects_them(name, arguments, printed) -> None:
    command = [sys.executable, "-c", POSITIONAL.replace("NAME", repr(name)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == printed + "\n"


def test_an_unknown_or_wrong_flag_is_one_line() -> None:
    for flag in ("--no_such_flag=1", "--number=x"):
        done = call(flag)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1


def test_a_bug_is_exit_code_1_with_a_traceback() -> None:
    done = call("--number=3")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("number", [0, 5])
def test_a_reader_that_goes_away_is_no_traceback(number: int) -> None:
    command = [sys.executable, "-c", COMMAND, f"--number={number}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_atomic_write_keeps_the_old_file_on_error(tmp_path: Path) -> None:
    target = tmp_path / "folder" / "file.txt"
    with atomic_write(target) as file:
        file.write("old")
    with pytest.raises(RuntimeError, match="stop"), atomic_write(target) as file:
        file.write("new, half writ")
        raise RuntimeError("stop")
    assert target.read_text() == "old"
    assert [p.name for p in target.parent.iterdir()] == ["file.txt"]


def test_atomic_write_bytes(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "b", "wb") as file:
        file.write(b"\x00\x01")
    assert (tmp_path / "b").read_bytes() == b"\x00\x01"


def test_help_shows_the_flags_and_exits_0() -> None:
    done = call("--help")
    assert done.returncode == 0
    assert "--number: a number" in done.stdout


def test_commands_keep_their_flags_apart() -> None:
    from lvc_jax import evaluate, live

    assert evaluate.FLAGS["segment_frames"].flag_type() == "string"
    assert live.FLAGS["segment_frames"].flag_type() == "int"
