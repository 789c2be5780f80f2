"""R(2+1)D against torchvision's classes, where they are installed."""

import numpy as np
import pytest

from benchmarks.backbones import torch_network, weights
from lvc_jax.backbones.r2plus1d import R2Plus1DConfig
from lvc_jax.backbones.r2plus1d_names import from_state_dict, to_state_dict
from lvc_jax.backbones.tsp import clip_features

torch = pytest.importorskip("torch", exc_type=ImportError)
pytest.importorskip("torchvision", exc_type=ImportError)


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "eps"), [(18, 1e-5), (34, 1e-3)])
def test_features(depth, eps):
    state, net = weights(R2Plus1DConfig(depth)), torch_network(depth)
    back = to_state_dict(from_state_dict(state, R2Plus1DConfig(depth)), R2Plus1DConfig(depth))
    found = net.load_state_dict({name: torch.from_numpy(value) for name, value in back.items()}, strict=False)
    assert not found.unexpected_keys
    assert all(name.endswith("num_batches_tracked") for name in found.missing_keys)
    clips = np.random.default_rng(0).standard_normal((2, 8, 56, 56, 3)).astype(np.float32)
    with torch.inference_mode():
        wanted = net(torch.from_numpy(clips).permute(0, 4, 1, 2, 3)).numpy()
    config = R2Plus1DConfig(depth, eps)
    features = np.asarray(clip_features(config, from_state_dict(state, config), clips))
    np.testing.assert_allclose(features, wanted, atol=1e-5 * np.abs(wanted).max())
    if depth == 18:
        from torchvision.models.video import r2plus1d_18

        shapes = {name: tuple(value.shape) for name, value in r2plus1d_18(weights=None).state_dict().items()}
        assert all(shapes[name] == value.shape for name, value in back.items())
