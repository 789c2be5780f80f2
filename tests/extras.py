"""Marks of the tests that need what not every machine has; a skipped test says what is missing."""

import shutil

import pytest

from lvc_jax.metrics.text import meteor

needs_meteor = pytest.mark.skipif(
    not meteor.available(), reason="METEOR's resources are not installed: pip install 'lvc-jax[meteor]'"
)
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="no Java on this machine")
