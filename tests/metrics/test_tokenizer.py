"""Tokens after the PTB rules: hand-made rows here, the original tokenizer's rows where they are at hand."""

import json
from pathlib import Path

import pytest

from lvc_jax.metrics.text.tokenizer import tokenize

# Outputs of the original tokenizer (PTBTokenizer -lowerCase, then the toolkits' punctuation filter).
ROWS = [
    ("A man is playing the guitar.", "a man is playing the guitar"),
    ("He can't, won't and doesn't.", "he ca n't wo n't and does n't"),
    ("it's 5:30 o'clock", "it 's 5:30 o'clock"),
    ("(in red)", "-lrb- in red -rrb-"),
    ("a t-shirt / a girl/toddler", "a t-shirt / a girl/toddler"),
    ("they cannot go", "they can not go"),
    ("$5.00 and 50% off", "$ 5.00 and 50 % off"),
    ("at 10am or 10:30am", "at 10am or 10:30 am"),
    ("Mr. Smith in the U.S.A. etc.", "mr. smith in the u.s.a. etc."),
    ("wait... what", "wait what"),
    ("caf\u00e9 bar\nnew line", "caf bar new line"),
    ("  ", ""),
    ("", ""),
    ("1 1/2 cups", "1\u00a01/2 cups"),
    ("he says no.", "he says no"),
]


@pytest.mark.parametrize(("raw", "tokens"), ROWS)
def test_rules(raw: str, tokens: str) -> None:
    assert " ".join(tokenize(raw)) == tokens


def test_rows_of_the_original(shared: Path) -> None:
    rows = json.loads((shared / "golden/text/tokenizer.json").read_text())["rows"]
    right = sum(" ".join(tokenize(row["raw"])) == row["tokens_joined"] for row in rows)
    assert right == len(rows) == 501
