"""R(2+1)D against outputs of the official networks, on weights that are made from their names."""

import functools
import json
import zlib

import jax
import numpy as np
import pytest

from lvc_jax.backbones.r2plus1d import BLOCKS, R2Plus1D, R2Plus1DConfig
from lvc_jax.backbones.r2plus1d_names import from_state_dict, ignorable, names, to_state_dict
from lvc_jax.backbones.tsp import pixel_features
from tests.golden import recipe

NETWORKS = {34: ("tsp_r2plus1d_34.json", "manifest_tsp_r2plus1d_34.json"), 18: ("r2plus1d_18.json", None)}
CASES = [
    (34, "small"),
    pytest.param(34, "full", marks=pytest.mark.slow),
    (34, "e2e"),
    pytest.param(18, "small", marks=pytest.mark.slow),
    pytest.param(18, "full", marks=pytest.mark.slow),
    pytest.param(18, "e2e", marks=pytest.mark.slow),
]


def weight(entry):
    """Of a video network; its manifest has no shared entries."""
    name, shape = entry["name"], tuple(entry["shape"])
    value = recipe.raw(name, shape)
    if len(shape) == 5:
        return value * np.float32((1 / np.prod(shape[1:])) ** 0.5)
    value = value * np.float32(0.05)
    if name.endswith("num_batches_tracked"):
        return np.int64(0)
    if name.endswith("running_var"):
        return np.abs(value) + np.float32(0.5)
    return np.float32(1) + value if entry["norm"] and name.endswith("weight") else value


class Network:
    """Stored outputs of one depth, and our network with the same weights."""

    def __init__(self, folder, depth):
        path = folder / f"{NETWORKS[depth][0]}"
        if not path.exists():
            pytest.skip(f"{path.name} is not among the reference outputs")
        self.stored = json.loads(path.read_text(encoding="utf-8"))
        manifest = folder / (NETWORKS[depth][1] or "manifest_r2plus1d_18.json")
        entries = json.loads(manifest.read_text(encoding="utf-8"))["state_dict"]
        state = {entry["name"]: weight(entry) for entry in entries}
        self.heads = {name: value for name, value in state.items() if name.startswith("fc")}
        self.state = {name.removeprefix("features."): value for name, value in state.items() if name not in self.heads}
        self.config = R2Plus1DConfig(depth, self.stored.get("batchnorm_eps", 1e-5))
        self.variables = from_state_dict(self.state, self.config)
        self.case = {case["name"]: case for case in self.stored["cases"]}

    @functools.cached_property
    def forward(self):
        model = R2Plus1D(self.config)
        return jax.jit(lambda v, x: model.apply(v, x, capture_intermediates=True, mutable="intermediates"))


@functools.lru_cache(maxsize=1)
def network(folder, depth):
    return Network(folder, depth)


def clips(case):
    return recipe.raw(case["tag"], tuple(case["input_shape"])).transpose(0, 2, 3, 4, 1)


def check(value, stored, largest):
    np.testing.assert_allclose(value, stored, rtol=0, atol=1e-4 * largest)


@pytest.mark.parametrize(("depth", "name"), CASES)
def test_forward(shared, depth, name):
    net = network(shared / "golden" / "pdvc", depth)
    if name not in net.case:
        pytest.skip(f"no case {name!r} among the reference outputs")
    case = net.case[name]
    if name == "e2e":
        tag, shape = "video:e2e", (16, 120, 160, 3)
        frames = np.random.default_rng(zlib.crc32(tag.encode())).integers(0, 256, shape, dtype=np.uint8)
        features = np.asarray(pixel_features(net.config, net.variables, frames[None]))
        inner = None
    else:
        features, inner = net.forward(net.variables, clips(case))
        features, inner = np.asarray(features), inner["intermediates"]
    largest = np.abs(case["feature"]).max()
    assert largest > 1
    check(features, case["feature"], largest)
    if inner:
        check_stages(inner, case["stages"], depth)
    check_heads(net, case, features)


def check_stages(inner, stages, depth):
    """Mean and standard deviation of the stem, of every block and every stage, and their first and last numbers."""
    seen = {name: np.asarray(value["__call__"][0]) for name, value in inner.items() if name != "__call__"}
    seen["stem"] = np.maximum(seen["stem"], 0)
    for name, (mean, std) in stages["blocks"].items():
        value = seen[name.replace(".", "_")]
        check([value.mean(), value.std()], [mean, std], max(mean, std))
    assert len(stages["blocks"]) == sum(BLOCKS[depth])
    last = {f"layer{stage}": f"layer{stage}_{count - 1}" for stage, count in enumerate(BLOCKS[depth], start=1)}
    for name in ("stem", *last):
        value, stored = seen[last.get(name, name)].transpose(0, 4, 1, 2, 3), stages[name]
        assert list(value.shape) == stored["shape"]
        check([value.mean(), value.std()], [stored["mean"], stored["std"]], stored["std"])
        check([value.min(), value.max()], [stored["min"], stored["max"]], stored["max"])
        check(value.ravel()[:8], stored["first8"], stored["max"])
        check(value.ravel()[-8:], stored["last8"], stored["max"])


def check_heads(net, case, features):
    """The classifiers, which are no part of the network here."""
    heads, inputs = net.heads, features
    if "fc1_logits_first16" in case:
        check_logits(features @ heads["fc1.weight"].T + heads["fc1.bias"], case["fc1_logits_first16"])
        video = np.repeat(recipe.raw("features:tsp_gvf", (1, 512)), len(features), axis=0)
        inputs = np.concatenate([features, video], axis=1)
        check_logits(inputs @ heads["fc2.weight"].T + heads["fc2.bias"], case["fc2_logits"])
    for key in (key for key in case if key.startswith(("fc_logits", "logits"))):
        check_logits(features @ heads["fc.weight"].T + heads["fc.bias"], case[key])


def check_logits(logits, stored):
    stored = np.asarray(stored)
    check(logits[:, : stored.shape[1]], stored, np.abs(stored).max())


@pytest.mark.parametrize("depth", [18, 34])
def test_names_and_shapes_are_those_of_the_manifest(shared, depth):
    manifest = shared / "golden" / "pdvc" / f"manifest_{'r2plus1d_18' if depth == 18 else 'tsp_r2plus1d_34'}.json"
    entries = json.loads(manifest.read_text(encoding="utf-8"))["state_dict"]
    listed = {entry["name"].removeprefix("features."): tuple(entry["shape"]) for entry in entries}
    listed = {name: shape for name, shape in listed.items() if not name.startswith("fc")}
    config = R2Plus1DConfig(depth)
    assert set(listed) == set(names(config)) | ignorable(config)
    assert names(config) == {name: shape for name, shape in listed.items() if name not in ignorable(config)}


def test_the_way_back_is_lossless(shared):
    net = network(shared / "golden" / "pdvc", 34)
    back = to_state_dict(net.variables, net.config)
    assert set(net.state) - set(back) == ignorable(net.config)
    for name, value in back.items():
        np.testing.assert_array_equal(value, net.state[name], err_msg=name)
