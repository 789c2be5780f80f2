"""Schedules and updates against the formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lvc_jax.errors import InputError
from lvc_jax.models import ModelConfig, init_params
from lvc_jax.training import losses
from lvc_jax.training.loss_weights import PDVC
from lvc_jax.training.optimizer import _outside_captioner, make_optimizer, make_schedule, never_read
from tests.models.conftest import small_model
from tests.training.parts import tiny_config


def options(**changes):
    config = tiny_config().optimizer
    config.update(changes)
    return config


def test_warmup_cosine():
    rate = make_schedule(options(learning_rate=1.0, warmup_steps=10, decay_steps=110, end_factor=0.1))
    found = [float(rate(step)) for step in (0, 5, 10, 60, 110, 1000)]
    np.testing.assert_allclose(found, [0, 0.5, 1, 0.55, 0.1, 0.1], atol=1e-6)


def test_piecewise_halves_at_each_boundary():
    rate = make_schedule(options(schedule="piecewise", learning_rate=8.0, boundaries=(3, 5), decay_factor=0.5))
    assert [float(rate(step)) for step in (0, 2, 3, 4, 5, 9)] == [8, 8, 4, 4, 2, 2]


def test_constant():
    assert float(make_schedule(options(schedule="constant", learning_rate=0.5))(7)) == 0.5


def one_update(config, grad, param):
    tx, _ = make_optimizer(config)
    updates, _ = tx.update(jnp.array([grad]), tx.init(jnp.array([param])), jnp.array([param]))
    return float(updates[0])


def test_adam_adds_the_decay_to_the_gradient_and_adamw_does_not():
    base = {"schedule": "constant", "learning_rate": 0.1, "clip_norm": 0.0, "weight_decay": 0.5}
    # The gradient is 0: coupled decay becomes a full Adam step of size lr, decoupled decay is lr * decay * param.
    assert one_update(options(name="adam", **base), 0.0, 2.0) == pytest.approx(-0.1, rel=1e-5)
    assert one_update(options(name="adamw", **base), 0.0, 2.0) == pytest.approx(-0.1, rel=1e-5)
    assert one_update(options(name="adam", **base), 0.0, 20.0) == pytest.approx(-0.1, rel=1e-5)
    assert one_update(options(name="adamw", **base), 0.0, 20.0) == pytest.approx(-1.0, rel=1e-5)


def test_clipping_is_by_global_norm():
    tx, _ = make_optimizer(options(schedule="constant", clip_norm=1.0, weight_decay=0.0))
    big, small = {"a": jnp.array([30.0]), "b": jnp.array([40.0])}, {"a": jnp.array([0.6]), "b": jnp.array([0.8])}
    first, _ = tx.update(big, tx.init(big), big)
    second, _ = tx.update(small, tx.init(small), small)
    for name in big:
        np.testing.assert_allclose(first[name], second[name], rtol=1e-5)


def test_the_factor_slows_everything_but_the_captioner():
    config = options(schedule="constant", learning_rate=0.1, weight_decay=0.5, transformer_factor=0.25)
    params = {"params": {"caption": {"embedding": jnp.array([2.0])}, "caption_like": jnp.array([2.0])}}
    tx, _ = make_optimizer(config)
    updates, _ = tx.update(params, tx.init(params), params)
    whole, slowed = updates["params"]["caption"]["embedding"], updates["params"]["caption_like"]
    np.testing.assert_allclose(whole, -0.1 * (1 + 0.5 * 2.0), rtol=1e-5)
    np.testing.assert_allclose(slowed, 0.25 * whole, rtol=1e-6)


@pytest.mark.parametrize(("name", "adam"), [("adam", 2), ("adamw", 1)])
def test_the_state_lies_where_saved_runs_have_it(name, adam):
    tx, _ = make_optimizer(options(name=name))
    state = jax.tree_util.tree_leaves_with_path(tx.init({"w": jnp.zeros(2)}))
    places = [jax.tree_util.keystr(path) for path, _ in state]
    assert places == [f"[{adam}].count", f"[{adam}].mu['w']", f"[{adam}].nu['w']", "[4].count"]


def test_a_run_may_change_the_factor():
    params = {"params": {"caption": jnp.array([2.0]), "queries": jnp.array([2.0])}}
    states = [make_optimizer(options(transformer_factor=factor))[0].init(params) for factor in (1.0, 0.25)]
    assert jax.tree.structure(states[0]) == jax.tree.structure(states[1])


@pytest.mark.parametrize("head", ["lstm", "lstm_dsa"])
def test_the_captioner_of_the_real_model_is_exactly_what_is_not_slowed(head):
    params = jax.eval_shape(lambda key: init_params(ModelConfig(caption_head=head), key), jax.random.key(0))["params"]
    slowed = _outside_captioner({"params": params})["params"]
    assert jax.tree.structure(slowed) == jax.tree.structure(params)
    by_module = {name: set(jax.tree.leaves(part)) for name, part in slowed.items()}
    assert by_module == {name: {name != "caption"} for name in params}
    assert {"embedding", "event_kernel", "logit_kernel", "recurrent_kernel"} <= set(params["caption"])
    assert {"queries", "heads", "pyramid", "encoder_0", "decoder_0", "reference"} <= set(params)


@pytest.mark.parametrize("head", ["lstm", "lstm_dsa"])
@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_what_training_never_reads_stays_and_all_else_moves(head, name):
    model = small_model(caption_head=head)
    features, duration = model.inputs(batch=2)
    events = {
        "boxes": np.array([[[0.3, 0.2], [0.7, 0.4]]] * 2, np.float32),
        "tokens": np.array([[[0, 4, 2, 0], [0, 3, 0, 0]]] * 2, np.int32),
        "mask": np.ones((2, 2), bool),
    }
    batch = {"features": features, "duration": duration, "events": events, "count": np.array([2, 2], np.int32)}

    @jax.jit
    def step(params):
        grads = jax.grad(lambda p: losses.compute(model.model, p, batch, PDVC, deterministic=True)[0])(params)
        tx, _ = make_optimizer(options(name=name, schedule="constant", learning_rate=1e-3, weight_decay=1e-2))
        return grads, tx.update(grads, tx.init(params), params)[0]

    grads, updates = step(model.variables)
    kept = set()
    for (path, update), grad in zip(jax.tree_util.tree_leaves_with_path(updates), jax.tree.leaves(grads), strict=True):
        if never_read(path):
            kept.add("/".join(part.key for part in path[1:]))
            assert not np.asarray(grad).any()
            assert not np.asarray(update).any()
        else:
            assert np.asarray(update).any(), path
    proposal = {f"proposal_{layer}" for layer in ("layer/kernel", "layer/bias", "norm/scale", "norm/bias")}
    unused = {f"caption/attention/{layer}_{part}" for layer in ("weights", "output") for part in ("kernel", "bias")}
    assert kept == (proposal | unused if head == "lstm_dsa" else proposal)


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_an_impossible_factor_is_refused(factor):
    with pytest.raises(InputError, match=r"optimizer\.transformer_factor="):
        make_optimizer(options(transformer_factor=factor))


def test_accumulation_updates_with_the_mean_and_the_schedule_counts_batches():
    config = options(schedule="piecewise", learning_rate=8.0, boundaries=(2,), decay_factor=0.5, weight_decay=0.0)
    tx, rate = make_optimizer(config, 2)
    assert [float(rate(step)) for step in range(4)] == [8, 8, 4, 4]
    many, single = {"w": jnp.array([1.0])}, {"w": jnp.array([1.0])}
    state = tx.init(many)
    for grad in (1.0, 3.0, 2.0, 6.0):
        updates, state = tx.update({"w": jnp.array([grad])}, state, many)
        many = optax.apply_updates(many, updates)
    halved = options(schedule="piecewise", learning_rate=8.0, boundaries=(1,), decay_factor=0.5, weight_decay=0.0)
    plain, _ = make_optimizer(halved)
    state = plain.init(single)
    for grad in (2.0, 4.0):
        updates, state = plain.update({"w": jnp.array([grad])}, state, single)
        single = optax.apply_updates(single, updates)
    np.testing.assert_allclose(many["w"], single["w"], rtol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "sgd"},
        {"schedule": "steps"},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"warmup_steps": 20},
    ],
    ids=["optimiser", "schedule", "rate", "rate that is no number", "warmup"],
)
def test_bad_options_are_one_line_errors(changes):
    with pytest.raises(InputError, match=r"^optimizer\."):
        make_optimizer(options(**changes))


def test_accumulation_must_be_positive():
    with pytest.raises(InputError, match="accumulation_steps=0"):
        make_optimizer(options(), 0)
