"""Kernels. Knows jax and nothing else; installed as `lvc_jax.ops`."""
