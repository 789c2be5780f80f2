"""Teacher forcing against a numpy LSTM, decoding against teacher forcing, and when decoding stops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lvc_jax.models import prepare
from lvc_jax.models.caption_head import most_probable
from lvc_jax.models.recurrence import lstm, lstm_step
from tests.models.conftest import small_model

HEADS = ("lstm", "lstm_dsa")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numpy_lstm(inputs, recurrent):
    steps, rows, _ = inputs.shape
    hidden = cell = np.zeros((rows, recurrent.shape[0]))
    states = []
    for step in range(steps):
        i, f, g, o = np.split(inputs[step] + hidden @ recurrent, 4, axis=-1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        states.append(hidden)
    return np.stack(states)


def test_lstm_against_numpy_and_its_gradient_against_autodiff():
    rng = np.random.default_rng(0)
    inputs, recurrent = rng.standard_normal((5, 3, 16)), rng.standard_normal((4, 16))
    inputs, recurrent = inputs.astype(np.float32), recurrent.astype(np.float32)
    np.testing.assert_allclose(lstm(inputs, recurrent), numpy_lstm(inputs, recurrent), atol=1e-5)

    def plain(inputs, recurrent):
        hidden = cell = jnp.zeros((3, 4))
        states = []
        for step in inputs:
            hidden, cell = lstm_step(step + hidden @ recurrent, cell)
            states.append(hidden)
        return jnp.stack(states)

    gradients = [
        jax.grad(lambda *args, run=run: jnp.sum(jnp.sin(3 * run(*args))), argnums=(0, 1))(inputs, recurrent)
        for run in (lstm, plain)
    ]
    for got, want in zip(*gradients, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)


@pytest.fixture(scope="module", params=HEADS)
def head(request):
    model = small_model(caption_head=request.param)
    outputs = model.forward(model.variables, *model.inputs())
    return model, model.caption_inputs(outputs)


def test_log_probs_of_the_light_head_against_numpy():
    model = small_model()
    outputs = model.forward(model.variables, *model.inputs())
    hidden, reference, memory = model.caption_inputs(outputs)
    tokens = np.array([[[0, 4, 2, 0, 0]] * 4, [[0, 1, 0, 0, 0]] * 4, [[0, 9, 11, 11, 0]] * 4])
    found = model.token_log_probs(model.variables, hidden, tokens, reference, memory)
    weights = {name: np.asarray(value, np.float64) for name, value in model.variables["params"]["caption"].items()}
    words = weights["embedding"][tokens[..., :-1]] @ weights["word_kernel"]
    event = np.asarray(hidden, np.float64) / (1 + 1e-5) @ weights["event_kernel"]
    gates = (words + event[:, :, None]).reshape(12, 4, -1).transpose(1, 0, 2)
    states = numpy_lstm(gates, weights["recurrent_kernel"]).transpose(1, 0, 2).reshape(3, 4, 4, -1)
    logits = states @ weights["logit_kernel"] + weights["logit_bias"]
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    expected = np.take_along_axis(log_probs, tokens[..., 1:, None], axis=-1)[..., 0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_greedy_words_have_the_probability_that_teacher_forcing_gives_them(head):
    model, inputs = head
    tokens, log_probs = model.decode(model.variables, *inputs)
    tokens, log_probs = np.asarray(tokens), np.asarray(log_probs)
    forced = np.concatenate([np.zeros_like(tokens[..., :1]), tokens], axis=-1)
    expected = np.asarray(model.token_log_probs(model.variables, inputs[0], forced, *inputs[1:]))
    ended = np.cumsum(tokens == 0, axis=-1) - (tokens == 0) > 0
    np.testing.assert_allclose(log_probs, np.where(ended, 0, expected), atol=1e-5)
    assert not tokens[ended].any()
    assert (tokens[..., 0] > 0).any()


def test_greedy_words_are_the_most_probable(head):
    model, inputs = head
    tokens = np.asarray(model.decode(model.variables, *inputs)[0])
    first = np.stack([np.full((3, 4, 2), word) * [0, 1] for word in range(model.config.vocab_size + 1)])
    scores = [model.token_log_probs(model.variables, inputs[0], pair, *inputs[1:]) for pair in first]
    np.testing.assert_array_equal(np.argmax(scores, axis=0)[..., 0], tokens[..., 0])


def test_inactive_rows_are_silent_and_leave_the_others_alone(head):
    model, inputs = head
    active = np.array([[True, False, True, False], [False] * 4, [True] * 4])
    tokens, log_probs = model.decode(model.variables, *inputs, active)
    everything, all_log_probs = model.decode(model.variables, *inputs)
    np.testing.assert_array_equal(tokens, np.where(active[..., None], everything, 0))
    np.testing.assert_allclose(log_probs, np.where(active[..., None], all_log_probs, 0), atol=1e-6)


def with_end_bias(model, value):
    """Variables whose end token has another logit."""
    params = dict(model.variables["params"])
    caption = dict(params["caption"])
    caption["logit_bias"] = caption["logit_bias"].at[0].set(value)
    return {"params": {**params, "caption": caption}}


def test_certain_end_gives_empty_captions_and_no_end_gives_full_ones(head):
    model, inputs = head
    tokens, log_probs = model.decode(with_end_bias(model, 50.0), *inputs)
    assert not np.asarray(tokens).any()
    np.testing.assert_allclose(log_probs, 0, atol=1e-5)
    tokens, _ = model.decode(with_end_bias(model, -50.0), *inputs)
    assert np.asarray(tokens).all()


def test_caption_dropout_changes_training_only(head):
    model, inputs = head
    tokens = np.array([[[0, 4, 2, 0]] * 4] * 3)

    def run(seed):
        return model.model.apply(
            model.variables,
            inputs[0],
            tokens,
            *inputs[1:],
            deterministic=False,
            rngs={"dropout": jax.random.key(seed)},
            method="token_log_probs",
        )

    assert np.abs(np.asarray(run(0) - run(1))).max() > 1e-3


def test_prepared_variables_say_the_same(head):
    model, inputs = head
    prepared = prepare(model.config, model.variables)
    assert prepare(model.config, prepared) is prepared
    # With the word kernel gone, a table that is not used would show.
    caption = dict(prepared["params"]["caption"])
    caption["word_kernel"] = jnp.full_like(caption["word_kernel"], jnp.nan)
    prepared = {**prepared, "params": {**prepared["params"], "caption": caption}}
    tokens, log_probs = model.decode(prepared, *inputs)
    expected, expected_log_probs = model.decode(model.variables, *inputs)
    np.testing.assert_array_equal(tokens, expected)
    np.testing.assert_allclose(log_probs, expected_log_probs, atol=1e-5)


def test_most_probable_is_the_first_of_equals_and_always_a_word():
    logits = np.array([[1, 3, 3, -np.inf], [-5, -np.inf, -5, -np.inf], [0, np.nan, 1, 2]], np.float32)
    word, log_prob = most_probable(logits)
    assert word.tolist() == [1, 0, 3]
    np.testing.assert_allclose(log_prob[:2], [-np.log(2 + np.exp(-2)), -np.log(2)], atol=1e-6)
    assert np.isnan(log_prob[2])
