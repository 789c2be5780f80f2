"""PDVC checkpoints: what is read off the shapes, what is refused, and the way back."""

import dataclasses
import json

import jax
import numpy as np
import pytest

from lvc_jax.conversion import pdvc, torch_file, torch_writer
from lvc_jax.conversion.pdvc_config import Given, read_features, read_model, read_run
from lvc_jax.data.feature_store import FeatureInfo, save_info
from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.errors import InputError
from lvc_jax.models import ModelConfig, init_params, pdvc_names
from lvc_jax.streaming.offline import live_segments, predict
from lvc_jax.streaming.state import StreamConfig
from lvc_jax.training.checkpoints import load_for_inference, save_for_inference
from tests.conversion import made

STANDARD = dataclasses.replace(made.LIGHT, caption_head="lstm_dsa", attention_dim=6)
UNREFINED = dataclasses.replace(made.LIGHT, box_refine=False)
OFFICIAL = {
    "anet_c3d_pdvcl": ModelConfig(feature_dim=500),
    "anet_tsp_pdvc": ModelConfig(caption_head="lstm_dsa"),
    "anet_tsn_pdvc": ModelConfig(feature_dim=3072, caption_head="lstm_dsa"),
    "yc2_tsn_pdvcl": ModelConfig(3072, 1607, num_frames=200, num_queries=100, max_events=20),
    "yc2_tsn_pdvc": ModelConfig(3072, 1607, num_frames=200, num_queries=100, max_events=20, caption_head="lstm_dsa"),
    "defaults": ModelConfig(feature_dim=500, encoder_layers=6, decoder_layers=6, ff_dim=2048, num_queries=100),
}


@pytest.fixture(scope="module")
def shapes():
    return {name: pdvc_names.shapes(config) for name, config in OFFICIAL.items()}


@pytest.mark.parametrize("name", OFFICIAL)
def test_official_configurations_are_read_off_their_shapes(shapes, name):
    model, assumed = read_model(shapes[name], Given())
    assert model == OFFICIAL[name]
    youcook2 = name.startswith("yc2")
    assert assumed == {"num_heads": 8, "num_points": 4, "num_frames": 200 if youcook2 else 100, "padding": "zeros"}
    config, assumed = read_run(model, Given())
    assert assumed["ec_alpha"] == config.streaming.ec_alpha == (1.0 if model.caption_head == "lstm_dsa" else 0.3)
    assert assumed["dataset"] == config.dataset == ("youcook2" if youcook2 else "activitynet_captions")


def test_the_run_is_that_of_the_config_file():
    from configs import anet_pdvc

    config, _ = read_run(ModelConfig(), Given())
    expected = anet_pdvc.get_config()
    for key in ("dataset", "mode", "max_events", "batch_size", "loss", "streaming"):
        assert config[key] == expected[key], key
    for key in ("name", "learning_rate", "weight_decay", "clip_norm", "schedule"):
        assert config.optimizer[key] == expected.optimizer[key], key


@pytest.mark.parametrize("config", [made.LIGHT, STANDARD, UNREFINED], ids=["light", "standard", "unrefined"])
def test_round_trip_is_bit_exact_both_ways(tmp_path, config):
    state = made.state_dict(config)
    converted = pdvc.load(made.write_pdvc(tmp_path / "in", state), made.GIVEN)
    assert converted.loaded.model_config == dataclasses.replace(config, attention_dim=6 if config is STANDARD else 512)
    assert converted.epoch == 8
    pdvc.save(converted, tmp_path / "out")
    assert pdvc.export(tmp_path / "out", tmp_path / "back.pth") == tmp_path / "back.vocabulary.json"
    found = torch_file.read(tmp_path / "back.pth")
    assert (found["epoch"], found["optimizer"]) == (0, {})
    assert set(found["model"]) == set(state)
    for name, array in state.items():
        assert found["model"][name].array().tobytes() == array.tobytes(), name
    copies = pdvc_names.duplicates(config, state)
    assert copies and all(found["model"][copy] == found["model"][name] for copy, name in copies.items())
    again = pdvc.load(tmp_path / "back.pth", made.GIVEN).loaded
    assert again.vocabulary.words == converted.loaded.vocabulary.words
    jax.tree.map(np.testing.assert_array_equal, again.params, load_for_inference(tmp_path / "out").params)


@pytest.mark.parametrize("layout", ["bare", "state_dict", "module", "legacy", "float64", "bfloat16"])
def test_layouts_of_the_file(tmp_path, layout):
    state = made.state_dict()
    expected = pdvc_names.from_state_dict(state, made.LIGHT)
    path = made.write_pdvc(tmp_path)
    if layout == "bare":
        torch_writer.write(path, state)
    elif layout == "state_dict":
        torch_writer.write(path, {"state_dict": state})
    elif layout == "module":
        torch_writer.write(path, {"model": {f"module.{name}": array for name, array in state.items()}})
    elif layout == "legacy":
        path.write_bytes(made.legacy({"epoch": 1, "model": state, "optimizer": {"state": {0: {"step": 3}}}}))
    elif layout == "float64":
        torch_writer.write(path, {"model": {name: array.astype(np.float64) for name, array in state.items()}})
    else:
        short = {name: array.astype(jax.numpy.bfloat16) for name, array in state.items()}
        torch_writer.write(path, {"model": short})
        rounded = {name: array.astype(np.float32) for name, array in short.items()}
        expected = pdvc_names.from_state_dict(rounded, made.LIGHT)
    jax.tree.map(np.testing.assert_array_equal, pdvc.load(path, made.GIVEN).loaded.params, expected)


def test_safetensors_both_ways(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    made.write_vocabulary(tmp_path / "vocab.json")
    state = made.state_dict()
    library.save_file(dict(state), tmp_path / "model.safetensors")
    converted = pdvc.load(tmp_path / "model.safetensors", made.GIVEN)
    pdvc.save(converted, tmp_path / "out")
    pdvc.export(tmp_path / "out", tmp_path / "back.safetensors")
    back = library.load_file(tmp_path / "back.safetensors")
    assert set(back) == set(state)
    assert all(np.array_equal(back[name], state[name]) for name in state)
    (tmp_path / "model.safetensors").write_bytes((tmp_path / "back.safetensors").read_bytes()[:1000])
    with pytest.raises(InputError, match=r"model\.safetensors: not a safetensors file, or damaged"):
        pdvc.load(tmp_path / "model.safetensors", made.GIVEN)


def faulty(tmp_path, change):
    """What is said of a checkpoint after `change` to its state dict."""
    state = {name: array.copy() for name, array in made.state_dict().items()}
    change(state)
    path = made.write_pdvc(tmp_path, state)
    with pytest.raises(InputError) as error:
        pdvc.load(path, made.GIVEN)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value)


def test_every_missing_unexpected_and_wrong_entry_is_named_at_once(tmp_path):
    def change(state):
        state["query_embedding.weight"] = state.pop("query_embed.weight")
        state["transformer.encoder.layers.7.norm1.weight"] = np.ones(16, np.float32)
        del state["count_head.1.bias"]
        state["class_head.0.weight"] = np.ones((2, 16), np.float32)
        state["transformer.level_embed"] = np.ones((3, 20), np.float32)
        state["transformer.pos_trans.bias"] = np.ones(32, np.int32)

    said = faulty(tmp_path, change)
    assert "missing count_head.1.bias, query_embed.weight;" in said or (
        "missing query_embed.weight, count_head.1.bias;" in said
    )
    assert "unexpected query_embedding.weight, transformer.encoder.layers.7.norm1.weight;" in said
    for name, found, wanted in (
        ("class_head.0.weight", [2, 16], [1, 16]),
        ("transformer.level_embed", [3, 20], [3, 16]),
    ):
        assert f"{name} {found} for {wanted}" in said
    assert said.count(" for [") == 2
    assert "not floating point transformer.pos_trans.bias;" in said


def test_disagreeing_duplicates_are_named(tmp_path):
    def change(state):
        state["caption_head.1.logit.bias"][3] += 1
        state["transformer.decoder.bbox_head.0.layers.2.bias"][0] += 1

    said = faulty(tmp_path, change)
    assert "caption_head.1.logit.bias from caption_head.0.logit.bias" in said
    assert "transformer.decoder.bbox_head.0.layers.2.bias from bbox_head.0.layers.2.bias" in said
    assert said.count(" from ") == 2


def test_numbers_that_are_not_finite_are_named(tmp_path):
    def change(state):
        state["query_embed.weight"][0, 0] = np.nan
        state["count_head.0.bias"][1] = np.inf

    said = faulty(tmp_path, change)
    assert "not finite: in" in said
    assert "query_embed.weight" in said
    assert "count_head.0.bias" in said


def test_files_that_hold_something_else(tmp_path):
    path = made.write_pdvc(tmp_path)
    for content, said in (
        ([1, 2], "holds a list, not a checkpoint"),
        ({"model": {}}, "has no entries"),
        ({"model": {"a": np.ones(1, np.float32), "b": 3, "c": "x"}}, r"no tensors \(b, c\)"),
        ({"model": {"fc.weight": np.ones(1, np.float32)}}, r"holds no entry of a light PDVC captioner .*fc\.weight"),
        ({"a": np.ones(1, np.float32), "module.a": np.ones(1, np.float32)}, "with and without 'module.'"),
    ):
        torch_writer.write(path, content)
        with pytest.raises(InputError, match=said):
            pdvc.load(path, made.GIVEN)


def test_the_vocabulary_is_given_or_found(tmp_path):
    path = made.write_pdvc(tmp_path / "in")
    assert pdvc.load(path, made.GIVEN).loaded.vocabulary.words[-2:] == ("word10", "UNK")
    other = made.write_vocabulary(tmp_path / "other.json", 12)
    with pytest.raises(InputError, match=r"other\.json: has 12 words, but the word embedding of .* has 11 "):
        pdvc.load(path, made.GIVEN, other)
    made.write_vocabulary(tmp_path / "in" / "vocab2.json")
    with pytest.raises(InputError, match=r"several files could be it \(vocab2\.json, vocabulary_made\.json\)"):
        pdvc.load(path, made.GIVEN)
    made.write_vocabulary(tmp_path / "in" / "model-best.vocabulary.json")
    pdvc.load(path, made.GIVEN)
    for file in (tmp_path / "in").glob("*.json"):
        file.unlink()
    with pytest.raises(InputError, match=r"none is beside it; give --vocabulary=FILE"):
        pdvc.load(path, made.GIVEN)


def test_the_published_vocabularies_fit(shared):
    for name, size in (("activitynet_captions", 5747), ("youcook2", 1607)):
        assert WordVocabulary.load(shared / "data" / name / "vocabulary.json").size == size


def test_the_clock_is_known_for_tsp_alone(tmp_path):
    assert read_features(ModelConfig(), None, "") == FeatureInfo("tsp", 512, 16 / 15, 16 / 15)
    for dim, name in ((500, r"\(C3D\) "), (3072, r"\(TSN\) "), (2176, r"\(I3D and VGGish\) "), (77, "")):
        with pytest.raises(InputError, match=f"features of {dim} numbers {name}and does not tell .* --features=DIR"):
            read_features(ModelConfig(feature_dim=dim), None, "")
    mine = FeatureInfo("c3d", 500, 0.5, 0.5)
    assert read_features(ModelConfig(feature_dim=500), mine, "") == mine
    save_info(tmp_path, mine)
    with pytest.raises(InputError, match=r"features\.json: features of 500 numbers, the checkpoint takes 512"):
        pdvc.load(made.write_pdvc(tmp_path / "in"), made.GIVEN, features=tmp_path)


def test_what_is_said_wins_over_what_is_assumed(shapes):
    given = Given(num_heads=4, num_frames=50, ec_alpha=0.7, padding="border", dataset="mine")
    model, assumed = read_model(shapes["anet_tsp_pdvc"], given)
    assert (model.num_heads, model.num_points, model.num_frames, model.padding) == (4, 8, 50, "border")
    assert assumed == {"num_points": 8}
    config, assumed = read_run(model, given)
    assert (config.streaming.ec_alpha, config.dataset, assumed) == (0.7, "mine", {})
    assert read_model(shapes["anet_tsp_pdvc"], Given(num_points=2))[0].num_heads == 16
    with pytest.raises(InputError, match="they make 60 offsets, the checkpoint has 128"):
        read_model(shapes["anet_tsp_pdvc"], Given(num_heads=5, num_points=3))


def test_one_wrong_entry_does_not_change_the_model(shapes):
    expected = OFFICIAL["anet_tsp_pdvc"]
    for name, shape in shapes["anet_tsp_pdvc"].items():
        # The only entry that tells the number of queries.
        if name != "query_embed.weight":
            wrong = {**shapes["anet_tsp_pdvc"], name: tuple(size + 4 for size in shape)}
            assert read_model(wrong, Given())[0] == expected, name
            del wrong[name]
            assert read_model(wrong, Given())[0] == expected, name


@pytest.mark.parametrize("segment_frames", [24, 150])
def test_the_checkpoint_runs_live(tmp_path, segment_frames):
    pdvc.save(pdvc.load(made.write_pdvc(tmp_path / "in"), made.GIVEN), tmp_path / "out")
    loaded = load_for_inference(tmp_path / "out")
    info = loaded.feature_info
    config = StreamConfig.from_settings(
        loaded.model_config, loaded.config.streaming, info.stride_s, info.window_s, segment_frames=segment_frames
    )
    features = np.random.default_rng(0).standard_normal((9, 512)).astype(np.float32)
    videos = [("v", live_segments(features, info, 10.0, segment_frames), 10.0)]
    items = predict(loaded.params, config, videos, decode=loaded.vocabulary.decode)["v"]
    # A row ends after 16/15 s, so that with short segments the first one brings none.
    assert {item["segment"] for item in items} == {k for k, rows in enumerate(videos[0][1]) if len(rows)}
    assert {item["sentence"][-1:] for item in items} <= {".", ""}


def saved(tmp_path, vocabulary, **changes):
    model = dataclasses.replace(made.LIGHT, **changes)
    config, _ = read_run(model, Given())
    info = FeatureInfo("tsp", 512, 1.0, 1.0)
    shapes = jax.eval_shape(lambda key: init_params(model, key), jax.random.key(0))
    params = jax.tree.map(lambda leaf: np.full(leaf.shape, 0.5, np.float32), shapes)
    loaded = pdvc.Loaded(0, config, model, vocabulary, info, {}, params=params)
    save_for_inference(loaded, tmp_path / "run")
    return tmp_path / "run"


class Pieces:
    """A vocabulary of another kind."""

    kind = "sentencepiece"


def test_models_without_a_counterpart_are_refused(tmp_path, monkeypatch):
    words = WordVocabulary([*"abcdefghij", "UNK"])
    for name, changes in (("plain", {"transformer": "plain"}), ("count", {"use_counter": False})):
        folder = saved(tmp_path / name, words, **changes)
        with pytest.raises(InputError, match=r"run: PDVC parameters: only the deformable transformer with a counter"):
            pdvc.export(folder, tmp_path / "out.pth")
    folder = saved(tmp_path / "pieces", words)
    loaded = dataclasses.replace(load_for_inference(folder), vocabulary=Pieces())
    monkeypatch.setattr(pdvc, "load_for_inference", lambda folder: loaded)
    with pytest.raises(InputError, match="kind 'sentencepiece' has no counterpart in PDVC"):
        pdvc.export(folder, tmp_path / "out.pth")
    assert not list(tmp_path.glob("out*"))


def test_a_model_trained_here_goes_out_with_every_name(tmp_path):
    folder = saved(tmp_path, WordVocabulary([*"abcdefghij", "UNK"]))
    words = pdvc.export(folder, tmp_path / "out.pth")
    assert json.loads(words.read_text())["ix_to_word"]["2"] == "b"
    found = {name: entry.shape for name, entry in torch_file.read(tmp_path / "out.pth")["model"].items()}
    assert found == pdvc_names.shapes(made.LIGHT)
