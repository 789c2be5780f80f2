"""Deformable attention against a numpy loop, against each other, and against reference outputs."""

import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.ops.deformable_attention import (
    IMPLEMENTATIONS,
    SHAPES,
    Problem,
    api,
    deformable_attention,
    sample_values,
    tapwise,
    why_refused,
)
from tests.golden import recipe

HERE = tuple(name for name in IMPLEMENTATIONS if name not in ("pallas_tpu", "pallas_gpu"))
"""Those that run on any machine: the kernels interpreted."""
FAST = ("tapwise", "dense")
PADDINGS = ("zeros", "border")
HAND_CASES = Path(__file__).parents[1] / "golden" / "deformable_attention_hand_cases.json"


def oracle(value, locations, weights, level_lengths, padding):
    """The definition, one sample at a time, in float64."""
    batch, _, heads, channels = value.shape
    queries, points = locations.shape[1], locations.shape[-1]
    out = np.zeros((batch, queries, heads, channels))
    starts = np.cumsum([0, *level_lengths])
    for b, q, h, level, p in np.ndindex(batch, queries, heads, len(level_lengths), points):
        length = level_lengths[level]
        x = float(locations[b, q, h, level, p]) * length - 0.5
        if padding == "border":
            x = min(max(x, 0.0), length - 1.0)
        below = int(np.floor(x))
        for row, share in ((below, below + 1 - x), (below + 1, x - below)):
            if 0 <= row < length:
                out[b, q, h] += float(weights[b, q, h, level, p]) * share * value[b, starts[level] + row, h]
    return out


def problem(seed, batch=2, queries=3, heads=2, channels=3, points=2, level_lengths=(5, 3, 1), spread=0.6):
    rng = np.random.default_rng(seed)
    shape = (batch, queries, heads, len(level_lengths), points)
    value = rng.standard_normal((batch, sum(level_lengths), heads, channels)).astype(np.float32)
    locations = rng.uniform(0.5 - spread, 0.5 + spread, shape).astype(np.float32)
    return value, locations, rng.standard_normal(shape).astype(np.float32), level_lengths


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("implementation", HERE)
def test_hand_cases(implementation, padding):
    cases = json.loads(HAND_CASES.read_text(encoding="utf-8"))["cases"]
    for length in {case["length"] for case in cases}:
        of_length = [case for case in cases if case["length"] == length]
        value = np.square(np.arange(1, length + 1, dtype=np.float32))[None, :, None, None]
        locations = np.asarray([case["location"] for case in of_length], np.float32).reshape(1, -1, 1, 1, 1)
        out = deformable_attention(
            value, locations, np.ones_like(locations), (length,), padding=padding, implementation=implementation
        )
        expected = [case[padding] for case in of_length]
        np.testing.assert_allclose(out.reshape(-1), expected, rtol=1e-5, atol=2e-5, err_msg=str(of_length))


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("implementation", HERE)
@pytest.mark.parametrize("spread", [0.45, 0.8, 3.0])
def test_equals_the_definition(implementation, padding, spread):
    value, locations, weights, lengths = problem(3, spread=spread)
    out = deformable_attention(value, locations, weights, lengths, padding=padding, implementation=implementation)
    np.testing.assert_allclose(out, oracle(value, locations, weights, lengths, padding), atol=1e-5)


@functools.cache
def output_and_gradients(implementation, padding, lengths):
    """A compiled function of (value, locations, weights, cotangent)."""

    def run(value, locations, weights, cotangent):
        attend = functools.partial(
            deformable_attention, level_lengths=lengths, padding=padding, implementation=implementation
        )
        out, pullback = jax.vjp(attend, value, locations, weights)
        return out, pullback(cotangent)

    return jax.jit(run)


def assert_equal_with_gradients(found, expected, locations, lengths, scale=1.0):
    """Outputs and the three gradients agree; the slope of a location is compared where it does not jump."""
    np.testing.assert_allclose(found[0], expected[0], atol=2e-5 * scale)
    # Right at a row the slope jumps: such samples have no gradient to compare.
    rows = locations.astype(np.float64) * np.asarray(lengths)[:, None] - 0.5
    smooth = np.abs(rows - np.round(rows)) > 1e-4
    for index, (got, want) in enumerate(zip(found[1], expected[1], strict=True)):
        mask = smooth if index == 1 else np.ones(got.shape, bool)
        atol = 1e-4 * scale * max(1.0, float(np.abs(want).max()) / 10)
        np.testing.assert_allclose(np.where(mask, got, 0), np.where(mask, want, 0), atol=atol)


@pytest.mark.parametrize("implementation", FAST)
@given(
    seed=st.integers(0, 2**31),
    padding=st.sampled_from(PADDINGS),
    sizes=st.sampled_from([(1, 1, 1, 1, 1, (4,)), (2, 3, 2, 5, 3, (7, 4, 1)), (1, 2, 2, 64, 2, (9,))]),
    spread=st.sampled_from([0.4, 0.7, 5.0]),
)
def test_equals_the_reference_with_gradients(implementation, seed, padding, sizes, spread):
    value, locations, weights, lengths = problem(seed, *sizes, spread=spread)
    cotangent = np.random.default_rng(seed + 1).standard_normal((*locations.shape[:3], value.shape[-1]))
    arguments = (value, locations, weights, cotangent.astype(np.float32))
    expected = output_and_gradients("reference", padding, lengths)(*arguments)
    found = output_and_gradients(implementation, padding, lengths)(*arguments)
    assert_equal_with_gradients(found, expected, locations, lengths)


@functools.cache
def named_case(shape, padding):
    """A named shape cut down in batch, heads and queries, with its result and gradients by the definition."""
    sizes = SHAPES[shape]
    rng = np.random.default_rng(11)
    samples = (1, min(sizes.queries, 6), 1, len(sizes.level_lengths), sizes.points)
    value = rng.standard_normal((1, sizes.rows, 1, min(sizes.channels, 160))).astype(np.float32)
    locations = rng.uniform(-0.2, 1.2, samples).astype(np.float32)
    weights = rng.uniform(0, 0.2, samples).astype(np.float32)
    cotangent = rng.standard_normal((*samples[:3], value.shape[-1])).astype(np.float32)
    arguments = (value, locations, weights, cotangent)
    return arguments, output_and_gradients("reference", padding, sizes.level_lengths)(*arguments)


KERNELS = [name for name in HERE if name.startswith("pallas")]
QUICK = ("encoder", "caption", "small_decoder")


@pytest.mark.parametrize(
    ("implementation", "shape"),
    [(name, shape) for name in FAST for shape in SHAPES]
    + [
        pytest.param(name, shape, marks=() if shape in QUICK else pytest.mark.slow)
        for name in KERNELS
        for shape in SHAPES
    ],
)
def test_named_shapes(implementation, shape):
    sizes = SHAPES[shape]
    arguments, expected = named_case(shape, sizes.padding)
    found = output_and_gradients(implementation, sizes.padding, sizes.level_lengths)(*arguments)
    assert_equal_with_gradients(found, expected, arguments[1], sizes.level_lengths)


@pytest.mark.parametrize("implementation", HERE)
def test_bfloat16_values_and_their_gradients(implementation):
    shape = SHAPES["small_decoder"]
    arguments, expected = named_case("small_decoder", "zeros")
    value, locations, weights, cotangent = arguments
    low = (jnp.asarray(value, jnp.bfloat16), locations, weights, jnp.asarray(cotangent, jnp.bfloat16))
    out, gradients = output_and_gradients(implementation, "zeros", shape.level_lengths)(*low)
    assert out.dtype == gradients[0].dtype == jnp.bfloat16
    assert gradients[1].dtype == gradients[2].dtype == jnp.float32
    for got, want in zip((out, *gradients), (expected[0], *expected[1]), strict=True):
        scale = max(1.0, float(np.abs(want).max()))
        np.testing.assert_allclose(np.asarray(got, np.float32), want, atol=0.03 * scale)


@pytest.mark.parametrize("queries", [3, 70])
def test_blocks_of_queries_change_nothing(monkeypatch, queries):
    value, locations, weights, lengths = problem(13, queries=queries, level_lengths=(9, 5))
    cotangent = np.ones((*locations.shape[:3], value.shape[-1]), np.float32)

    def gradients(value, locations, weights):
        attend = functools.partial(deformable_attention, level_lengths=lengths, implementation="tapwise")
        return jax.vjp(attend, value, locations, weights)[1](cotangent)

    monkeypatch.setattr(tapwise, "FEW_QUERIES", 0)
    whole = gradients(value, locations, weights)
    monkeypatch.setattr(tapwise, "BLOCK_BYTES", 4 * 2 * 4 * 14)
    for got, want in zip(gradients(value, locations, weights), whole, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)


@pytest.mark.parametrize(("shape", "limit"), [("longest_encoder", 400e6), ("longest_decoder", 100e6)])
def test_long_windows_take_little_memory(shape, limit):
    """A mixing matrix of every query and row would take 1.9 GB, its gradient as much again."""
    sizes = SHAPES[shape]
    samples = jax.ShapeDtypeStruct((1, sizes.queries, 8, 4, 4), jnp.float32)
    value = jax.ShapeDtypeStruct((1, sizes.rows, 8, 64), jnp.float32)
    gradient = jax.ShapeDtypeStruct((1, sizes.queries, 8, 64), jnp.float32)
    run = output_and_gradients("auto", "zeros", sizes.level_lengths)
    compiled = run.lower(value, samples, samples, gradient).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < limit


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("implementation", HERE)
def test_samples_weighted_are_the_attention(implementation, padding):
    value, locations, weights, lengths = problem(5)
    samples = sample_values(value, locations, lengths, padding, implementation)
    assert samples.shape == (*locations.shape, value.shape[-1])
    total = np.einsum("bqhlp,bqhlpc->bqhc", weights, samples)
    np.testing.assert_allclose(total, oracle(value, locations, weights, lengths, padding), atol=1e-5)


def test_bfloat16_values_keep_float32_sums():
    value, locations, weights, lengths = problem(7)
    weights = np.abs(weights) / np.abs(weights).sum(axis=(-2, -1), keepdims=True)
    out = deformable_attention(jnp.asarray(value, jnp.bfloat16), locations, weights, lengths)
    assert out.dtype == jnp.bfloat16
    np.testing.assert_allclose(out.astype(np.float32), oracle(value, locations, weights, lengths, "zeros"), atol=0.03)


def test_vmap_and_jit_change_nothing():
    value, locations, weights, lengths = problem(9)

    def run(value, locations, weights):
        return deformable_attention(value[None], locations[None], weights[None], lengths)[0]

    alone = deformable_attention(value, locations, weights, lengths)
    np.testing.assert_allclose(jax.jit(jax.vmap(run))(value, locations, weights), alone, atol=1e-6)


def test_auto_takes_the_first_that_accepts_and_tells_why(monkeypatch):
    lengths = (20_000,)
    assert why_refused(Problem(1, 8, 10, 64, (100, 50))) == {"tapwise": None}
    huge = why_refused(Problem(64, 8, 20_000, 4096, lengths, platform="tpu"))
    assert list(huge) == ["pallas_tpu", "dense", "tapwise"]
    assert "4096 channels" in huge["pallas_tpu"]
    assert "MiB" in huge["dense"]
    assert huge["tapwise"] is None
    assert why_refused(Problem(1, 8, 10, 64, (100,), platform="tpu"))["pallas_tpu"] is None
    assert why_refused(Problem(1, 8, 10, 64, (100,), platform="gpu"))["pallas_gpu"] is None
    assert "float16" in why_refused(Problem(1, 8, 10, 64, (100,), "float16", "gpu"))["pallas_gpu"]
    value, locations, weights, lengths = problem(1)
    with pytest.raises(ValueError, match="pallas_gpu refuses: it is for GPU, the platform is cpu"):
        deformable_attention(value, locations, weights, lengths, implementation="pallas_gpu", platform="cpu")
    monkeypatch.setattr(api, "DENSE_LIMIT_BYTES", 8)
    with pytest.raises(ValueError, match="dense refuses"):
        deformable_attention(value, locations, weights, lengths, implementation="dense")
    monkeypatch.setattr(api, "ORDER", {"cpu": ("dense",)})
    with pytest.raises(ValueError, match="no implementation accepts"):
        deformable_attention(value, locations, weights, lengths, platform="cpu")


@pytest.mark.parametrize("implementation", HERE)
def test_nothing_to_sample_is_zero(implementation):
    value, locations, weights, lengths = problem(1)
    out = deformable_attention(value, locations[..., :0], weights[..., :0], lengths, implementation=implementation)
    assert out.shape == (2, 3, 2, 3) and not out.any()
    out = deformable_attention(value, locations[:, :0], weights[:, :0], lengths, implementation=implementation)
    assert out.shape == (2, 0, 2, 3)
    out, gradients = output_and_gradients(implementation, "zeros", lengths)(value, locations, 0 * weights, value[:, :3])
    assert not out.any() and not gradients[0].any() and not gradients[1].any() and gradients[2].all()


def test_bad_arguments_are_named():
    value, locations, weights, lengths = problem(1)
    with pytest.raises(ValueError, match="padding='reflect'"):
        deformable_attention(value, locations, weights, lengths, padding="reflect")
    with pytest.raises(ValueError, match="implementation='fast'"):
        deformable_attention(value, locations, weights, lengths, implementation="fast")
    with pytest.raises(ValueError, match="value has 9 rows"):
        deformable_attention(value, locations, weights, (5, 3, 2))
    with pytest.raises(ValueError, match="do not fit"):
        deformable_attention(value, locations[:, :, :1], weights[:, :, :1], lengths)
    with pytest.raises(ValueError, match="value is int32"):
        deformable_attention(value.astype(np.int32), locations, weights, lengths)
    with pytest.raises(ValueError, match="must agree"):
        deformable_attention(value, locations, weights[..., :1], lengths)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("implementation", HERE)
def test_reference_outputs_with_gradients(shared, implementation, padding):
    folder = shared / "golden" / "pdvc"
    cases = json.loads((folder / "msda_core.json").read_text(encoding="utf-8"))["cases"]
    stored = np.load(folder / "msda_core.npz")
    for name, case in cases.items():
        batch, queries, heads, channels = case["N"], case["Lq"], case["heads"], case["head_dim"]
        lengths = tuple(case["levels"])
        shape = (batch, queries, heads, len(lengths), case["points"])
        value = recipe.raw(f"msda:{name}:value", (batch, sum(lengths), heads, channels))
        weights = recipe.raw(f"msda:{name}:weight", shape)
        low, high = case["loc_range"]
        locations = (low + (high - low) * recipe.uniform(f"msda:{name}:loc", shape)).astype(np.float32)
        cotangent = recipe.raw(f"msda:{name}:gout", (batch, queries, heads * channels))
        cotangent = cotangent.reshape(batch, queries, heads, channels)
        run = output_and_gradients(implementation, padding, lengths)
        out, gradients = run(value, locations, weights, cotangent)
        key = f"{name}/{padding}"
        out = np.asarray(out).reshape(batch, queries, -1)[..., : stored[f"{key}/out"].shape[-1]]
        np.testing.assert_allclose(out, stored[f"{key}/out_exact"], atol=1e-5, err_msg=key)
        np.testing.assert_allclose(out, stored[f"{key}/out"], atol=1e-4, err_msg=key)
        _compare_gradients(stored, key, gradients)


def _compare_gradients(stored, key, gradients):
    d_value, d_locations, d_weights = (np.asarray(gradient, np.float64) for gradient in gradients)
    found = {
        "grad_value": d_value,
        "grad_value_sum_over_head_dim": d_value.sum(axis=-1),
        "grad_value_sumsq_over_head_dim": np.square(d_value).sum(axis=-1),
        "grad_loc": d_locations,
        "grad_weight": d_weights,
        "grad_loc_q::8": d_locations[:, ::8],
        "grad_weight_q::8": d_weights[:, ::8],
    }
    compared = 0
    for name, gradient in found.items():
        if f"{key}/{name}" in stored.files:
            expected = stored[f"{key}/{name}"]
            scale = max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(gradient, expected, atol=1e-4 * scale, err_msg=f"{key} {name}")
            compared += 1
    assert compared >= 3
