"""Shared fixtures. Two CPU devices, so that data parallelism is exercised by every run; compiled in a hurry."""

import os
from importlib import metadata
from pathlib import Path

# Tests compile many programs and run each a few times: without XLA's optimisation they take a fraction of the time.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0"
    # From jaxlib 0.12 on this flag is gone, and one that is not known ends the process.
    + " --xla_cpu_use_fusion_emitters=false" * (metadata.version("jaxlib").startswith(("0.10.", "0.11."))),
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Commands called by tests keep no compiled programs in the user's cache.
os.environ["LVC_JAX_CACHE"] = "off"

import hypothesis
import pytest
from absl import flags

hypothesis.settings.register_profile("default", max_examples=25, deadline=None, derandomize=True)
hypothesis.settings.load_profile("default")
# grain reads absl flags even where no command parsed any.
flags.FLAGS.mark_as_parsed()


def _shared_folder() -> Path:
    return Path(os.environ.get("LVC_SHARED_DATA") or Path(__file__).resolve().parents[1].parent / "shared")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data and reference outputs; tests that need it skip where it is absent."""
    folder = _shared_folder()
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}; set LVC_SHARED_DATA")
    return folder
