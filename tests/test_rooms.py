"""Who may import whom: imports point downwards only, and heavy packages stay out of the core."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# A room may import rooms of a lower floor, its own room, and - where said - a neighbour on the same floor.
FLOORS = {
    "ops": 0,
    "models": 1,
    "backbones": 1,
    "data": 2,
    "metrics": 2,
    "training": 3,
    "streaming": 3,
    "outputs": 3,
    "evaluation": 4,
    "conversion": 4,
    "commands": 5,
}
FREE = {"errors", "files", "version", "cli", "compilation"}
FORBIDDEN = {
    # models know neither data nor files; metrics know neither models nor how data is stored.
    "models": {"data", "backbones"},
    "metrics": {"models", "backbones", "ops", "data"},
    "outputs": {"models", "backbones", "ops", "training", "streaming"},
    "training": {"streaming", "outputs", "metrics"},
    "streaming": {"training", "metrics"},
    "data": {"metrics"},
    "conversion": {"evaluation", "metrics", "outputs"},
    "evaluation": {"conversion"},
}
HEAVY = {"torch", "tensorflow", "clu", "chex"}


def room_of(path: Path) -> str:
    relative = path.relative_to(ROOT)
    if relative.parts[0] == "ops":
        return "ops"
    return relative.parts[1] if len(relative.parts) > 2 else relative.stem


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def files() -> list[Path]:
    return sorted(p for folder in ("lvc_jax", "ops") for p in (ROOT / folder).rglob("*.py"))


def floor(room: str) -> int:
    return FLOORS.get(room, FLOORS["commands"])


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    room = room_of(path)
    for name in imports_of(path):
        assert name.split(".")[0] not in HEAVY, f"{path}: {name} is too heavy for the core"
        parts = name.split(".")
        if parts[0] != "lvc_jax" or len(parts) == 1 or parts[1] in FREE or parts[1].startswith("__"):
            continue
        target = parts[1]
        assert room not in FREE, f"{path}: {room} is free to all, so it may import no room"
        if target == room:
            continue
        assert target in FLOORS and target != "commands", f"{path}: nothing imports a command ({name})"
        assert target not in FORBIDDEN.get(room, set()), f"{path}: {room} must not know {target}"
        assert floor(target) <= floor(room), f"{path}: {room} imports upwards ({name})"


def test_ops_knows_only_jax() -> None:
    for path in (ROOT / "ops").rglob("*.py"):
        for name in imports_of(path):
            if name.startswith("lvc_jax"):
                assert name.startswith("lvc_jax.ops"), f"{path}: {name}"


def test_no_file_is_long() -> None:
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in files()}
    assert not {str(p): n for p, n in lengths.items() if n > 500}
