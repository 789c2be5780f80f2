"""The forward pass against outputs of the PDVC reference, on weights that are made from their names."""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lvc_jax.models import LiveCaptioner, ModelConfig, resample_indices
from lvc_jax.models.pdvc_names import from_state_dict
from tests.golden import recipe

VIDEOS = ("v_short000028", "v_long0000006")
VARIANTS = {
    f"{kind}_tsp_{padding}": ModelConfig(vocab_size=50, caption_head=head, padding=padding)
    for kind, head in (("light", "lstm"), ("standard", "lstm_dsa"))
    for padding in ("zeros", "border")
}


class Run:
    """One variant's variables and stored outputs, and what the model makes of its two videos as one batch."""

    def __init__(self, folder, variant):
        if not (folder / f"pdvc_{variant}.npz").exists():
            pytest.skip(f"pdvc_{variant}.npz is not there")
        self.config = VARIANTS[variant]
        self.model = LiveCaptioner(self.config)
        kind = variant.split("_")[0]
        entries = recipe.state_dict(folder / f"manifest_pdvc_{kind}_tsp.json")
        self.variables = jax.tree.map(jnp.asarray, from_state_dict(entries, self.config))
        self.stored = np.load(folder / f"pdvc_{variant}.npz")
        self.info = json.loads((folder / f"pdvc_{variant}.json").read_text(encoding="utf-8"))
        videos = [self.info["videos"][video] for video in VIDEOS]
        rows = [recipe.raw(video["feature_tag"], tuple(video["feature_shape"])) for video in videos]
        self.features = np.stack([row[resample_indices(len(row), 100)] for row in rows])
        self.duration = np.asarray([video["duration"] for video in videos], np.float32)

        def forward(variables, features, duration, proposals=None):
            return self.model.apply(
                variables, features, duration, proposals=proposals, capture_intermediates=True, mutable="intermediates"
            )

        self.forward = jax.jit(forward)
        self.decode = jax.jit(functools.partial(self.model.apply, method="decode"))
        self.outputs, inner = self.forward(self.variables, self.features, self.duration)
        self.inner = inner["intermediates"]
        self.captions = self.caption(self.outputs)

    def caption(self, outputs):
        last = outputs["hidden"][-1], outputs["references"][-1], outputs["memory"]
        return self.decode(self.variables, *last)

    def check(self, name, video, value, atol):
        """Compares one array with the stored one of that name, if it was stored."""
        np.testing.assert_allclose(value, self.stored[f"{VIDEOS[video]}/{name}"], rtol=0, atol=atol, err_msg=name)


@pytest.fixture(scope="module", params=list(VARIANTS))
def run(request, shared):
    return Run(shared / "golden" / "pdvc", request.param)


@pytest.fixture(scope="module")
def light(shared):
    return Run(shared / "golden" / "pdvc", "light_tsp_zeros")


def test_resampling(light):
    for video in VIDEOS:
        info = light.info["videos"][video]
        np.testing.assert_array_equal(resample_indices(info["feature_rows"], 100), info["resample_index"])


@pytest.mark.parametrize("video", [0, 1])
def test_pyramid_and_positions(light, video):
    for level, (rows, code) in enumerate(
        zip(light.inner["pyramid"]["__call__"][0], light.inner["positions"]["__call__"][0], strict=True)
    ):
        rows, code = np.asarray(rows[video]), np.asarray(code[video])
        picked = [0, len(rows) // 2, len(rows) - 1]
        light.check(f"src{level}_rows", video, rows[picked], 3e-5)
        light.check(f"src{level}_rowmean", video, rows.mean(axis=-1), 3e-5)
        light.check(f"src{level}_rowstd", video, rows.std(axis=-1), 3e-5)
        light.check(f"pos{level}_rows", video, code[picked], 2e-6)
        light.check(f"pos{level}_rowmean", video, code.mean(axis=-1), 2e-6)


@pytest.mark.parametrize("video", [0, 1])
def test_encoder(run, video):
    for layer in range(2):
        rows = np.asarray(run.inner[f"encoder_{layer}"]["__call__"][0][video])
        run.check(f"enc{layer}_rows", video, rows[run.info["memory_rows"]], 1e-4)
        run.check(f"enc{layer}_rowmean", video, rows.mean(axis=1), 1e-4)
        run.check(f"enc{layer}_rowstd", video, rows.std(axis=1), 1e-4)
        run.check(f"enc{layer}_chanmean", video, rows.mean(axis=0), 1e-4)


@pytest.mark.parametrize("video", [0, 1])
def test_decoder_and_heads(run, video):
    outputs = run.outputs
    run.check("hs", video, outputs["hidden"][:, video], 3e-4)
    run.check("init_reference", video, outputs["references"][0][video], 2e-5)
    run.check("inter_references", video, outputs["boxes"][:, video], 2e-5)
    np.testing.assert_array_equal(outputs["references"][1], outputs["boxes"][0])
    run.check("pred_logits", video, outputs["class_logits"][:, video, :, None], 1e-4)
    run.check("pred_count", video, outputs["count_logits"][:, video], 1e-4)


@pytest.mark.parametrize("video", [0, 1])
def test_boxes(run, video):
    # In evaluation the reference adds the centre's logit to both numbers of the first layer's box.
    box, center = np.asarray(run.outputs["boxes"][:, video], np.float64), run.outputs["references"][0][video]
    center = np.asarray(center, np.float64)[:, 0]
    odds = box[0, :, 1] / (1 - box[0, :, 1]) * center / (1 - center)
    box[0, :, 1] = odds / (1 + odds)
    run.check("pred_boxes_evalmode", video, box, 2e-5)


@pytest.mark.parametrize("video", [0, 1])
def test_greedy_captions(run, video):
    _check_captions(run, "", video, *run.captions)


def test_proposals_in_place_of_queries(light):
    proposals = np.stack([light.stored[f"{video}/gtmode_reference"] for video in VIDEOS])
    outputs, _ = light.forward(light.variables, light.features, light.duration, proposals)
    np.testing.assert_array_equal(outputs["boxes"], np.stack([proposals] * 2))
    tokens, log_probs = light.caption(outputs)
    for video in range(2):
        light.check("gtmode_hs", video, outputs["hidden"][:, video], 3e-4)
        light.check("gtmode_pred_count", video, outputs["count_logits"][-1, video], 1e-4)
        _check_captions(light, "gtmode_", video, tokens, log_probs)


def _check_captions(run, prefix, video, tokens, log_probs):
    expected = run.stored[f"{VIDEOS[video]}/{prefix}cap_seq"]
    steps = expected.shape[1]
    np.testing.assert_array_equal(tokens[video, :, :steps], expected)
    assert not np.asarray(tokens[video, :, steps:]).any()
    # Words and the end token; what the reference emits after the end has no meaning.
    spoken = np.cumsum(expected == 0, axis=1) - (expected == 0) == 0
    wanted = np.where(spoken, run.stored[f"{VIDEOS[video]}/{prefix}cap_logprob"], 0)
    np.testing.assert_allclose(log_probs[video, :, :steps], wanted, rtol=0, atol=2e-4)
