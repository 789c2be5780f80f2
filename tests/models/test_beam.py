"""Beam search against every caption there is, and against greedy decoding."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lvc_jax.models.beam import beam_search
from lvc_jax.models.caption_head import greedy
from tests.models.conftest import Small, small_model

HEADS = ("lstm", "lstm_dsa")
WORDS, LIMIT = 3, 4


@functools.cache
def tiny(head):
    """Few words and short captions, so that all of them can be listed; the words and events matter much."""
    model = Small(caption_head=head, vocab_size=WORDS, max_caption_len=LIMIT)
    caption = model.variables["params"]["caption"]
    for name in ("word_kernel", "event_kernel"):
        caption[name] = 3 * caption[name]
    return model


@functools.cache
def decoder(head, beam):
    return jax.jit(functools.partial(tiny(head).model.apply, method="decode", beam_size=beam))


@pytest.fixture(scope="module", params=HEADS)
def case(request):
    model = tiny(request.param)
    return request.param, model, model.caption_inputs(model.forward(model.variables, *model.inputs(seed=1)))


def every_caption():
    """All captions of at most LIMIT words, as rows of word ids with zeros after the end."""
    texts = [text for length in range(LIMIT + 1) for text in itertools.product(range(1, WORDS + 1), repeat=length)]
    return np.array([text + (0,) * (LIMIT - len(text)) for text in texts])


def log_probability(model, inputs, captions):
    """Of each caption for each row, its end token included: [captions, B, N]."""

    def one(caption):
        forced = jnp.broadcast_to(jnp.concatenate([jnp.zeros(1, int), caption]), (*inputs[0].shape[:2], LIMIT + 1))
        found = model.model.apply(model.variables, inputs[0], forced, *inputs[1:], method="token_log_probs")
        counted = jnp.cumsum(caption == 0) - (caption == 0) == 0
        return jnp.where(counted, found, 0).sum(-1)

    return np.asarray(jax.jit(lambda captions: jax.lax.map(one, captions))(captions))


def test_a_wide_beam_finds_the_most_probable_of_all_captions(case):
    head, model, inputs = case
    captions = every_caption()
    scores = log_probability(model, inputs, captions)
    words, log_probs = decoder(head, 81)(model.variables, *inputs)
    np.testing.assert_array_equal(words, captions[scores.argmax(axis=0)])
    np.testing.assert_allclose(np.asarray(log_probs).sum(-1), scores.max(axis=0), atol=1e-5)


def test_a_narrow_beam_says_what_it_is_worth_and_finds_what_greedy_misses(case):
    head, model, inputs = case
    captions = [tuple(caption) for caption in every_caption()]
    scores = log_probability(model, inputs, every_caption())
    totals = []
    for beam in (1, 2):
        words, log_probs = map(np.asarray, decoder(head, beam)(model.variables, *inputs))
        for row in np.ndindex(words.shape[:2]):
            assert log_probs[row].sum() == pytest.approx(scores[captions.index(tuple(words[row])), *row], abs=1e-5)
            assert not log_probs[row][1:][words[row][:-1] == 0].any()
        totals.append(log_probs.sum(-1))
    assert (totals[1] > totals[0] + 1e-3).any()


@pytest.mark.parametrize("head", HEADS)
def test_a_beam_of_one_is_greedy(head):
    model = small_model(caption_head=head)
    inputs = model.caption_inputs(model.forward(model.variables, *model.inputs()))
    active = np.array([[True, False, True, True], [False] * 4, [True] * 4])

    @functools.partial(jax.jit, static_argnums=1)
    def said(variables, search):
        head = model.model.bind(variables).caption
        return search(*head._speaker(*inputs), active)

    limit = model.config.max_caption_len
    expected = said(model.variables, lambda *args: greedy(*args, limit))
    found = said(model.variables, lambda *args: beam_search(*args, 1, limit))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], atol=1e-6)
    assert not np.asarray(found[0])[~active].any()
    assert np.asarray(found[0]).any()


def test_rows_and_streams_do_not_disturb_each_other(case):
    head, model, inputs = case
    decode = decoder(head, 3)
    words, log_probs = map(np.asarray, decode(model.variables, *inputs))
    active = np.array([[True, False, True, False], [False] * 4, [True] * 4])
    some, some_log_probs = decode(model.variables, *inputs, active)
    np.testing.assert_array_equal(some, np.where(active[..., None], words, 0))
    np.testing.assert_allclose(some_log_probs, np.where(active[..., None], log_probs, 0), atol=1e-6)
    streams = [rows[:, None] for rows in inputs]
    mapped, mapped_log_probs = jax.vmap(lambda *rows: decode(model.variables, *rows))(*streams)
    np.testing.assert_array_equal(mapped[:, 0], words)
    np.testing.assert_allclose(mapped_log_probs[:, 0], log_probs, atol=1e-6)
