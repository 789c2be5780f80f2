"""The live program's memory: the flag's, else the checkpoint's, else 3."""

from types import SimpleNamespace

import pytest

from lvc_jax import live
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.training.run_config import default_config, from_json, to_json
from tests.commands import given
from tests.streaming.conftest import MODEL


@pytest.mark.parametrize(
    ("flag", "own", "used"), [(None, None, 3), (None, 1, 1), (None, 5, 5), (2, 5, 2), (2, None, 2)]
)
def test_memory(flag, own, used):
    saved = to_json(default_config())
    del saved["streaming"]["memory"]
    if own is not None:
        saved["streaming"]["memory"] = own
    info = FeatureInfo("numbers", MODEL.feature_dim, 0.4, 0.4)
    loaded = SimpleNamespace(config=from_json(saved), model_config=MODEL, feature_info=info)
    with given(live, memory=flag):
        assert live.stream_config(loaded).memory == used


def test_the_help_names_the_default():
    assert "or 3 if it names none" in live.FLAGS["memory"].help
