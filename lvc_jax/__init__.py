"""lvc_jax: live video captioning in JAX and Flax."""

from lvc_jax.version import __version__

__all__ = ["__version__"]
