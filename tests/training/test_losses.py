"""Every loss term against plain numpy; empty batches; exactness of captioning events in chunks."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from lvc_jax.errors import InputError
from lvc_jax.training import losses
from lvc_jax.training.boxes import giou_1d
from lvc_jax.training.count_loss import cross_entropy, pdvc
from lvc_jax.training.loss_weights import LossWeights
from tests.training.conftest import make_batch
from tests.training.test_matching import oracle_cost, oracle_giou

WEIGHTS = LossWeights(bbox=1.0)


@pytest.fixture(scope="module")
def value_and_grad(model):
    def run(params, batch, key):
        return losses.compute(model, params, batch, WEIGHTS, key=key, deterministic=False)

    return jax.jit(jax.value_and_grad(run, has_aux=True))


@pytest.fixture(scope="module")
def evaluate(model):
    return jax.jit(lambda params, batch: losses.compute(model, params, batch, WEIGHTS, deterministic=True))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [((0.5, 0.4), (0.5, 0.4), 1.0), ((0.1, 0.2), (0.9, 0.2), -0.6), ((0.25, 0.5), (0.5, 0.5), 1 / 3)],
)
def test_giou_by_hand(a, b, expected):
    assert float(giou_1d(jnp.array(a), jnp.array(b))) == pytest.approx(expected, abs=1e-4)


def test_focal_loss_by_hand():
    p = 1 / (1 + np.exp(-0.7))
    event, silence = losses.focal_loss(jnp.array([0.7, 0.7]), jnp.array([1.0, 0.0]))
    assert float(event) == pytest.approx(0.25 * (1 - p) ** 2 * -np.log(p), rel=1e-5)
    assert float(silence) == pytest.approx(0.75 * p**2 * -np.log(1 - p), rel=1e-5)


def test_caption_nll_counts_the_words_and_the_end():
    tokens = jnp.array([0, 4, 5, 0, 0])
    log_probs = jnp.array([-1.0, -2.0, -3.0, -100.0])
    assert float(losses.caption_nll(log_probs, tokens)) == pytest.approx(6 / (3 + 1e-6))


def test_caption_nll_of_an_empty_sentence_is_the_end_alone():
    assert float(losses.caption_nll(jnp.array([-1.5, -9.0]), jnp.array([0, 0, 0]))) == pytest.approx(1.5, rel=1e-5)


def test_count_losses_by_hand():
    logits, count = np.array([[0.3, -1.0, 2.0, 0.5]]), 2
    exp = np.exp(logits[0])
    assert float(cross_entropy(jnp.asarray(logits), jnp.array([count]))) == pytest.approx(-np.log(exp[2] / exp.sum()))
    share = [0, 0, 0.193426, 0.412129]
    total = 0.0
    for k, x in enumerate(logits[0]):
        hit = float(k == count)
        bce = -hit * np.log(1 / (1 + np.exp(-x))) - (1 - hit) * np.log(1 - 1 / (1 + np.exp(-x)))
        total += (1 - share[k]) * (hit + (1 - np.exp(-((k - count) ** 2) / 8)) * (1 - hit)) * bce / 4
    assert float(pdvc(jnp.asarray(logits), jnp.array([count]))) == pytest.approx(total, rel=1e-4)


@pytest.mark.parametrize("loss", [cross_entropy, pdvc])
def test_a_count_above_the_largest_class_is_the_largest_class(loss):
    logits = jnp.array([[0.3, -1.0, 2.0, 0.5]])
    assert float(loss(logits, jnp.array([9]))) == float(loss(logits, jnp.array([3])))


@pytest.fixture(scope="module")
def forward(model):
    return jax.jit(model.apply)


@pytest.fixture(scope="module")
def token_log_probs(model):
    return jax.jit(partial(model.apply, method="token_log_probs"))


def test_all_terms_equal_a_loop_over_samples_and_events(params, evaluate, forward, token_log_probs):
    batch = make_batch(np.random.default_rng(3), [2, 0, 3, 1])
    total, terms = evaluate(params, batch)
    out = jax.device_get(forward(params, batch["features"], batch["duration"]))
    events, expected_total = batch["events"], 0.0
    for layer, suffix in ((0, "_0"), (1, "")):
        logits, boxes = out["class_logits"][layer], out["boxes"][layer]
        target, giou, nll, bbox = np.zeros((4, 4)), 0.0, 0.0, 0.0
        for b in range(4):
            mask = events["mask"][b]
            cost = oracle_cost(logits[b], boxes[b], events["boxes"][b][mask], WEIGHTS)
            for g, n in zip(*linear_sum_assignment(cost)):
                target[b, n] = 1
                giou += 1 - oracle_giou(boxes[b, n], events["boxes"][b, g])
                bbox += np.abs(boxes[b, n] - events["boxes"][b, g]).sum()
                tokens = events["tokens"][b, g]
                words = np.count_nonzero(tokens)
                hidden, memory = out["hidden"][layer, b, n][None, None], out["memory"][b][None]
                log_probs = token_log_probs(params, hidden, tokens[None, None], None, memory)
                nll += -float(log_probs[0, 0, : words + 1].sum()) / (words + 1)
        p = 1 / (1 + np.exp(-logits))
        focal = np.where(target, 0.25 * (1 - p) ** 2 * -np.log(p), 0.75 * p**2 * -np.log(1 - p)).sum()
        expected = {
            "loss_giou": giou / 6,
            "loss_bbox": bbox / 6,
            "loss_caption": nll / 6,
            "loss_cls": focal / 6,
            "loss_count": float(cross_entropy(out["count_logits"][layer], jnp.asarray(batch["count"]))),
        }
        for name, value in expected.items():
            assert float(terms[name + suffix]) == pytest.approx(value, rel=1e-4), name + suffix
            expected_total += getattr(WEIGHTS, name.removeprefix("loss_")) * value
    assert float(total) == pytest.approx(expected_total, rel=1e-5)


@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [1, 0, 0, 0], [3, 3, 3, 3]])
def test_silent_and_single_event_batches_give_finite_values_and_gradients(params, value_and_grad, counts):
    batch = make_batch(np.random.default_rng(4), counts)
    (total, terms), grads = value_and_grad(params, batch, jax.random.key(1))
    leaves = jax.tree.leaves((total, terms, grads))
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in leaves)
    if not any(counts):
        assert terms["loss_giou"] == terms["loss_caption"] == terms["loss_caption_0"] == 0
        assert terms["loss_cls"] > 0


def test_contents_of_empty_slots_do_not_matter(params, evaluate):
    batch = make_batch(np.random.default_rng(5), [2, 0, 1, 1])
    other = {**batch, "events": dict(batch["events"])}
    empty = ~batch["events"]["mask"]
    other["events"]["tokens"] = np.where(empty[..., None], 7, batch["events"]["tokens"])
    other["events"]["boxes"] = np.where(empty[..., None], 0.3, batch["events"]["boxes"]).astype(np.float32)
    for a, b in zip(jax.tree.leaves(evaluate(params, batch)), jax.tree.leaves(evaluate(params, other))):
        np.testing.assert_array_equal(a, b)


def test_more_slots_change_nothing(params, evaluate):
    batch = make_batch(np.random.default_rng(6), [2, 1, 0, 1])
    wide = {**batch, "events": {k: np.concatenate([v, np.zeros_like(v)], 1) for k, v in batch["events"].items()}}
    for x, y in zip(jax.tree.leaves(evaluate(params, batch)), jax.tree.leaves(evaluate(params, wide))):
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_layers_captioned_together_or_one_by_one_give_the_same(model, params, evaluate):
    batch = make_batch(np.random.default_rng(8), [2, 0, 3, 0])
    together = model.clone(caption_head="lstm")
    other = jax.jit(lambda params, batch: losses.compute(together, params, batch, WEIGHTS, deterministic=True))
    for x, y in zip(jax.tree.leaves(evaluate(params, batch)), jax.tree.leaves(other(params, batch))):
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_dropout_follows_the_key(params, value_and_grad):
    batch = make_batch(np.random.default_rng(7), [2, 0, 1, 1])
    first, again, other = (value_and_grad(params, batch, jax.random.key(i))[0][0] for i in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    "values",
    [{"giou": -1.0}, {"giou": float("nan")}, {"count_loss": "mse"}, {"iou": 1.0}],
    ids=["negative", "no number", "unknown loss", "unknown key"],
)
def test_bad_weights_are_one_line_errors(values):
    with pytest.raises(InputError, match="loss"):
        LossWeights.from_dict(values)


def test_dropout_without_a_key_is_an_error(model, params):
    with pytest.raises(ValueError, match="dropout key"):
        losses.compute(model, params, make_batch(np.random.default_rng(9), [1]), WEIGHTS)


@pytest.mark.parametrize(("samples", "slots", "filled"), [(1, 5, 5), (1, 6, 3), (3, 3, 9), (6, 2, 7), (1, 2, 0)])
def test_captions_in_chunks_are_all_captions_once(samples, slots, filled):
    rng = np.random.default_rng(0)
    layers, words = 2, 4
    hidden = rng.standard_normal((layers, samples, slots, 3)).astype(np.float32)
    reference = rng.uniform(size=(layers, samples, slots, 1)).astype(np.float32)
    tokens = np.pad(rng.integers(1, 9, (samples, slots, words - 1)), ((0, 0), (0, 0), (1, 0)))
    memory, kernel = rng.standard_normal((samples, 1, 3)).astype(np.float32), np.float32([1, 2, -1])
    matched = np.broadcast_to(rng.permutation(samples * slots).reshape(samples, slots) < filled, hidden.shape[:3])

    tokens, matched = jnp.asarray(tokens), jnp.asarray(matched)

    def log_probs(kernel, memory, hidden, tokens, reference, key):
        said = (hidden + memory) @ kernel * reference[..., 0]
        return jnp.sin(said[..., None] + tokens[..., 1:])

    def chunked(kernel, memory, hidden, reference):
        return losses._caption_nll_sums(log_probs, kernel, memory, hidden, tokens, reference, matched, None)

    def direct(kernel, memory, hidden, reference):
        nll = losses.caption_nll(log_probs(kernel, memory, hidden, tokens, reference, None), tokens)
        return jnp.where(matched, nll, 0).sum((1, 2))

    def with_gradients(sums):
        weighed = jax.value_and_grad(lambda *inputs: sums(*inputs) @ jnp.array([1.0, 3.0]), argnums=(0, 1, 2, 3))
        return jax.jit(weighed)(kernel, memory, hidden, reference)

    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), *map(with_gradients, (chunked, direct)))
