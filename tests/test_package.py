"""The built wheel works away from the repository, and `import lvc_jax` stays light."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def python(code: str, *, cwd: Path, path: Path | None = None) -> str:
    env = {"PATH": "", "JAX_PLATFORMS": "cpu", **({"PYTHONPATH": str(path)} if path else {})}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_wheel_holds_every_room(tmp_path: Path) -> None:
    source = tmp_path / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(source)], check=True)
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path / "dist"),
        str(source),
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("lvc_jax-*.whl")
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    code = "import lvc_jax, lvc_jax.ops.deformable_attention as d; print(lvc_jax.__file__); print(d.__file__)"
    for line in python(code, cwd=tmp_path, path=site).splitlines():
        assert line.startswith(str(site))
    rooms = {p.name for p in (site / "lvc_jax").iterdir() if p.is_dir()}
    assert {"ops", "models", "data", "training", "streaming", "metrics", "outputs", "evaluation"} <= rooms
    assert not (site / "ops").exists()


def test_import_is_light(tmp_path: Path) -> None:
    heavy = ("tensorflow", "torch", "jax", "tensorflow_datasets")
    code = f"import sys, lvc_jax; print([m for m in {heavy!r} if m in sys.modules])"
    assert python(code, cwd=tmp_path) == "[]"


def test_version_is_one() -> None:
    import importlib.metadata

    import lvc_jax

    assert importlib.metadata.version("lvc-jax") == lvc_jax.__version__
