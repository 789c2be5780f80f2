"""What a checkpoint holds, how it is found, and what is refused."""

import json
import shutil

import jax
import numpy as np
import pytest

from lvc_jax.errors import InputError
from lvc_jax.models import ModelConfig, init_params
from lvc_jax.training.checkpoints import About, Checkpoints, load_for_inference, save_for_inference
from lvc_jax.training.optimizer import make_optimizer
from lvc_jax.training.run_config import from_json, to_json
from lvc_jax.training.train_state import create, make_mesh, replicated
from tests.training.parts import INFO, VOCABULARY, tiny_config

MODEL = ModelConfig(
    feature_dim=6, vocab_size=12, hidden_dim=8, num_frames=4, num_levels=2, num_heads=2, num_points=1,
    encoder_layers=1, decoder_layers=1, ff_dim=4, num_queries=2, max_events=2, embed_dim=4, rnn_dim=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def state():
    """Random numbers of the right shapes: cheaper than drawing real initial values."""
    tx, _ = make_optimizer(tiny_config().optimizer)
    shapes = jax.eval_shape(lambda key: create(init_params(MODEL, key), tx), jax.random.key(0))
    rng = np.random.default_rng(0)
    values = jax.tree.map(lambda x: (rng.standard_normal(x.shape) * 9).astype(x.dtype), shapes)
    return jax.device_put(values, replicated(make_mesh(jax.devices()[:1])))


@pytest.fixture(scope="module")
def workdir(state, tmp_path_factory):
    """Steps 1 and 2, and a best one of step 1."""
    folder = tmp_path_factory.mktemp("run")
    checkpoints = Checkpoints(folder / "checkpoints")
    for step in (1, 2):
        checkpoints.save(state, about(step))
    checkpoints.save_best(state, about(1, {"live_score_rouge_l": 0.5}))
    checkpoints.close()
    return folder


def about(step, metrics=None):
    return About(step, tiny_config(), MODEL, VOCABULARY, INFO, metrics or {})


def test_a_checkpoint_alone_is_enough_to_caption(workdir, state):
    for folder in (workdir, workdir / "checkpoints"):
        loaded = load_for_inference(folder)
        assert loaded.step == 1
        assert loaded.metrics == {"live_score_rouge_l": 0.5}
        assert loaded.model_config == MODEL
        assert loaded.feature_info == INFO
        assert loaded.vocabulary.fingerprint == VOCABULARY.fingerprint
        assert loaded.config.segment_frames == tiny_config().segment_frames
        assert loaded.config == tiny_config()
    for a, b in zip(jax.tree.leaves(loaded.params), jax.tree.leaves(state.params), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("which", "step"), [("best", 1), ("latest", 2), (1, 1), ("2", 2)])
def test_which_checkpoint(workdir, which, step):
    loaded = load_for_inference(workdir, which)
    assert loaded.step == step
    assert loaded.which == (which if which in ("best", "latest") else "step")


@pytest.mark.parametrize("which", [7, "newest"])
def test_an_unknown_choice_names_the_choices(workdir, which):
    with pytest.raises(InputError, match=r"choose best, latest or one of \[1, 2\]"):
        load_for_inference(workdir, which)


def test_without_a_best_one_the_latest_is_loaded(workdir, tmp_path):
    shutil.copytree(workdir / "checkpoints", tmp_path / "checkpoints", ignore=shutil.ignore_patterns("best"))
    assert load_for_inference(tmp_path).step == 2


def test_a_folder_without_checkpoints_is_refused(tmp_path):
    with pytest.raises(InputError, match="no checkpoint here"):
        load_for_inference(tmp_path)


def test_a_checkpoint_of_two_devices_is_restored_on_one(tmp_path, state):
    both = make_mesh(jax.devices()[:2])
    spread = jax.device_put(state, replicated(both))
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(spread, about(3))
    restored, found = checkpoints.restore(state)
    assert found.step == 3
    checkpoints.close()
    for a, b in zip(jax.tree.leaves(restored), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.sharding == b.sharding


def test_another_shape_is_refused_in_one_line(workdir, state):
    wider = jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape, 2), x.dtype, sharding=x.sharding), state)
    checkpoints = Checkpoints(workdir / "checkpoints")
    with pytest.raises(InputError, match="its arrays are not those") as error:
        checkpoints.restore(wider)
    checkpoints.close()
    assert "\n" not in str(error.value)


def test_a_half_written_checkpoint_is_not_seen_and_swept_away(workdir, tmp_path):
    shutil.copytree(workdir / "checkpoints", tmp_path / "checkpoints")
    half = tmp_path / "checkpoints" / "9.orbax-checkpoint-tmp"
    half.mkdir()
    assert load_for_inference(tmp_path, "latest").step == 2
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    assert checkpoints.latest_step() == 2
    checkpoints.close()
    assert not half.exists()


@pytest.mark.parametrize("damage", ["not json", "{}", '{"step": 2}'])
def test_a_damaged_description_is_one_line(workdir, tmp_path, damage):
    shutil.copytree(workdir / "checkpoints", tmp_path / "checkpoints")
    (tmp_path / "checkpoints" / "2" / "about" / "metadata").write_text(damage)
    with pytest.raises(InputError, match="damaged") as error:
        load_for_inference(tmp_path, "latest")
    assert "\n" not in str(error.value)


def test_a_missing_array_file_is_one_line(workdir, tmp_path):
    shutil.copytree(workdir / "checkpoints", tmp_path / "checkpoints")
    shutil.rmtree(tmp_path / "checkpoints" / "2" / "params")
    with pytest.raises(InputError) as error:
        load_for_inference(tmp_path, "latest")
    assert "\n" not in str(error.value)


def test_the_best_is_replaced_and_the_latest_keep_their_number(tmp_path, state):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (1, 2, 3):
        checkpoints.save(state, about(step))
        checkpoints.save_best(state, about(step, {"live_score_rouge_l": step / 10}))
    checkpoints.save_best(state, about(2, {"live_score_rouge_l": 0.9}))
    assert checkpoints.best_about().metrics == {"live_score_rouge_l": 0.9}
    checkpoints.close()
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.isdigit()) == ["2", "3"]


def test_handing_on_without_the_optimiser(workdir, tmp_path):
    loaded = load_for_inference(workdir)
    save_for_inference(loaded, tmp_path / "small")
    again = load_for_inference(tmp_path / "small")
    assert json.dumps(again.to_json()) == json.dumps(loaded.to_json())
    assert not (tmp_path / "small" / "1" / "training").exists()
    for a, b in zip(jax.tree.leaves(again.params), jax.tree.leaves(loaded.params), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_config_that_was_saved_before_a_key_existed_gets_its_default():
    saved = to_json(tiny_config())
    del saved["silent_share"], saved["optimizer"]["transformer_factor"]
    assert from_json(saved) == tiny_config()
