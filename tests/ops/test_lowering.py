"""The kernels lower for TPU and GPU, forward and backward, for every named shape. Lowering is not yet compiling."""

import jax
import pytest

from lvc_jax.ops.deformable_attention import SHAPES
from tests.ops import lowering

pytestmark = lowering.TRITON_IS_DEPRECATED
CALLS = {"tpu": "tpu_custom_call", "gpu": "triton"}


@pytest.mark.parametrize("platform", lowering.LOWERED_AS)
@pytest.mark.parametrize("shape", SHAPES)
def test_lowers(shape: str, platform: str) -> None:
    for dtype in ("float32", "bfloat16"):
        function, arguments = lowering.call(shape, dtype, platform, backward=True)
        with lowering.described_gpu(platform):
            lowered = jax.jit(function).trace(*arguments).lower(lowering_platforms=(lowering.LOWERED_AS[platform],))
        # Forward, gradient of the samples, gradient of the values.
        assert lowered.as_text().count(CALLS[platform]) >= 3
