"""R(2+1)D of a few channels: against a plain loop, its names, its settings."""

import dataclasses

import jax
import numpy as np
import pytest

from lvc_jax.backbones.r2plus1d import R2Plus1D, R2Plus1DConfig, block_shapes, spatial_convolution, temporal_convolution
from lvc_jax.backbones.r2plus1d_names import from_state_dict, ignorable, names, to_state_dict
from lvc_jax.errors import InputError
from tests.backbones import tiny


def slow_convolution(x, kernel, strides):
    """x [T, H, W, C], kernel [t, h, w, C, M]: the definition, with zeros around, in float64."""
    pads = [size // 2 for size in kernel.shape[:3]]
    padded = np.pad(x.astype(np.float64), [*[(pad, pad) for pad in pads], (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[:3], axis=(0, 1, 2))
    windows = windows[:: strides[0], :: strides[1], :: strides[1]]
    return np.einsum("thwcabd,abdcm->thwm", windows, kernel.astype(np.float64))


@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions(stride):
    random = np.random.default_rng(stride)
    x = random.standard_normal((2, 5, 7, 6, 3)).astype(np.float32)
    spatial, temporal = random.standard_normal((3, 3, 3, 4)), random.standard_normal((3, 3, 4))
    spatial, temporal = spatial.astype(np.float32), temporal.astype(np.float32)
    for ours, kernel, strides in (
        (spatial_convolution(x, spatial, stride), spatial[None], (1, stride)),
        (temporal_convolution(x, temporal, stride), temporal[:, None, None], (stride, 1)),
    ):
        for clip, out in zip(x, ours, strict=True):
            np.testing.assert_allclose(out, slow_convolution(clip, kernel, strides), atol=1e-5)


def slow_network(state, config, x):
    """Depth 18 or 34 by the names of torchvision, one clip [T, H, W, 3]."""

    def conv(name, x, strides=(1, 1)):
        return slow_convolution(x, state[f"{name}.weight"].transpose(2, 3, 4, 1, 0), strides)

    def norm(name, x):
        scale = state[f"{name}.weight"] / np.sqrt(
            state[f"{name}.running_var"].astype(np.float64) + config.batch_norm_eps
        )
        return (x - state[f"{name}.running_mean"]) * scale + state[f"{name}.bias"]

    def relu(x):
        return np.maximum(x, 0)

    x = relu(norm("stem.1", conv("stem.0", x, (1, 2))))
    x = relu(norm("stem.4", conv("stem.3", x)))
    for shape in block_shapes(config):
        block, s = f"layer{shape.stage}.{shape.index}", shape.stride
        y = relu(norm(f"{block}.conv1.0.1", conv(f"{block}.conv1.0.0", x, (1, s))))
        y = relu(norm(f"{block}.conv1.1", conv(f"{block}.conv1.0.3", y, (s, 1))))
        y = relu(norm(f"{block}.conv2.0.1", conv(f"{block}.conv2.0.0", y)))
        y = norm(f"{block}.conv2.1", conv(f"{block}.conv2.0.3", y))
        if f"{block}.downsample.0.weight" in state:
            x = norm(f"{block}.downsample.1", conv(f"{block}.downsample.0", x, (s, s)))
        x = relu(x + y)
    return x.mean(axis=(0, 1, 2))


@pytest.fixture(scope="module")
def clips():
    return np.random.default_rng(0).standard_normal((2, 8, 16, 16, 3)).astype(np.float32)


@pytest.mark.parametrize("depth", [18, 34])
def test_whole_network_against_a_plain_loop(depth, clips):
    config = tiny.config(depth, batch_norm_eps=0.01)
    features = np.asarray(jax.jit(R2Plus1D(config).apply)(tiny.variables(depth), clips))
    assert features.shape == (2, config.dim) and features.dtype == np.float32
    for clip, feature in zip(clips, features, strict=True):
        wanted = slow_network(tiny.state_dict(depth), config, clip)
        np.testing.assert_allclose(feature, wanted, atol=1e-4 * wanted.max())


def test_bfloat16_stays_near(clips):
    exact, rough = (
        jax.jit(R2Plus1D(tiny.config(18, dtype=dtype)).apply)(tiny.variables(18), clips)
        for dtype in ("float32", "bfloat16")
    )
    assert rough.dtype == np.float32
    assert 0 < np.abs(rough - exact).max() < 0.05 * np.abs(exact).max()


def test_init_makes_the_variables_that_names_describes(clips):
    for depth in (18, 34):
        config = tiny.config(depth)
        shapes = jax.eval_shape(R2Plus1D(config).init, jax.random.key(0), clips)
        assert jax.tree.map(lambda a: a.shape, shapes) == jax.tree.map(lambda a: a.shape, tiny.variables(depth))


def test_names_both_ways():
    state, config = tiny.state_dict(34), tiny.config(34)
    extra = dict.fromkeys(ignorable(config), np.int64(3))
    back = to_state_dict(from_state_dict({**state, **extra}, config), config)
    assert list(back) == list(names(config))
    for name in back:
        np.testing.assert_array_equal(back[name], state[name])


def test_all_faults_of_a_state_dict_in_one_message():
    state = dict(tiny.state_dict(18))
    del state["stem.0.weight"]
    state["layer9"] = state["stem.4.bias"]
    state["stem.1.bias"] = state["stem.1.bias"][:-1]
    state["stem.4.weight"] = state["stem.4.weight"].astype(np.int32)
    state["layer1.0.conv1.1.bias"] = np.full_like(state["layer1.0.conv1.1.bias"], np.nan)
    with pytest.raises(InputError) as caught:
        from_state_dict(state, tiny.config(18))
    text = str(caught.value)
    for part in ("stem.0.weight is missing", "layer9 is unexpected", "stem.1.bias has shape", "not floating point"):
        assert part in text
    assert "layer1.0.conv1.1.bias holds numbers that are not finite" in text and "\n" not in text


def test_wrong_depth_is_named():
    with pytest.raises(InputError, match=r"R\(2\+1\)D-34 weights: .*missing.* more"):
        from_state_dict(tiny.state_dict(18), tiny.config(34))
    with pytest.raises(InputError, match="is missing"):
        to_state_dict(tiny.variables(18), tiny.config(34))
    with pytest.raises(InputError, match="gives shape"):
        to_state_dict(tiny.variables(18), tiny.config(18, width=8))


@pytest.mark.parametrize("bad", [{"depth": 50}, {"dtype": "int8"}, {"batch_norm_eps": 0.0}, {"width": 1}])
def test_settings(bad):
    with pytest.raises(InputError):
        dataclasses.replace(R2Plus1DConfig(18), **bad)
