"""Installs lvc_jax. `ops/` of the repository becomes the package `lvc_jax.ops`."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
VERSION = re.search(r'"(.+)"', (ROOT / "lvc_jax/version.py").read_text(encoding="utf-8").splitlines()[-1]).group(1)

OPS = ["lvc_jax.ops"] + [f"lvc_jax.ops.{name}" for name in find_packages("ops")]

# Version 3 of the stemmer follows a newer Snowball English: other stems, other scores.
METEOR = ["pycocoevalcap==1.2", "snowballstemmer==2.2.0"]
CONVERT = ["safetensors>=0.5"]

setup(
    name="lvc-jax",
    version=VERSION,
    description="Live video captioning in JAX and Flax: train, score, caption a stream live",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8") if (ROOT / "README.md").exists() else "",
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=find_packages(include=["lvc_jax", "lvc_jax.*"]) + OPS,
    package_dir={"lvc_jax": "lvc_jax", "lvc_jax.ops": "ops"},
    package_data={"lvc_jax": ["assets/**/*", "py.typed"]},
    install_requires=[
        "absl-py>=2.1",
        "array-record>=0.8",
        "av>=14",
        "flax>=0.12.6",
        "grain>=0.2.15",
        "h5py>=3.11",
        "jax>=0.10",
        "jaxtyping>=0.3",
        "matplotlib>=3.9",
        "ml-collections>=1.1",
        "ml_dtypes>=0.5",
        "numpy>=2.1",
        "optax>=0.2.6",
        "orbax-checkpoint>=0.11.30",
        "rich>=13.9",
        "scipy>=1.14",
        "sentencepiece>=0.2",
        "tensorboardX>=2.6",
        "tensorflow-datasets>=4.9.9",
    ],
    extras_require={
        "convert": CONVERT,
        "meteor": METEOR,
        "test": [
            *CONVERT,
            *METEOR,
            "beartype>=0.19",
            "build>=1.2",
            "hypothesis>=6.115",
            "mypy>=1.13",
            "pytest>=8.3",
            "pytest-xdist>=3.6",
            "ruff>=0.9",
            "setuptools>=77",
            "wheel>=0.45",
        ],
    },
)
