"""Words, pieces and token ids."""

import json
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from lvc_jax.data import annotations, vocabulary
from lvc_jax.data.vocabulary import SentencePieceVocabulary, WordVocabulary
from lvc_jax.data.vocabulary_words import split_words
from lvc_jax.errors import InputError

CORPUS = ["A man runs.", "a man falls, then a dog runs", "The dog's owner waves!"] * 3


@pytest.fixture(scope="module")
def words():
    return WordVocabulary.build(CORPUS)


@pytest.fixture(scope="module")
def pieces():
    return SentencePieceVocabulary.train(CORPUS, size=60)


@pytest.fixture(params=["words", "pieces"])
def either(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('A,B:c!d_e;f-g.h?i/j"k\\nl\\m', list("abcdefghijklm")),
        ("The dog's  tail\nwags.", ["the", "dog's", "tail", "wags"]),
        ("(a) #1 & caf\u00c9", ["(a)", "#1", "&", "caf\u00e9"]),
        (" ...!? ", []),
    ],
)
def test_words_of_a_text(text, expected):
    assert split_words(text) == expected


def test_build_orders_by_count_then_spelling(words):
    assert words.words == ("a", "man", "runs", "dog", "dog's", "falls", "owner", "the", "then", "waves", "UNK")
    assert WordVocabulary.build(reversed(CORPUS)).fingerprint == words.fingerprint
    assert WordVocabulary.build(CORPUS, min_count=6).words == ("a", "man", "runs", "UNK")


def test_encode_frames_the_ids_with_zeros(words):
    tokens = words.encode("A zebra runs!", max_len=7)
    assert tokens.tolist() == [0, 1, words.size, 3, 0, 0, 0]
    assert tokens.dtype == np.int32


def test_encode_keeps_the_first_words_only(either):
    tokens = either.encode("a man runs " * 30)
    assert tokens.shape == (30,)
    assert tokens[0] == tokens[-1] == 0
    assert (tokens[1:-1] > 0).all()
    assert either.encode("a man", max_len=2).tolist() == [0, 0]


def test_decode_stops_at_the_first_zero(words):
    assert words.decode([2, 3, 0, 1]) == "man runs."
    assert words.decode(np.array([1, 11])) == "a UNK."
    assert words.decode([0, 1, 2]) == ""
    assert words.decode([]) == ""


def test_decode_refuses_an_id_outside(either):
    with pytest.raises(ValueError, match="token id"):
        either.decode([either.size + 1])
    with pytest.raises(ValueError, match="token id"):
        either.decode([-1])


def test_sentences_come_back(either):
    assert either.decode(either.encode("a man falls, then a dog runs")[1:]).replace(",", "").rstrip(".") == (
        "a man falls then a dog runs"
    )


def test_both_survive_json_and_pickle(either):
    again = vocabulary.from_dict(json.loads(json.dumps(either.to_dict())))
    assert type(again) is type(either)
    assert again.fingerprint == pickle.loads(pickle.dumps(either)).fingerprint == either.fingerprint
    text = "the dog falls then waves"
    np.testing.assert_array_equal(again.encode(text), either.encode(text))


@given(st.text(), st.integers(2, 40))
def test_any_text_encodes(words, pieces, text, max_len):
    for one in (words, pieces):
        tokens = one.encode(text.encode("utf-8", "ignore").decode(), max_len)
        assert tokens.shape == (max_len,)
        assert tokens[0] == tokens[-1] == 0
        length = np.count_nonzero(tokens)
        assert (tokens[1 : length + 1] > 0).all()
        assert tokens.max() <= one.size
        one.decode(tokens[1:])


def test_training_pieces_is_repeatable(pieces, capfd):
    assert SentencePieceVocabulary.train(CORPUS, size=60).fingerprint == pieces.fingerprint
    assert capfd.readouterr() == ("", "")


def test_pieces_are_shifted_by_one(pieces):
    raw = pieces._processor.encode("a man")
    assert pieces.encode("A man")[1 : len(raw) + 1].tolist() == [i + 1 for i in raw]
    # Piece 0 is the unknown one: token 1, never mistaken for the end.
    assert 1 in pieces.encode("\u2603")
    assert pieces.decode([0]) == ""


def test_pieces_load_from_a_model_file(pieces, tmp_path):
    path = tmp_path / "x.model"
    path.write_bytes(pieces._model)
    assert SentencePieceVocabulary.load(path).fingerprint == pieces.fingerprint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a vocabulary JSON"),
        ("[]", "'ix_to_word' is missing"),
        ('{"ix_to_word": {}}', "'ix_to_word' is missing or empty"),
        ('{"ix_to_word": {"1": "a", "3": "UNK"}}', "id 2 is missing"),
        ('{"ix_to_word": {"0": "a", "1": "UNK"}}', "id 2 is missing"),
        ('{"ix_to_word": {"1": "a", "2": "b"}}', "last id must be 'UNK'"),
        ('{"ix_to_word": {"1": "a", "2": "a", "3": "UNK"}}', "more than one id"),
        ('{"ix_to_word": {"1": 5, "2": "UNK"}}', "id 1: expected a word"),
        ('{"ix_to_word": {"1": "a", "2": "UNK"}, "word_to_ix": {"a": 2, "UNK": 1}}', "disagree"),
    ],
)
def test_a_wrong_vocabulary_file_is_named(tmp_path, content, message):
    path = tmp_path / "v.json"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"v\.json.*{message}"):
        WordVocabulary.load(path)


def test_other_wrong_inputs(tmp_path):
    with pytest.raises(InputError, match="no such vocabulary file"):
        WordVocabulary.load(tmp_path / "none.json")
    with pytest.raises(InputError, match="lower min_count"):
        WordVocabulary.build(CORPUS, min_count=99)
    with pytest.raises(InputError, match=r"none\.model: cannot be read"):
        SentencePieceVocabulary.load(tmp_path / "none.model")
    (tmp_path / "bad.model").write_bytes(b"hello")
    with pytest.raises(InputError, match=r"bad\.model: .*not a SentencePiece model|bad\.model: an empty"):
        SentencePieceVocabulary.load(tmp_path / "bad.model")
    with pytest.raises(InputError, match="no sentence"):
        SentencePieceVocabulary.train([" "])
    with pytest.raises(InputError, match="cannot train 2 pieces"):
        SentencePieceVocabulary.train(CORPUS, size=2)
    for content in ({"kind": "letters"}, {}, {"kind": ["words"]}):
        with pytest.raises(InputError, match="is unknown"):
            vocabulary.from_dict(content)
    for content in ({"kind": "words"}, {"kind": "sentencepiece"}, {"kind": "sentencepiece", "model": "!"}):
        with pytest.raises(InputError, match="checkpoint is damaged"):
            vocabulary.from_dict(content)


@pytest.mark.parametrize(
    ("folder", "files", "min_count", "size"),
    [("activitynet_captions", ("train", "val_1", "val_2"), 4, 5747), ("youcook2", ("train", "val"), 2, 1607)],
)
def test_published_vocabularies_load_and_can_be_rebuilt(shared, folder, files, min_count, size):
    published = WordVocabulary.load(shared / "data" / folder / "vocabulary.json")
    assert published.size == size
    assert published.words[-3:] == ("<bos>", "<eos>", "UNK")
    assert published.encode("zzzz")[1] == size
    corpus = (
        event.sentence
        for name in files
        for video in annotations.load(shared / "data" / folder / f"{name}.json").videos.values()
        for event in video.events
    )
    built = WordVocabulary.build(corpus, min_count)
    # The published files also hold <bos> and <eos>, which nothing uses.
    assert set(built.words) == set(published.words) - {"<bos>", "<eos>"}
