"""Where compiled programs are kept, what comes of a folder that cannot be written, and that they are found again."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from lvc_jax import compilation

PROGRAM = """
import sys, jax, jax.numpy as jnp
from absl import flags
from jax import monitoring
from lvc_jax import cli, compilation

compilation.LEAST_SECONDS = 0.0
events = []
monitoring.register_event_listener(lambda name, **_: events.append(name.rsplit("/", 1)[-1]))

def main():
    x = jnp.arange(32.0).reshape(4, 8) / 7
    print(jax.jit(lambda x: jnp.sin(x @ x.T).sum())(x).item().hex())
    print(events.count("cache_hits"))

cli.run(main, flags.FlagValues())
"""


@pytest.fixture
def settings():
    """JAX's settings are as they were, before and after."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    for name, value in before.items():
        jax.config.update(name, value)


def run(**environment):
    names = (compilation.VARIABLE, "XDG_CACHE_HOME", "JAX_COMPILATION_CACHE_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    root = Path(__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env={**kept, **environment},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_second_run_finds_what_the_first_compiled(tmp_path):
    runs = [run(XDG_CACHE_HOME=str(tmp_path)) for _ in range(2)]
    results, hits = zip(*(done.stdout.split() for done in runs))
    assert [done.stderr for done in runs] == ["", ""]
    assert results[0] == results[1]
    assert int(hits[0]) == 0 < int(hits[1])
    assert any((tmp_path / "lvc_jax" / "xla").iterdir())


def test_a_folder_that_cannot_be_made_is_one_note(tmp_path):
    (tmp_path / "file").touch()
    done = run(LVC_JAX_CACHE=str(tmp_path / "file" / "cache"))
    assert done.stderr.startswith("note: no compilation cache: ") and done.stderr.count("\n") == 1
    assert done.stdout.split()[1] == "0"


def test_which_folder(monkeypatch, tmp_path, settings):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LVC_JAX_CACHE", raising=False)
    for given in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", given)
        assert compilation.cache_folder() == tmp_path / "home" / ".cache" / "lvc_jax" / "xla"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert compilation.cache_folder() == tmp_path / "xdg" / "lvc_jax" / "xla"
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "jax"))
    assert compilation.cache_folder() == tmp_path / "jax"
    monkeypatch.setenv("LVC_JAX_CACHE", "~/ours")
    assert compilation.cache_folder() == tmp_path / "home" / "ours"
    monkeypatch.setenv("LVC_JAX_CACHE", "off")
    assert compilation.cache_folder() is None
    compilation.keep_compiled_programs()
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "jax")
