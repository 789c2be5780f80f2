"""A folder of backbone weights: whole or not at all, and every damage is one line."""

import json

import numpy as np
import pytest

from lvc_jax import backbones
from lvc_jax.backbones import weights
from lvc_jax.backbones.r2plus1d_names import to_state_dict
from lvc_jax.errors import InputError
from tests.backbones import tiny


@pytest.fixture
def folder(tmp_path):
    weights.save_weights(tmp_path / "w", tiny.config(18), tiny.variables(18))
    return tmp_path / "w"


def test_there_and_back(folder):
    config, variables = weights.load_weights(folder)
    assert config == tiny.config(18)
    state, wanted = to_state_dict(variables, config), tiny.state_dict(18)
    assert all((state[name] == wanted[name]).all() for name in wanted)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["w"]


def test_the_fingerprint_is_of_the_numbers_alone(folder, tmp_path):
    weights.save_weights(tmp_path / "again", tiny.config(18, dtype="bfloat16"), tiny.variables(18))
    assert weights.load_fingerprint(tmp_path / "again") == weights.load_fingerprint(folder)
    changed = tiny.variables(18)
    changed["params"]["stem"]["temporal_norm"]["bias"][0] += 1
    weights.save_weights(tmp_path / "other", tiny.config(18), changed)
    assert weights.load_fingerprint(tmp_path / "other") != weights.load_fingerprint(folder)


def test_what_is_there_is_left_alone(folder):
    with pytest.raises(InputError, match="is there already"):
        weights.save_weights(folder, tiny.config(18), tiny.variables(18))


def test_variables_of_another_network_leave_nothing(tmp_path):
    with pytest.raises(InputError, match="is missing"):
        weights.save_weights(tmp_path / "w", tiny.config(34), tiny.variables(18))
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="no space"):
        weights.save_weights(tmp_path / "w", tiny.config(18), tiny.variables(18))
    assert not list(tmp_path.iterdir())


def truncate(folder):
    data = (folder / weights.ARRAYS).read_bytes()
    (folder / weights.ARRAYS).write_bytes(data[: len(data) // 2])


def without_arrays(folder):
    (folder / weights.ARRAYS).unlink()


def without_about(folder):
    (folder / weights.ABOUT).unlink()


def half_about(folder):
    (folder / weights.ABOUT).write_text((folder / weights.ABOUT).read_text()[:40])


def other_depth(folder):
    about = json.loads((folder / weights.ABOUT).read_text())
    (folder / weights.ABOUT).write_text(json.dumps({**about, "depth": 34}))


def other_architecture(folder):
    about = json.loads((folder / weights.ABOUT).read_text())
    (folder / weights.ABOUT).write_text(json.dumps({**about, "architecture": "c3d"}))


def pickled(folder):
    np.savez(folder / weights.ARRAYS, **{**tiny.state_dict(18), "stem.0.weight": np.array([{}], object)})


def not_finite(folder):
    state = tiny.state_dict(18)
    np.savez(folder / weights.ARRAYS, **{**state, "stem.1.bias": np.full_like(state["stem.1.bias"], np.nan)})


def another_number(folder):
    state = tiny.state_dict(18)
    np.savez(folder / weights.ARRAYS, **{**state, "stem.1.bias": state["stem.1.bias"] + 1})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate, "missing or damaged"),
        (without_arrays, "missing or damaged"),
        (without_about, "weights.json: missing or damaged"),
        (half_about, "weights.json: missing or damaged"),
        (other_depth, "is missing"),
        (other_architecture, "'c3d' is not"),
        (pickled, "missing or damaged"),
        (not_finite, "stem.1.bias holds numbers that are not finite"),
        (another_number, "not the numbers"),
    ],
)
def test_damage(folder, damage, message):
    damage(folder)
    with pytest.raises(InputError, match=message) as caught:
        weights.load_weights(folder)
    assert "\n" not in str(caught.value)


def test_get(folder):
    extractor = backbones.get("r2plus1d_18", folder)
    assert extractor.info == backbones.RowClock("r2plus1d_18", 32, 16 / 15, 16 / 15)
    for name, given, message in (
        ("tsp", folder, r"R\(2\+1\)D-18, but tsp is an R\(2\+1\)D-34.*r2plus1d_18"),
        ("tsp", None, "--backbone_weights=DIR.*convert --format=tsp"),
        ("tsp", folder / "none", "no such folder"),
        ("colour_moments", folder, "has no weights"),
        ("resnet", None, "unknown; choose one of colour_moments, r2plus1d_18, tsp"),
    ):
        with pytest.raises(InputError, match=message):
            backbones.get(name, given)
