"""The kernels compile for TPU v5e and v6e and for H100 on this machine, which has none of them: pytest -m aot."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lvc_jax.ops.deformable_attention import SHAPES

ROOT = Path(__file__).parents[2]


@pytest.mark.aot
@pytest.mark.parametrize("target", ["tpu v5e:2x2", "tpu v6e:2x2", "gpu H100"])
def test_every_named_shape_compiles(target: str) -> None:
    command = [sys.executable, "-m", "tests.ops.aot_compile", *target.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    if lines and lines[0].startswith("absent:"):
        pytest.skip(f"{target}: {lines[0]}")
    results = [json.loads(line) for line in lines if line.startswith("{")]
    assert not [result for result in results if "error" in result]
    # Every shape on one device; the encoder over all chips of a TPU too, which exchange nothing.
    assert len(results) == 4 * (len(SHAPES) + target.startswith("tpu"))
