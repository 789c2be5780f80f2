"""What is particular to the Pallas kernels: blocks of long windows, many devices, mapped axes, precision."""

import contextlib
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from lvc_jax.ops.deformable_attention import (
    Problem,
    api,
    deformable_attention,
    pallas_gpu,
    pallas_gpu_kernels,
    pallas_tpu,
    why_refused,
)
from tests.ops import lowering

pytestmark = lowering.TRITON_IS_DEPRECATED
KERNELS = ("pallas_tpu_interpret", "pallas_gpu_interpret")


def arguments(batch=2, queries=21, heads=2, channels=5, level_lengths=(40, 17), points=2, dtype=jnp.float32):
    rng = np.random.default_rng(4)
    samples = (batch, queries, heads, len(level_lengths), points)
    return (
        jnp.asarray(rng.standard_normal((batch, sum(level_lengths), heads, channels)), dtype),
        jnp.asarray(rng.uniform(-0.4, 1.4, samples), jnp.float32),
        jnp.asarray(rng.uniform(0.0, 0.4, samples), jnp.float32),
        jnp.asarray(rng.standard_normal((batch, queries, heads, channels)), dtype),
    )


def with_gradients(implementation, level_lengths=(40, 17), platform=None):
    def run(value, locations, weights, cotangent):
        attend = functools.partial(
            deformable_attention, level_lengths=level_lengths, implementation=implementation, platform=platform
        )
        out, pull = jax.vjp(attend, value, locations, weights)
        return out, *pull(cotangent)

    return run


def assert_same(found, expected, atol=2e-5):
    for got, want in zip(found, expected, strict=True):
        scale = max(1.0, float(jnp.abs(want).max()))
        np.testing.assert_allclose(np.asarray(got, np.float32), np.asarray(want, np.float32), atol=atol * scale)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks so small that a short window takes many, of rows as of queries and channels."""
    for name, size in (("WHOLE_LIMIT", 0), ("LONG_BLOCK", 8), ("QUERY_BLOCK", 8)):
        monkeypatch.setattr(pallas_tpu, name, size)
    for name in ("QUERIES", "ROWS", "CHANNELS"):
        monkeypatch.setattr(pallas_gpu, name, 16)


@pytest.mark.parametrize("implementation", KERNELS)
@pytest.mark.usefixtures("small_blocks")
def test_many_blocks_give_what_one_gives(implementation):
    inputs = arguments(channels=18)
    expected = jax.jit(with_gradients("reference"))(*inputs)
    assert_same(jax.jit(with_gradients(implementation))(*inputs), expected)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_of_a_long_window():
    plan = pallas_tpu.plan((40, 17), points=2, queries=21)
    assert (plan.padded_lengths, plan.groups, plan.row_blocks) == ((40, 24), 2, 8)
    assert [plan.group(block) for block in range(8)] == [0] * 5 + [1] * 3
    tiled = pallas_gpu.plan((40, 17), points=2, queries=21, channels=18)
    assert tiled.tiles() == [3, 2]
    # Programs of a GPU run at the same time: a tile that wrote past its level would race with the next one.
    located = [tuple(map(int, pallas_gpu_kernels.locate(tiled, jnp.int32(tile)))) for tile in range(5)]
    assert located == [(0, 0, 40), (0, 16, 40), (0, 32, 40), (1, 40, 57), (1, 56, 57)]


def over_two_devices(axis_type=AxisType.Auto):
    mesh = jax.make_mesh((2,), ("data",), axis_types=(axis_type,), devices=jax.devices()[:2])
    return mesh, NamedSharding(mesh, P("data"))


@pytest.mark.parametrize(
    ("implementation", "mesh_is_set"),
    [("pallas_tpu_interpret", True), ("pallas_gpu_interpret", True), ("pallas_gpu_interpret", False)],
)
def test_devices_run_the_kernel_on_their_own_samples(implementation, mesh_is_set):
    inputs = arguments()
    expected = jax.jit(with_gradients("reference"))(*inputs)
    mesh, split = over_two_devices()
    with jax.set_mesh(mesh) if mesh_is_set else contextlib.nullcontext():
        compiled = jax.jit(with_gradients(implementation), in_shardings=split).lower(*inputs).compile()
        assert_same(compiled(*jax.device_put(inputs, split)), expected)
    text = compiled.as_text()
    assert "all-gather" not in text and "all-reduce" not in text and "all-to-all" not in text


@pytest.mark.parametrize("implementation", KERNELS)
def test_a_batch_that_does_not_divide_is_whole_everywhere(implementation):
    inputs = arguments(batch=3, heads=1)
    expected = jax.jit(with_gradients("reference"))(*inputs)
    mesh, _ = over_two_devices()
    with jax.set_mesh(mesh):
        assert_same(jax.jit(with_gradients(implementation))(*inputs), expected)


def test_lowers_over_chips_of_a_tpu():
    mesh, split = over_two_devices()
    inputs = arguments()
    run = jax.jit(with_gradients("pallas_tpu", platform="tpu"), in_shardings=split)
    with jax.set_mesh(mesh):
        lowered = run.trace(*inputs).lower(lowering_platforms=("tpu",))
    assert "tpu_custom_call" in lowered.as_text()


def test_lowers_over_gpus():
    """Before jax 0.11 with no mesh set, from then on with that of GPUs that are described."""
    described = jax.__version_info__ >= (0, 11)
    layout = {} if described else {"in_shardings": over_two_devices()[1]}
    run = jax.jit(with_gradients("pallas_gpu", platform="gpu"), **layout)
    inputs = jax.eval_shape(arguments)
    with lowering.described_gpu("gpu", devices=2):
        lowered = run.trace(*inputs).lower(lowering_platforms=("cuda",))
    assert ("triton" if described else "CustomSPMDPartitioning") in lowered.as_text()


def test_auto_takes_no_tpu_kernel_for_devices_it_cannot_know(monkeypatch):
    sizes = (2, 2, 21, 5, (40, 17), "float32", "tpu")
    assert "set the mesh" in why_refused(Problem(*sizes, devices=4))["pallas_tpu"]
    assert why_refused(Problem(*sizes))["pallas_tpu"] is None
    assert api._devices("tpu") == 1  # lowered here for a machine elsewhere
    monkeypatch.setattr(jax, "default_backend", lambda: "tpu")
    assert api._devices("tpu") == jax.device_count() == 2
    with jax.set_mesh(over_two_devices()[0]):
        assert api._devices("tpu") == 1


@pytest.mark.parametrize("implementation", KERNELS)
def test_mapped_over_streams(implementation):
    inputs = jax.tree.map(lambda part: part[:, None], arguments(batch=3))
    axes = (0, 0, 0, None)  # one cotangent for all
    inputs = (*inputs[:3], inputs[3][0])
    expected = jax.jit(jax.vmap(with_gradients("reference"), axes))(*inputs)
    assert_same(jax.jit(jax.vmap(with_gradients(implementation), axes))(*inputs), expected)


@pytest.mark.parametrize("platform", lowering.LOWERED_AS)
def test_lowers_mapped(platform):
    inputs = jax.tree.map(lambda part: part[:, None], arguments(batch=3))
    run = jax.jit(jax.vmap(with_gradients(f"pallas_{platform}", platform=platform)))
    with lowering.described_gpu(platform):
        run.trace(*inputs).lower(lowering_platforms=(lowering.LOWERED_AS[platform],))


@pytest.mark.parametrize("implementation", KERNELS)
def test_positions_keep_their_digits_far_from_the_first_row(implementation):
    """Row 3000.0001 of one level behind another: in one float32 the fraction would be gone."""
    lengths = (1000, 4000)
    value = jnp.arange(5000, dtype=jnp.float32)[None, :, None, None] % 1000 * jnp.ones((1, 1, 1, 4))
    location = jnp.asarray([0.2, 3000.6251 / 4000], jnp.float32).reshape(1, 1, 1, 2, 1)
    weights = jnp.asarray([0.0, 1.0]).reshape(location.shape)
    out = deformable_attention(value, location, weights, lengths, implementation=implementation)
    exact = float(np.float64(location[0, 0, 0, 1, 0]) * 4000 - 0.5) - 3000
    np.testing.assert_allclose(out[0, 0, 0], exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("implementation", KERNELS)
def test_a_number_that_is_none_is_not_hidden(implementation):
    value, locations, weights, _ = arguments()
    locations = locations.at[0, 3, 0, 0, 0].set(jnp.nan)
    out = deformable_attention(value, locations, weights, (40, 17), implementation=implementation)
    assert jnp.isnan(out[0, 3, 0]).all() and jnp.isfinite(out[1]).all()
