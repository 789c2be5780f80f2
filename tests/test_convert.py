"""The convert command: from a file to captions of a video, and one line for every damaged file."""

import dataclasses
import json
import subprocess
import sys

import av
import jax
import numpy as np
import pytest

from lvc_jax import convert, evaluate, live
from lvc_jax.backbones import BACKBONES
from lvc_jax.conversion import torch_writer
from lvc_jax.data.feature_store import FeatureInfo, save_info
from lvc_jax.errors import InputError
from lvc_jax.training.checkpoints import load_for_inference
from tests.commands import given
from tests.conversion import made
from tests.conversion.test_torch_file import HOSTILE, zipped
from tests.evaluation.conftest import INFO, Memory

SAID = {"num_heads": 2, "num_frames": 12}


def run(**flags):
    with given(convert, **{"format": "pdvc", **flags}):
        convert.main()


def test_from_a_file_to_captions_of_a_video(tmp_path, capsys):
    info = BACKBONES["colour_moments"]().info
    save_info(tmp_path, FeatureInfo(info.backbone, info.dim, info.stride_s, info.window_s))
    model = dataclasses.replace(made.LIGHT, feature_dim=info.dim)
    path = made.write_pdvc(tmp_path / "in", made.state_dict(model))
    run(input=str(path), output=str(tmp_path / "out"), features=str(tmp_path), **SAID)
    said = capsys.readouterr().out
    assert "PDVC captioner, epoch 8" in said
    assert "caption_head lstm, " in said
    assert "assumed, flags of these names say otherwise: num_points 2, padding zeros, ec_alpha 0.3, dataset " in said
    movie = tmp_path / "movie.mp4"
    with av.open(movie, "w") as container:
        stream = container.add_stream("mpeg4", rate=30)
        stream.width = stream.height = 64
        for i in range(60):
            picture = np.full((64, 64, 3), 4 * i, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    folder = tmp_path / "captions"
    with given(live, checkpoint=str(tmp_path / "out"), source=str(movie), output=str(folder), segment_frames=24):
        live.main()
    items = [json.loads(line) for line in (folder / "captions.jsonl").read_text().splitlines()]
    assert {item["segment"] for item in items} == {0, 1, 2}


def test_evaluate_takes_it_offline_and_live(tmp_path, monkeypatch):
    save_info(tmp_path, INFO)
    path = made.write_pdvc(tmp_path / "in", made.state_dict(dataclasses.replace(made.LIGHT, feature_dim=INFO.dim)))
    run(input=str(path), output=str(tmp_path / "out"), features=str(tmp_path), ec_alpha=0.4, **SAID)
    monkeypatch.setattr(evaluate, "open_dataset", lambda *_: Memory())
    places = {"checkpoint": str(tmp_path / "out"), "output": str(tmp_path / "scores")}
    with given(evaluate, segment_frames="video,60", baselines=["none"], batch=2, **places):
        evaluate.main()
    for frames, segments in (("video", {0}), ("60", {0, 1, 2, 3, 4})):
        predictions = json.loads((tmp_path / "scores" / f"predictions_{frames}.json").read_text())
        assert {item["segment"] for items in predictions["results"].values() for item in items} == segments
        assert (predictions["header"]["mode"], predictions["header"]["consolidation"]) == ("reference", "rerank")
    loaded = load_for_inference(tmp_path / "out")
    assert (loaded.config.streaming.ec_alpha, loaded.config.streaming.min_events) == (0.4, 1)


def test_there_and_back(tmp_path, capsys):
    path = made.write_pdvc(tmp_path / "in")
    run(input=str(path), output=str(tmp_path / "out"), **SAID)
    run(input=str(tmp_path / "out"), output=str(tmp_path / "back.pth"), reverse=True)
    assert "with PDVC's names; its vocabulary: " in capsys.readouterr().out
    run(input=str(tmp_path / "back.pth"), output=str(tmp_path / "again"), **SAID)
    one, two = (load_for_inference(tmp_path / name) for name in ("out", "again"))
    jax.tree.map(np.testing.assert_array_equal, one.params, two.params)
    assert one.to_json() == two.to_json()


def renamed(state):
    state["query_embedding.weight"] = state.pop("query_embed.weight")


def reshaped(state):
    state["class_head.0.bias"] = np.ones(2, np.float32)


def disagreeing(state):
    state["caption_head.1.logit.bias"] = state["caption_head.1.logit.bias"] + 1


def infinite(state):
    state["class_head.1.bias"] = np.full(1, np.nan, np.float32)


DAMAGED = {
    "renamed": (renamed, r"missing query_embed\.weight; unexpected query_embedding\.weight"),
    "reshaped": (reshaped, r"wrongly shaped class_head\.0\.bias \[2\] for \[1\]"),
    "disagreeing": (disagreeing, r"differing caption_head\.1\.logit\.bias from caption_head\.0\.logit\.bias"),
    "infinite": (infinite, r"not finite: in class_head\.1\.bias"),
}


def refused(tmp_path, path, said, **flags):
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=said) as error:
        run(**{"input": str(path), "output": str(tmp_path / "out"), **SAID, **flags})
    assert "\n" not in str(error.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_entries(tmp_path, name):
    change, said = DAMAGED[name]
    state = made.state_dict()
    change(state)
    refused(tmp_path, made.write_pdvc(tmp_path / "in", state), said)


@pytest.mark.parametrize("part", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_truncated(tmp_path, part):
    path = made.write_pdvc(tmp_path / "in")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    refused(tmp_path, path, r"model-best\.pth: ")


@pytest.mark.parametrize("name", HOSTILE)
def test_objects_in_the_file(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = zipped(made.write_pdvc(tmp_path / "in"), b"\x80\x02" + HOSTILE[name] + b".")
    refused(tmp_path, path, rf"names {name}: refused")


def test_a_vocabulary_of_another_size(tmp_path):
    path = made.write_pdvc(tmp_path / "in")
    words = made.write_vocabulary(tmp_path / "words.json", 9)
    refused(tmp_path, path, "has 9 words, but the word embedding of .* has 11", vocabulary=str(words))


def test_flags_that_do_not_fit(tmp_path):
    path = made.write_pdvc(tmp_path / "in")
    refused(tmp_path, path, "--format is missing", format=None)
    refused(tmp_path, "", "--input is missing")
    refused(tmp_path, path, "--output is missing", output=None)
    refused(tmp_path, path, "--num_heads says something of a PDVC file that is read", format="tsp")
    refused(tmp_path, path, "--num_heads says something of a PDVC file that is read", reverse=True)
    refused(tmp_path, path, "is there already; name a new folder", output=str(tmp_path / "in"))
    refused(tmp_path, path, "is a file; give a folder", output=str(path))
    refused(tmp_path, tmp_path / "none.pth", "no such file")
    nothing_said = {"num_heads": None, "num_frames": None, "reverse": True}
    refused(tmp_path, path, r"name a \.pth or \.safetensors file", **nothing_said)
    refused(tmp_path, path, "model-best.pth: is there already; name a new file", output=str(path), **nothing_said)
    made.write_vocabulary(tmp_path / "b.vocabulary.json")
    refused(tmp_path, tmp_path / "in", "no checkpoint here", output=str(tmp_path / "b.pth"), **nothing_said)


def test_one_vocabulary_serves_two_formats_and_another_is_never_overwritten(tmp_path):
    path = made.write_pdvc(tmp_path / "in")
    run(format="pdvc", input=str(path), output=str(tmp_path / "out"), num_heads=2, num_frames=12)
    back = {"format": "pdvc", "input": str(tmp_path / "out"), "reverse": True}
    run(**back, output=str(tmp_path / "b.pth"))
    words = (tmp_path / "b.vocabulary.json").read_text()
    run(**back, output=str(tmp_path / "b.pt"))
    assert (tmp_path / "b.vocabulary.json").read_text() == words
    made.write_vocabulary(tmp_path / "c.vocabulary.json", words=["other", "UNK"])
    with pytest.raises(InputError, match=r"c\.vocabulary\.json: is there already with other words"):
        run(**back, output=str(tmp_path / "c.pth"))
    assert not (tmp_path / "c.pth").exists()


def test_a_missing_library_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    refused(tmp_path, tmp_path / "x.safetensors", r"pip install 'lvc-jax\[convert\]'")


def test_a_tsp_checkpoint(tmp_path, capsys):
    from tests.conversion.test_tsp import NARROW, classifiers, state_dict

    state = state_dict(NARROW[34], "features.") | classifiers("fc1", "fc2")
    torch_writer.write(tmp_path / "in.pth", {"model": state})
    run(format="tsp", input=str(tmp_path / "in.pth"), output=str(tmp_path / "out"))
    run(format="tsp", input=str(tmp_path / "out"), output=str(tmp_path / "back.pth"), reverse=True)
    said = capsys.readouterr().out
    assert "R(2+1)D-34, batch norm epsilon 0.001" in said
    assert "not used, classifiers: fc1.weight, fc1.bias, fc2.weight, fc2.bias" in said
    assert "with the names of TSP, without classifiers" in said


def test_the_command_itself(tmp_path):
    path = tmp_path / "model.pth"
    path.write_bytes(b"no checkpoint")
    command = [sys.executable, "-m", "lvc_jax.convert", "--format=pdvc", str(path), f"--output={tmp_path / 'out'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {path}: neither a zip file nor ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]
