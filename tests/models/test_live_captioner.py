"""Shapes, batch independence, masks, dropout and switches of the whole model."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lvc_jax.errors import InputError
from tests.models.conftest import VARIANTS, small_model


def test_shapes(variant):
    config = variant.config
    outputs = variant.forward(variant.variables, *variant.inputs())
    rows = sum(config.level_lengths)
    assert outputs["class_logits"].shape == (2, 3, 4)
    assert outputs["boxes"].shape == (2, 3, 4, 2)
    assert outputs["hidden"].shape == (2, 3, 4, 16)
    assert outputs["memory"].shape == (3, rows, 16)
    second = 2 if config.box_refine else 1
    assert [reference.shape for reference in outputs["references"]] == [(3, 4, 1), (3, 4, second)]
    if config.use_counter:
        assert outputs["count_logits"].shape == (2, 3, 4)
    else:
        assert outputs["count_logits"] is None
    boxes = np.asarray(outputs["boxes"])
    assert ((boxes > 0) & (boxes < 1)).all()
    tokens, log_probs = variant.decode(variant.variables, *variant.caption_inputs(outputs))
    assert tokens.shape == log_probs.shape == (3, 4, config.max_caption_len)
    assert tokens.dtype == jnp.int32


def test_each_video_of_a_batch_gets_what_it_gets_alone(variant):
    features, duration = variant.inputs()
    together = variant.forward(variant.variables, features, duration)
    tokens, log_probs = variant.decode(variant.variables, *variant.caption_inputs(together))
    for video in range(3):
        one = slice(video, video + 1)
        alone = variant.forward(variant.variables, features[one], duration[one])
        for name in ("class_logits", "boxes", "hidden"):
            np.testing.assert_allclose(together[name][:, one], alone[name], atol=2e-5)
        np.testing.assert_allclose(together["memory"][one], alone["memory"], atol=2e-5)
        own_tokens, own_log_probs = variant.decode(variant.variables, *variant.caption_inputs(alone))
        np.testing.assert_array_equal(tokens[one], own_tokens)
        np.testing.assert_allclose(log_probs[one], own_log_probs, atol=1e-4)


@pytest.mark.parametrize("name", ["paper", "lstm_dsa", "plain"])
def test_vmap_over_streams_equals_a_batch(name):
    variant = small_model(**VARIANTS[name])
    features, duration = variant.inputs()

    def stream(features, duration):
        outputs = variant.model.apply(variant.variables, features[None], duration[None])
        tokens, _ = variant.model.apply(variant.variables, *variant.caption_inputs(outputs), method="decode")
        return tokens[0], outputs["boxes"][:, 0]

    tokens, boxes = jax.jit(jax.vmap(stream))(features, duration)
    outputs = variant.forward(variant.variables, features, duration)
    np.testing.assert_allclose(jnp.moveaxis(boxes, 1, 0), outputs["boxes"], atol=2e-5)
    expected, _ = variant.decode(variant.variables, *variant.caption_inputs(outputs))
    np.testing.assert_array_equal(tokens, expected)


@pytest.mark.parametrize("name", ["paper", "lstm_dsa", "plain"])
def test_gradients_reach_every_parameter_that_takes_part(name):
    variant = small_model(**VARIANTS[name], encoder_layers=1, num_levels=2, num_points=1)
    features, duration = variant.inputs()
    tokens = np.array([[[0, 3, 5, 0]] * 4] * 3)

    def loss(variables):
        outputs = variant.model.apply(variables, features, duration)
        words = variant.model.apply(
            variables, *variant.caption_inputs(outputs)[:1], tokens, *rest(outputs), method="token_log_probs"
        )
        parts = [outputs["class_logits"], outputs["boxes"], outputs["count_logits"], words]
        return sum(jnp.sum(jnp.tanh(part)) for part in parts if part is not None)

    def rest(outputs):
        return variant.caption_inputs(outputs)[1:]

    gradients = jax.jit(jax.grad(loss))(variant.variables)
    flat = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(gradients)}
    assert all(np.isfinite(leaf).all() for leaf in flat.values())
    still = {name for name, leaf in flat.items() if not np.asarray(leaf).any()}
    # Proposals have a test of their own.
    unused = ("['proposal_", "['attention']['weights_", "['attention']['output_", "['score_bias']")
    assert all(any(part in name for part in unused) for name in still), still


def test_border_and_zeros_differ():
    features, duration = small_model().inputs()
    zeros, border = small_model(), small_model(padding="border")
    outputs = [model.forward(zeros.variables, features, duration)["memory"] for model in (zeros, border)]
    assert np.abs(np.asarray(outputs[0] - outputs[1])).max() > 1e-3


def test_dense_and_reference_attention_agree(small):
    features, duration = small.inputs()
    other = small_model(attention="reference")
    expected = other.forward(small.variables, features, duration)
    outputs = small.forward(small.variables, features, duration)
    np.testing.assert_allclose(outputs["hidden"], expected["hidden"], atol=2e-5)


def test_masked_proposals_influence_nothing(small):
    features, duration = small.inputs(2)
    proposals = np.array([[[0.2, 0.1], [0.6, 0.5], [0.4, 0.3]]] * 2, np.float32)
    mask = np.array([[True, True, False], [True, False, False]])
    forward = jax.jit(functools.partial(small.model.apply, small.variables, features, duration))
    outputs = forward(proposals=proposals, proposal_mask=mask)
    changed = np.where(mask[..., None], proposals, 0.9)
    other = forward(proposals=changed, proposal_mask=mask)
    np.testing.assert_array_equal(outputs["count_logits"], other["count_logits"])
    hidden, other_hidden = (np.asarray(result["hidden"])[:, mask] for result in (outputs, other))
    np.testing.assert_array_equal(hidden, other_hidden)
    alone = forward(proposals=proposals[:, :1])
    np.testing.assert_allclose(outputs["hidden"][:, 1, :1], alone["hidden"][:, 1], atol=2e-5)
    np.testing.assert_allclose(outputs["count_logits"][:, 1], alone["count_logits"][:, 1], atol=2e-5)


def test_proposal_parameters_get_gradients():
    small = small_model(encoder_layers=1, decoder_layers=1, num_levels=1)
    features, duration = small.inputs(1)
    proposals = np.array([[[0.2, 0.1], [0.6, 0.5]]], np.float32)

    def loss(variables):
        outputs = small.model.apply(variables, features, duration, proposals=proposals)
        return jnp.sum(jnp.tanh(outputs["hidden"]))

    gradients = jax.jit(jax.grad(loss))(small.variables)["params"]
    for name in ("proposal_layer", "proposal_norm"):
        assert all(np.asarray(leaf).any() for leaf in jax.tree.leaves(gradients[name]))
    assert not np.asarray(gradients["queries"]).any()


def test_no_valid_proposal_stays_finite(small):
    features, duration = small.inputs(1)
    proposals, mask = np.full((1, 2, 2), 0.5, np.float32), np.zeros((1, 2), bool)
    outputs = small.forward(small.variables, features, duration, proposals=proposals, proposal_mask=mask)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(outputs))


def test_windows_under_a_second_share_their_duration_code(small):
    features, _ = small.inputs(1)
    run = [small.forward(small.variables, features, np.array([seconds], np.float32)) for seconds in (0.2, 0.9, 1.0)]
    np.testing.assert_array_equal(run[0]["hidden"], run[1]["hidden"])
    assert np.abs(np.asarray(run[0]["hidden"] - run[2]["hidden"])).max() > 1e-4


def test_dropout_follows_its_key(small):
    features, duration = small.inputs(1)

    @jax.jit
    def run(key):
        return small.model.apply(small.variables, features, duration, deterministic=False, rngs={"dropout": key})

    first, again, other = (run(jax.random.key(seed))["hidden"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(np.asarray(first - other)).max() > 1e-3


def test_bfloat16_stays_near_float32(small):
    features, duration = small.inputs()
    half = small_model(dtype="bfloat16")
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(half.variables))
    outputs, expected = (model.forward(small.variables, features, duration) for model in (half, small))
    assert outputs["hidden"].dtype == jnp.bfloat16
    assert outputs["boxes"].dtype == outputs["class_logits"].dtype == jnp.float32
    np.testing.assert_allclose(outputs["boxes"], expected["boxes"], atol=0.08)
    tokens, _ = half.decode(small.variables, *half.caption_inputs(outputs))
    assert tokens.shape == (3, 4, 7)


def test_wrong_features_are_refused(small):
    features, duration = small.inputs()
    with pytest.raises(InputError, match=r"features \(3, 12, 5\): the model takes \[B, 12, 6\]"):
        small.forward(small.variables, features[..., :5], duration)
