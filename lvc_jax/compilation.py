"""Compiled programs are kept between runs of the commands, in a folder of the user's cache."""

import os
import sys
import tempfile
from pathlib import Path

import jax

VARIABLE = "LVC_JAX_CACHE"
OFF = "off"
LEAST_SECONDS = 0.5  # of compiling: what compiles faster costs about as much to read back


def cache_folder() -> Path | None:
    """Where compiled programs are kept.

    LVC_JAX_CACHE names a folder, or "off" for none. Without it, JAX's own JAX_COMPILATION_CACHE_DIR counts; without
    that either, it is `lvc_jax/xla` in $XDG_CACHE_HOME or ~/.cache.
    """
    named = os.environ.get(VARIABLE, "")
    if named:
        return None if named == OFF else Path(named).expanduser()
    configured = jax.config.values["jax_compilation_cache_dir"]
    if configured:
        return Path(configured)
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification: a path that is not absolute is to be ignored.
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "lvc_jax" / "xla"


def keep_compiled_programs() -> None:
    """Switches JAX's persistent compilation cache on for this process; call it before the first compilation.

    A folder that cannot be written means one note on stderr and no cache: nothing depends on it but time. Where it is
    "off", JAX's own settings stay as they are.
    """
    try:
        folder = cache_folder()
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: there is no home folder
        reason = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
        print(f"note: no compilation cache: {reason}; {VARIABLE} names a folder, or {OFF!r}", file=sys.stderr)
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", LEAST_SECONDS)
