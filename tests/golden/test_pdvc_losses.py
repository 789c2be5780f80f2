"""Matching, losses, gradients and the first Adam step against the PDVC reference, on weights made from their names."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lvc_jax.models import LiveCaptioner, ModelConfig, resample_indices
from lvc_jax.models.pdvc_names import from_state_dict, sources
from lvc_jax.training import losses
from lvc_jax.training.boxes import giou_1d
from lvc_jax.training.loss_weights import PDVC
from lvc_jax.training.matching import match
from lvc_jax.training.optimizer import make_optimizer
from lvc_jax.training.run_config import default_config
from tests.golden import recipe

CASES = {
    "zeros-short": 0,
    "zeros-long": 1,
    "zeros-one-event": 2,
    "zeros-twelve-events": 3,
    "border-short": 4,
    "border-long": 5,
}
SLOTS, WORDS = 12, 16
NAMES = {"cls": "loss_ce", "giou": "loss_giou", "bbox": "loss_bbox", "count": "loss_counter", "caption": "loss_caption"}
LAYERS = {"_0": ("matched[layer0]", "layer0"), "": ("matched[layer1=last]", "layer1")}


@pytest.fixture(scope="module")
def fixture(shared):
    return json.loads((shared / "golden" / "pdvc" / "losses_light.json").read_text(encoding="utf-8"))["cases"]


def targets(case):
    """Boxes, tokens and mask of one video, padded to the slots that all cases share."""
    n = len(case["captions"])
    boxes, tokens = np.zeros((1, SLOTS, 2), np.float32), np.zeros((1, SLOTS, WORDS), np.int32)
    boxes[0, :n] = case["gt_boxes_center_length"]
    for g, caption in enumerate(case["captions"]):
        tokens[0, g, : len(caption)] = caption
    return {"boxes": boxes, "tokens": tokens, "mask": np.arange(SLOTS)[None] < n}


def batch_of(case):
    rows = recipe.raw(case["feature_tag"], (case["feature_rows"], 512))
    return {
        "features": rows[resample_indices(len(rows), 100)][None],
        "duration": np.asarray([case["duration"]], np.float32),
        "events": targets(case),
        "count": np.asarray([len(case["captions"])], np.int32),
    }


class Run:
    """One padding's model on the recipe's weights, compiled once for its cases."""

    def __init__(self, folder, padding):
        self.config = ModelConfig(vocab_size=50, padding=padding, dropout=0.0, caption_dropout=0.0)
        entries = recipe.state_dict(folder / "manifest_pdvc_light_tsp.json")
        self.params = jax.tree.map(jnp.asarray, from_state_dict(entries, self.config))
        model = LiveCaptioner(self.config)

        def loss(params, batch):
            return losses.compute(model, params, batch, PDVC, deterministic=True)

        self.value_and_grad = jax.jit(jax.value_and_grad(loss, has_aux=True))

    def reference_norms(self, grads):
        """Gradient norm of every parameter under its name in the reference; parts of one parameter are joined."""
        squares = {}
        for path, source in sources(self.config).items():
            grad = grads["params"]
            for key in path:
                grad = grad[key]
            for i, name in enumerate(source.names):
                part = grad[i] if source.stacked else grad
                squares[name] = squares.get(name, 0.0) + float((np.asarray(part, np.float64) ** 2).sum())
        return {name: value**0.5 for name, value in squares.items()}


@pytest.fixture(scope="module")
def runs(shared):
    made = {}

    def get(padding):
        if padding not in made:
            made[padding] = Run(shared / "golden" / "pdvc", padding)
        return made[padding]

    return get


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("suffix", LAYERS)
def test_matching_and_box_terms_on_the_stored_predictions(fixture, name, suffix):
    case, (matched_key, layer) = fixture[CASES[name]], LAYERS[suffix]
    logits = jnp.asarray(case[f"train_logits_{layer}"], jnp.float32)[None]
    boxes = jnp.asarray(case[f"train_boxes_{layer}"], jnp.float32)[None]
    events = targets(case)
    index, matched = (np.asarray(x)[0] for x in match(logits, boxes, events["boxes"], events["mask"], PDVC))
    found = {(int(index[g]), int(g)) for g in np.flatnonzero(matched)}
    assert found == set(zip(*case[matched_key]))
    queries, slots = (list(x) for x in zip(*found))
    own, target = boxes[0, jnp.array(queries)], events["boxes"][0, slots]
    count = len(case["captions"])
    expected = case["losses"]
    assert float((1 - giou_1d(own, target)).sum()) / count == pytest.approx(expected[f"loss_giou{suffix}"], rel=1e-4)
    assert float(jnp.abs(own - target).sum()) / count == pytest.approx(expected[f"loss_bbox{suffix}"], rel=1e-4)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if "border" in n else ()) for n in CASES])
def test_losses_gradients_and_the_first_adam_step(fixture, runs, name):
    case = fixture[CASES[name]]
    run, batch = runs(case["padding"]), batch_of(case)
    (total, terms), grads = run.value_and_grad(run.params, batch)
    for ours, theirs in NAMES.items():
        for suffix in LAYERS:
            value = float(terms[f"loss_{ours}{suffix}"])
            assert value == pytest.approx(case["losses"][theirs + suffix], rel=1e-4), ours + suffix
    assert float(total) == pytest.approx(case["total"], rel=1e-4)
    if "grads" not in case:
        return
    norms = run.reference_norms(grads)
    skipped = {*case["zero_grad_by_symmetry"], *case["ill_conditioned_params"]}
    for parameter, stored in case["grads"].items():
        if parameter not in skipped:
            assert norms[recipe.canonical(parameter)] == pytest.approx(stored["norm"], rel=1e-3, abs=1e-6), parameter
    assert float(optax.tree.norm(grads)) == pytest.approx(case["grad_global_norm"], rel=1e-3)
    config = default_config().optimizer
    adam = case["adam"]
    config.update({"name": "adam", "schedule": "constant", "learning_rate": adam["lr"]})
    config.update({"weight_decay": adam["weight_decay"], "clip_norm": adam["grad_clip"]})
    tx, _ = make_optimizer(config)
    updates, _ = jax.jit(lambda g, p: tx.update(g, tx.init(p), p))(grads, run.params)
    (after, _), _ = run.value_and_grad(optax.apply_updates(run.params, updates), batch)
    assert float(after) == pytest.approx(adam["total_at_step_0..3"][1], rel=1e-4)
