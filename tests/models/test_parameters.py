"""Numbers of parameters, level lengths, initial values, and the configuration's checks."""

import dataclasses
import functools
import json
import math

import jax
import numpy as np
import pytest
from flax import traverse_util

from lvc_jax.errors import InputError
from lvc_jax.models import ModelConfig, init_params, parameter_count
from lvc_jax.models.attention import initial_offsets
from lvc_jax.models.layers import group_count
from lvc_jax.models.pdvc_names import from_state_dict, sources
from tests.golden import recipe
from tests.models.conftest import SMALL


def shapes(config):
    return jax.eval_shape(functools.partial(init_params, config), jax.random.key(0))


@pytest.mark.parametrize(
    ("changes", "total"),
    [
        ({}, 20_175_249),
        ({"caption_head": "lstm_dsa"}, 22_307_762),
        ({"feature_dim": 500}, 20_150_673),
        ({"feature_dim": 3072}, 25_418_129),
    ],
)
def test_totals_of_the_reference(changes, total):
    assert parameter_count(shapes(ModelConfig(**changes))) == total


def test_totals_of_the_parts():
    params = shapes(ModelConfig())["params"]
    assert parameter_count([params["pyramid"], params["positions"]]) == 2_693_376
    assert parameter_count(params["encoder_0"]) == 1_184_000
    assert parameter_count(params["decoder_0"]) == 2_235_648
    assert parameter_count(params["heads"]) == 1_064_988
    assert parameter_count(params["caption"]) == 9_037_428


def test_without_counter_its_parameters_are_gone():
    with_counter, without = (shapes(dataclasses.replace(SMALL, use_counter=flag)) for flag in (True, False))
    assert parameter_count(with_counter) - parameter_count(without) == 2 * 17 * 4


@pytest.mark.parametrize(
    ("frames", "levels", "lengths"), [(100, 4, (100, 50, 25, 13)), (200, 4, (200, 100, 50, 25)), (7, 1, (7,))]
)
def test_level_lengths(frames, levels, lengths):
    assert ModelConfig(num_frames=frames, num_levels=levels).level_lengths == lengths


@pytest.fixture(scope="module")
def initial():
    return init_params(dataclasses.replace(SMALL, caption_head="lstm_dsa"), jax.random.key(3))["params"]


def test_offsets_look_around_a_circle_seen_from_the_side():
    bias = initial_offsets(8, 4, 4).reshape(8, 4, 4)
    unit = np.array([1, 1, 0, -1, -1, -1, 0, 1])
    np.testing.assert_allclose(bias, unit[:, None, None] * np.ones((1, 4, 1)) * np.arange(1, 5), atol=1e-6)


def test_initial_attention(initial):
    attention = initial["encoder_0"]["memory"]["attention"]
    np.testing.assert_array_equal(attention["offsets"]["bias"], initial_offsets(2, 3, 2))
    for part in (attention["offsets"]["kernel"], attention["weights"]["kernel"], attention["weights"]["bias"]):
        assert not np.asarray(part).any()
    caption = initial["caption"]["attention"]
    np.testing.assert_array_equal(caption["offsets_bias"], [-0.5, 0.5] * 3)


def test_heads_start_as_equal_copies(initial):
    heads = initial["heads"]
    for name, values in heads.items():
        values = np.asarray(values)
        if name == "box_2_bias":
            np.testing.assert_array_equal(values, [[0, -2], [0, 0]])
        else:
            np.testing.assert_array_equal(values[0], values[1], err_msg=name)
    np.testing.assert_allclose(heads["class_bias"], -4.595, atol=1e-3)
    assert not np.asarray(heads["box_2_kernel"]).any()


@pytest.mark.parametrize(
    ("path", "bound"),
    [
        ("caption/embedding", 0.1),
        ("caption/logit_kernel", 0.1),
        ("caption/word_kernel", 12**-0.5),
        ("caption/recurrent_kernel", 12**-0.5),
        ("heads/box_0_kernel", 16**-0.5),
        ("positions/duration/kernel", 8**-0.5),
        ("pyramid/conv_1/kernel", math.sqrt(6 / (3 * (6 + 16)))),
        ("decoder_0/self_attention/in_kernel", math.sqrt(6 / (16 + 48))),
        ("encoder_0/feed_forward/expand/kernel", math.sqrt(6 / (16 + 8))),
        ("encoder_0/feed_forward/expand/bias", 16**-0.5),
    ],
)
def test_uniform_initial_values(initial, path, bound):
    values = np.asarray(traverse_util.flatten_dict(initial, sep="/")[path])
    assert np.abs(values).max() <= bound
    assert np.abs(values).max() > 0.7 * bound


def test_normal_initial_values():
    params = init_params(dataclasses.replace(SMALL, num_queries=60), jax.random.key(0))["params"]
    assert abs(float(params["queries"].std()) - 1) < 0.1
    assert abs(float(params["level_embedding"].std()) - 1) < 0.35


def test_groups_divide_the_channels():
    assert [group_count(size) for size in (512, 48, 36, 20)] == [32, 24, 18, 20]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_dim": 30}, "multiple of 4"),
        ({"hidden_dim": 64, "num_heads": 5}, "num_heads"),
        ({"num_points": 0}, "model.num_points=0"),
        ({"padding": "reflect"}, "choose one of zeros, border"),
        ({"dropout": 1.0}, r"model.dropout=1.0: must be in \[0, 1\)"),
        ({"num_frames": 3}, "too short for 4 levels"),
    ],
)
def test_bad_configurations_are_named(changes, message):
    with pytest.raises(InputError, match=message):
        ModelConfig(**changes)


@pytest.mark.parametrize("kind", ["light", "standard"])
def test_names_cover_the_reference(shared, kind):
    head = "lstm" if kind == "light" else "lstm_dsa"
    config = ModelConfig(vocab_size=50, caption_head=head)
    manifest = shared / "golden" / "pdvc" / f"manifest_pdvc_{kind}_tsp.json"
    entries = json.loads(manifest.read_text(encoding="utf-8"))["state_dict"]
    state = {entry["name"]: np.zeros(entry["shape"], np.float32) for entry in entries}
    found = traverse_util.flatten_dict(from_state_dict(state, config))
    expected = traverse_util.flatten_dict(shapes(config))
    assert {path: leaf.shape for path, leaf in found.items()} == {path: leaf.shape for path, leaf in expected.items()}
    used = {name for source in sources(config).values() for name in source.names}
    assert used == {recipe.canonical(entry["name"]) for entry in entries}


def test_missing_and_impossible_reference_parameters():
    with pytest.raises(InputError, match=r"duration_embed_layer.weight is missing"):
        from_state_dict({}, SMALL)
    with pytest.raises(InputError, match="only the deformable transformer"):
        sources(dataclasses.replace(SMALL, transformer="plain"))
