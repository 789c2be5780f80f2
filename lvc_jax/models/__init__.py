"""Pure Flax modules: arrays in, arrays out."""

from lvc_jax.models.config import ModelConfig
from lvc_jax.models.live_captioner import LiveCaptioner, init_params, parameter_count, prepare
from lvc_jax.models.resample import resample_indices

__all__ = ["LiveCaptioner", "ModelConfig", "init_params", "parameter_count", "prepare", "resample_indices"]
