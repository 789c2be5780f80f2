"""R(2+1)D weights of TSP and torchvision, in a narrow network of the same names."""

import collections
import json
import zlib

import numpy as np
import pytest

from lvc_jax.backbones.r2plus1d import R2Plus1DConfig
from lvc_jax.backbones.r2plus1d_names import ignorable, names, to_state_dict
from lvc_jax.backbones.weights import load_weights
from lvc_jax.conversion import torch_file, torch_writer, tsp
from lvc_jax.errors import InputError

NARROW = {depth: R2Plus1DConfig(depth, eps, width=4) for depth, eps in ((18, 1e-5), (34, 1e-3))}


def state_dict(config, prefix=""):
    state = collections.OrderedDict()
    for name, shape in names(config).items():
        random = np.random.default_rng(zlib.crc32(name.encode()))
        state[f"{prefix}{name}"] = random.standard_normal(shape).astype(np.float32)
        if name.endswith("running_var"):
            state[f"{prefix}{name.replace('running_var', 'num_batches_tracked')}"] = np.array(7, np.int64)
    return state


def classifiers(*heads):
    return {f"{head}.{part}": np.ones(3, np.float32) for head in heads for part in ("weight", "bias")}


@pytest.mark.parametrize(
    ("depth", "prefix", "heads", "key"),
    [(34, "features.", ("fc1", "fc2"), "model"), (18, "features.", ("fc1", "fc2"), "model"), (18, "", ("fc",), None)],
)
def test_a_checkpoint_becomes_a_backbone_folder_and_comes_back(tmp_path, depth, prefix, heads, key):
    state = state_dict(NARROW[depth], prefix)
    content = state | classifiers(*heads)
    training = {"args": collections.OrderedDict(), "epoch": 3}
    torch_writer.write(tmp_path / "in.pth", {key: content, **training} if key else content)
    config, unused = tsp.convert(tmp_path / "in.pth", tmp_path / "out")
    assert config == NARROW[depth]
    assert unused == list(classifiers(*heads))
    config, variables = load_weights(tmp_path / "out")
    assert config == NARROW[depth]
    for name, array in to_state_dict(variables, config).items():
        np.testing.assert_array_equal(array, state[f"{prefix}{name}"])
    tsp.export(tmp_path / "out", tmp_path / "back.pth")
    back = torch_file.read(tmp_path / "back.pth")
    back = back["model"] if depth == 34 else back
    style = "features." if depth == 34 else ""
    assert set(back) == {f"{style}{name}" for name in (*names(config), *ignorable(config))}
    for name in names(config):
        assert back[f"{style}{name}"].array().tobytes() == state[f"{prefix}{name}"].tobytes()


def test_faults_are_all_named(tmp_path):
    state = state_dict(NARROW[34], "features.")
    state["features.stem.9.weight"] = state.pop("features.stem.1.bias")
    state["features.layer1.0.conv1.1.weight"] = np.ones(5, np.float32)
    torch_writer.write(tmp_path / "in.pth", {"model": state})
    with pytest.raises(InputError) as error:
        tsp.convert(tmp_path / "in.pth", tmp_path / "out")
    said = str(error.value)
    assert "in.pth: not the R(2+1)D-34 network of TSP: missing stem.1.bias; unexpected stem.9.weight;" in said
    assert "wrongly shaped layer1.0.conv1.1.weight [5] for [4];" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "depth"), [("tsp_r2plus1d_34", 34), ("r2plus1d_18", 18)])
def test_the_official_names_and_shapes(shared, name, depth):
    manifest = json.loads((shared / "golden" / "pdvc" / f"manifest_{name}.json").read_text())["state_dict"]
    listed = {entry["name"].removeprefix("features."): tuple(entry["shape"]) for entry in manifest}
    config = R2Plus1DConfig(depth)
    expected = {**names(config), **dict.fromkeys(ignorable(config), ())}
    assert {name: shape for name, shape in listed.items() if not name.startswith("fc")} == expected
