"""Every config file: it loads, its parts fit together, and overrides obey its keys."""

import importlib.util
from pathlib import Path

import pytest
from ml_collections import ConfigDict

from lvc_jax.errors import InputError
from lvc_jax.streaming.state import StreamConfig
from lvc_jax.train import default_workdir
from lvc_jax.training.assemble import make_model_config, make_sample_config, make_vocabulary
from lvc_jax.training.loss_weights import LossWeights
from lvc_jax.training.optimizer import make_optimizer
from lvc_jax.training.run_config import check_same_run, claim_workdir, default_config, from_json, to_json
from tests.training.parts import tiny_config

FOLDER = Path(__file__).resolve().parents[2] / "configs"
FILES = sorted(FOLDER.glob("*.py"))


def load(path, arg=None):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_config(arg), module.__doc__


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_config_is_complete_and_consistent(path):
    config, text = load(path)
    assert set(config) == set(default_config())
    for name in ("model", "loss", "optimizer", "streaming", "eval", "vocabulary"):
        assert set(config[name]) == set(default_config()[name]), name
    assert f"--config=configs/{path.name}" in text
    model = make_model_config(config, 16, 20)
    assert config.max_events <= max(model.num_queries, 30)
    make_sample_config(config)
    make_optimizer(config.optimizer, config.accumulation_steps)
    LossWeights.from_dict(config.loss.to_dict())
    settings = config.streaming.to_dict()
    StreamConfig(model=model, max_rows=9, **settings)
    assert config.mode == "video" or settings["segment_frames"] in config.segment_frames
    assert from_json(to_json(config)) == config


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_config_refuses_an_argument_it_does_not_know(path):
    with pytest.raises(ValueError, match=path.name):
        load(path, "nonsense")


def test_the_paper_and_the_reference_have_their_weights():
    paper, _ = load(FOLDER / "anet.py")
    reference, _ = load(FOLDER / "anet_pdvc.py")
    assert LossWeights.from_dict(paper.loss.to_dict()) == LossWeights(2, 1, 1, 1)
    assert paper.loss.count_loss == "cross_entropy"
    assert LossWeights.from_dict(reference.loss.to_dict()) == LossWeights(4, 2, 0.5, 2, count_loss="pdvc")
    assert len(reference.optimizer.boundaries) == 7
    assert reference.optimizer.boundaries[0] == 8 * 10_009


def test_the_two_captioners_of_the_reference():
    light, _ = load(FOLDER / "anet_pdvc.py")
    standard, _ = load(FOLDER / "anet_pdvc.py", "standard")
    assert (light.model.caption_head, light.streaming.ec_alpha) == ("lstm", 0.3)
    assert (standard.model.caption_head, standard.streaming.ec_alpha) == ("lstm_dsa", 1.0)


def test_salads_trains_on_windows_or_on_whole_videos():
    windows, _ = load(FOLDER / "salads.py", "fold=2")
    whole, _ = load(FOLDER / "salads.py", "fold=2,mode=video")
    assert (windows.mode, whole.mode) == ("segment", "video")
    assert windows.train_split == whole.train_split == "not_fold_2"
    assert whole.model.num_queries >= 24  # the most actions of a video
    assert whole.streaming.consolidation == "rerank"
    for bad in ("fold=6", "mode=both", "fold=1,size=2"):
        with pytest.raises(ValueError, match=r"salads\.py"):
            load(FOLDER / "salads.py", bad)


def test_a_fold_of_salads_is_held_out():
    config, _ = load(FOLDER / "salads.py", "fold=4")
    assert (config.train_split, config.eval.split) == ("not_fold_4", "fold_4")


@pytest.mark.parametrize(
    ("file", "workdir"), [("configs/anet.py", "runs/anet"), ("configs/salads.py:fold=2", "runs/salads_fold=2")]
)
def test_the_default_workdir_carries_the_name_and_the_argument(file, workdir):
    assert str(default_workdir(file)) == workdir


def test_what_a_run_may_change_when_it_continues():
    saved = to_json(tiny_config())
    check_same_run(saved, to_json(tiny_config(num_train_steps=99, log_every=7, data_dir="elsewhere")), "here")
    other = tiny_config()
    other.model.hidden_dim = 128
    with pytest.raises(InputError, match=r"^here: holds a run with model.hidden_dim=512, not 128"):
        check_same_run(saved, to_json(other), "here")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "expected an object, found a list"),
        ("3", "expected an object, found a number"),
        ("null", "expected an object, found null"),
        ('{"model": 3}', "field 'model': expected an object, found a number"),
        ("{", "Expecting property name"),
        ("[" * 100_000, "recursion"),
    ],
    ids=["list", "number", "null", "part", "cut short", "too deep"],
)
def test_a_config_file_that_holds_something_else_is_one_line(tmp_path, content, message):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputError, match=rf"config\.json: cannot be read: .*{message}.*remove it or give another"):
        claim_workdir(tmp_path, tiny_config())
    assert (tmp_path / "config.json").read_text() == content


def test_sizes_come_from_the_data():
    config = default_config()
    assert make_model_config(config, 18, 24).feature_dim == 18
    config.model.feature_dim = 512
    with pytest.raises(InputError, match=r"model.feature_dim=512: the data has 18"):
        make_model_config(config, 18, 24)


def test_vocabularies(tmp_path):
    options = ConfigDict({"kind": "words", "path": "", "min_count": 2, "size": 30})
    assert make_vocabulary(options, ["a red box", "a blue box"]).words == ("a", "box", "UNK")
    options.kind = "letters"
    with pytest.raises(InputError, match=r"vocabulary.kind='letters'"):
        make_vocabulary(options, [])
    options.update({"kind": "words", "path": str(tmp_path / "none.json")})
    with pytest.raises(InputError, match=r"none\.json"):
        make_vocabulary(options, [])


def test_no_more_event_slots_than_queries_but_as_many_as_the_reference_takes():
    paper, _ = load(FOLDER / "anet.py")
    paper.model.num_queries = 4
    assert make_sample_config(paper).max_events == 4
    reference, _ = load(FOLDER / "anet_pdvc.py")
    assert make_sample_config(reference).max_events == reference.max_events > reference.model.num_queries
