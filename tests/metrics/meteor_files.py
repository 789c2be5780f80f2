"""A small hand-made set of METEOR's linguistic files, in the form of the originals, for tests without the extra."""

import gzip
import zipfile
from pathlib import Path

from lvc_jax.metrics.text.meteor import tables
from lvc_jax.metrics.text.meteor.resources import Resources
from lvc_jax.metrics.text.meteor.scorer import Meteor
from lvc_jax.metrics.text.meteor.sources import Files

LISTS = {
    "function/english.words": ["the", "a", "to", "of", "is", "in"],
    "nonbreaking/english.prefixes": ["#comment", "", "Mr", "e.g", "No #NUMERIC_ONLY#"],
    "synonym/english.synsets": [
        *("car", "1 2", "automobile", "1", "train", "3", "mouse", "4", "rodent", "4 5"),
        *("go", "6", "travel", "6", "bake", "7", "cook", "7", "railway_car", "2"),
    ],
    "synonym/english.exceptions": ["mouse", "mice", "go", "went gone"],
}
# phrase -> paraphrase; "begin" and "start" are in the table both ways.
PARAPHRASES = [
    ("in order to", "so as to"),
    ("begin", "start"),
    ("start", "begin"),
    ("a number of", "many"),
    ("a number of", "several"),
    ("again", "once more"),
]


def write(folder: Path, paraphrases: list[tuple[str, str]] = PARAPHRASES) -> Files:
    """Writes the files into a folder."""
    files = Files(folder / "meteor-1.5.jar", folder / "paraphrase-en.gz")
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(files.jar, "w") as jar:
        for name, lines in LISTS.items():
            jar.writestr(name, "".join(f"{line}\n" for line in lines))
    files.paraphrases.write_bytes(gzip.compress("".join(f"0.5\n{a}\n{b}\n" for a, b in paraphrases).encode()))
    return files


def stem(word: str) -> str:
    """Cuts the plural and the participle."""
    return word.removesuffix("ing").removesuffix("s")


def small_meteor(folder: Path) -> Meteor:
    """METEOR on the hand-made files."""
    return Meteor(Resources(tables.build(write(folder))), stem)
