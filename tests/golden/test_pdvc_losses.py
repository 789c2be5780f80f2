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
from lvc_jax.training.optimizer import make_optimizer, never_read
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
HEADS = {"light": "lstm", "standard": "lstm_dsa"}
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
    """One model on the recipe's weights with one padding, compiled once for its cases."""

    def __init__(self, folder, kind, padding):
        self.config = ModelConfig(
            vocab_size=50, caption_head=HEADS[kind], padding=padding, dropout=0.0, caption_dropout=0.0
        )
        entries = recipe.state_dict(folder / f"manifest_pdvc_{kind}_tsp.json")
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

    def get(kind, padding):
        if (kind, padding) not in made:
            made[kind, padding] = Run(shared / "golden" / "pdvc", kind, padding)
        return made[kind, padding]

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
def test_losses_gradients_and_adam_steps(fixture, runs, name):
    case = fixture[CASES[name]]
    check_case(case, runs("light", case["padding"]))


@pytest.mark.slow
def test_the_standard_captioner(shared, runs):
    path = shared / "golden" / "pdvc" / "losses_standard.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
        check_case(case, runs("standard", case["padding"]))


def check_case(case, run):
    batch = batch_of(case)
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
    unread = {name for name, norm in norms.items() if norm == 0} - {*map(recipe.canonical, skipped)}
    assert {*map(recipe.canonical, case["params_without_grad"])} <= unread
    check_adam(case["adam"], run, batch, grads)


def check_adam(adam, run, batch, grads):
    """Three steps; what the reference leaves without a gradient stays as it is."""
    config = default_config().optimizer
    config.update({"name": "adam", "schedule": "constant", "learning_rate": adam["lr"]})
    config.update({"weight_decay": adam["weight_decay"], "clip_norm": adam["grad_clip"]})
    tx, _ = make_optimizer(config)
    update = jax.jit(tx.update)
    params, state = run.params, tx.init(run.params)
    for step in range(1, 4):
        updates, state = update(grads, state, params)
        params = optax.apply_updates(params, updates)
        (after, _), grads = run.value_and_grad(params, batch)
        wanted, exact = (adam[f"{kind}total_at_step_0..3"][step] for kind in ("", "float64_"))
        # Later steps drift: Adam divides tiny gradients by their own size.
        rel = 1e-4 if step == 1 else max(1e-3, 3 * abs(wanted - exact) / wanted)
        assert float(after) == pytest.approx(wanted, rel=rel), step
        if step < 3:
            norms = [adam[f"{kind}grad_norm_before_clip"][step] for kind in ("", "float64_")]
            rel = max(1e-3 if step == 1 else 1e-2, 3 * abs(norms[0] - norms[1]) / norms[0])
            assert float(optax.tree.norm(grads)) == pytest.approx(norms[0], rel=rel), step
    for path, before in jax.tree_util.tree_leaves_with_path(run.params["params"]):
        now = params["params"]
        for part in path:
            now = now[part.key]
        assert bool((now == before).all()) == never_read(path), path
