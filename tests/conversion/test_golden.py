"""From a checkpoint file to captions: what the PDVC reference says of two videos, with weights made from names."""

import collections
import json

import pytest

from lvc_jax.conversion import pdvc, torch_writer
from lvc_jax.conversion.pdvc_config import Given
from lvc_jax.streaming.offline import predict
from lvc_jax.streaming.state import StreamConfig
from lvc_jax.training.checkpoints import load_for_inference
from tests.conversion import made
from tests.golden import recipe

# Sums of 30 log-probabilities, each within 2e-5 of a run in float64.
SENTENCE_SCORE = 1e-3


@pytest.mark.parametrize(
    ("kind", "padding"),
    [
        ("light", "zeros"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (("light", "border"), ("standard", "zeros"))),
        pytest.param("standard", "border", marks=pytest.mark.slow),
    ],
)
def test_whole_videos_after_the_rerank(shared, tmp_path, kind, padding):
    folder = shared / "golden" / "pdvc"
    if not (folder / f"pdvc_{kind}_tsp_{padding}.json").exists():
        pytest.skip(f"pdvc_{kind}_tsp_{padding}.json is not there")
    golden = json.loads((folder / f"pdvc_{kind}_tsp_{padding}.json").read_text(encoding="utf-8"))
    state = recipe.state_dict(folder / f"manifest_pdvc_{kind}_tsp.json")
    path = tmp_path / "model.pth"
    torch_writer.write(path, {"epoch": 1, "model": collections.OrderedDict(state), "optimizer": {}})
    made.write_vocabulary(tmp_path / "vocabulary.json", words=list(golden["words"].values()))
    pdvc.save(pdvc.load(path, Given(padding=padding)), tmp_path / "out")
    loaded = load_for_inference(tmp_path / "out")
    assert loaded.config.streaming.ec_alpha == golden["ec_alpha"]

    clips = [
        (video, [recipe.raw(about["feature_tag"], tuple(about["feature_shape"]))], about["duration"])
        for video, about in golden["videos"].items()
    ]
    info = loaded.feature_info
    most = max(len(rows[0]) for _, rows, _ in clips)
    config = StreamConfig.from_settings(
        loaded.model_config, loaded.config.streaming, info.stride_s, info.window_s, max_rows=most
    )
    found = predict(loaded.params, config, clips, batch=2, whole_video=True, decode=loaded.vocabulary.decode)
    for video, expected in golden["dvc_after_rerank"]["results"].items():
        assert [item["query_id"] for item in found[video]] == [item["query_id"] for item in expected]
        for ours, theirs in zip(found[video], expected, strict=True):
            assert ours["sentence"] == theirs["sentence"]
            assert ours["count"] == theirs["pred_event_count"]
            assert ours["timestamp"] == pytest.approx(theirs["timestamp"], abs=1e-3)
            assert ours["score"] == pytest.approx(theirs["joint_score"], abs=1e-4)
            assert ours["proposal_score"] == pytest.approx(theirs["proposal_score"], abs=1e-4)
            assert ours["sentence_score"] == pytest.approx(theirs["sentence_score"], abs=SENTENCE_SCORE)
