"""METEOR's normaliser, stems, tables and word identity. Expected words were printed by the original program."""

from pathlib import Path

import numpy as np
import pytest

from lvc_jax.metrics.text.meteor import tables
from lvc_jax.metrics.text.meteor.normalise import normalise
from lvc_jax.metrics.text.meteor.phrases import phrases_in
from lvc_jax.metrics.text.meteor.resources import Resources
from lvc_jax.metrics.text.meteor.sentences import java_hash
from lvc_jax.metrics.text.meteor.stem import base_form
from tests.metrics import meteor_files


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        (" \t ", ""),
        ("a,b,c,d", "a , b,c , d"),
        ("1,2,3", "1,2,3"),
        ("1,a,2", "1 , a , 2"),
        ("''a''", '" a "'),
        ("`a` b", "' a ' b"),
        ("a'b'c", "a 'b'c"),
        ("a 'b c'", "a ' b c '"),
        ("1990's 1'x", "1990 's 1'x"),
        ("don't", "don 't"),
        ("the man 's", "the man ' s"),
        ("a.b.c. d", "abc d"),
        ("a... b", "a ... b"),
        ("a.. B", "a .. b"),
        ("a....b", "a .... b"),
        ("No. 5", "no. 5"),
        ("No. Five", "no . five"),
        ("Mr. Smith", "mr. smith"),
        ("end. Next", "end . next"),
        ("end. next", "end. next"),
        ("c. é", "c . é"),
        ("c.\u00a0a", "c . a"),
        ("'.'", "' .'"),
        ("a-b-c-d", "a b-c d"),
        ("a--b x---y", "a b x--y"),
        ("a-.b", "a-.b"),
        ("5.-a", "5. a"),
        ("-a b-", "-a b-"),
        ("abc123!@#", "abc123 ! @ #"),
        ("a’s “b” c–d", 'a \'s " b " c - d'),
        ("é-é Ä ½ 日本", "é é ä ½ 日 本"),
    ],
)
def test_normaliser_equals_the_original(text: str, words: str) -> None:
    assert " ".join(normalise(text, {"Mr", "e.g"}, {"No"})) == words


def test_words_have_the_identity_of_the_original() -> None:
    assert java_hash("hello") == 99162322
    # Strings of one hash are one word to the original.
    assert java_hash("v1") == java_hash("to") and java_hash("k5") == java_hash("is")
    assert java_hash("😀") == 31 * 0xD83D + 0xDE00


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("loonies", "loonie"),
        ("cities", "city"),
        ("rouses", "rouse"),
        ("boxes", "box"),
        ("baking", "bake"),
        ("singing", "singe"),
        ("wiser", "wise"),
        ("popest", "pop"),
        ("firemen", "fireman"),
        ("brass", None),
        ("as", None),
        ("quickly", None),
    ],
)
def test_regular_endings(word: str, base: str | None) -> None:
    known = {"loonie", "loony", "city", "rouse", "rous", "box", "bake", "sing", "singe", "wise", "pop", "pope"}
    assert base_form(word, known | {"fireman", "bras", "a", "quick"}) == base


def test_phrases_are_found_by_start_then_length(tmp_path: Path) -> None:
    resources = Resources(tables.build(meteor_files.write(tmp_path)))
    sentence = ["in", "order", "to", "begin", "a", "number", "of", "many"]
    (found, unknown), links = phrases_in([sentence, ["zebra"]], resources)
    places = [(start, length) for start, length, _ in found]
    assert places == [(0, 3), (3, 1), (4, 3), (7, 1)] and unknown == []
    node = {" ".join(sentence[s : s + n]): node for s, n, node in found}
    # `start`, `several` and `so as to` are in no sentence.
    assert links == {node["a number of"]: ([node["many"]], frozenset({node["many"]}))}


def test_paraphrases_keep_the_order_of_the_file(tmp_path: Path) -> None:
    entries = [("b", "c"), ("a", "d"), ("b", "a"), ("b", "c"), ("a b", "b")]
    resources = Resources(tables.build(meteor_files.write(tmp_path, entries)))
    (found,), links = phrases_in([list("abcd")], resources)
    node = {"abcd"[s : s + n]: node for s, n, node in found}
    assert links[node["b"]][0] == [node["c"], node["a"], node["c"]]
    assert links[node["ab"]][0] == [node["b"]]
    assert phrases_in([[]], resources) == ([[]], {}) and phrases_in([], resources) == ([], {})


def test_an_empty_paraphrase_table_is_no_error(tmp_path: Path) -> None:
    arrays = tables.build(meteor_files.write(tmp_path, []))
    assert phrases_in([["a"]], Resources(arrays)) == ([[]], {})
    assert np.array_equal(arrays["offsets"], [0, 0])
