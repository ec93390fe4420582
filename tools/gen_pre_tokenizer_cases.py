#!/usr/bin/env python3
"""Writes tests/data/pre_tokenizer_cases.json: texts, and the pieces that an independent regex engine cuts them into.

Needs the PyPI package `regex`. Only characters of Unicode 14 (Python 3.11's unicodedata) are used, whose classes later
versions keep. The output is the same on every run.
"""
import json
import pathlib
import random
import unicodedata

import regex

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "tests/data/pre_tokenizer_cases.json"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")

FIXED = [
    "a   b", "a \n\n b", "->", "(x):\n", "12345", "1234567", "it's IT'S I'LL they'Re 'ſ 'lL 'x", "  12  ab  ", "x=1 ;y= 22",
    "\r\n\r\n", "a\r\n\r\nb", " \u00a0x", "\u00a0\u00a0x", "tab\t\tx", "\n x", " \n", "....\n\n\nend", "\u3000全角　字",
    "e\u0301te\u0301", "हिन्दी में", "👩‍👩‍👧‍👦 🇫🇷", "½ ² Ⅷ ①", "a1b2c3", " 's", "''s", "'", "\u2028x\u2029", "\x85x", "\x00\x1c\x1f a",
]
PARTS = [
    " ", " ", " ", "  ", "   ", "\n", "\r\n", "\r", "\n\n", "\t", "\u00a0", "\u3000", "\u2003", "\x85", "\u200b", "\ufeff",
    "'s", "'S", "'t", "'re", "'LL", "'ve", "'D", "'m", "'", "ſ", "'ſ", "a", "I", "word", "Über", "naïve", "ß", "İ",
    "0", "7", "42", "2026", "½", "²", "Ⅷ", "①", "٣", "९", "𝟘", "_", "-", "--", ".", "...", ",", "!", "?", "(", ")", "{", "}\n",
    "<|im_end|>", "#", "@", "\\", "/", "=", "+", "e\u0301", "\u0301", "हि", "न्", "ก็", "مرحبا", "שלום", "Привет", "世界", "こんにちは", "カ",
    "안녕", "ᄒ", "ﬁ", "🙂", "👋🏽", "👩‍👧", "🇫🇷", "\ufffd", "\U000e0041", "\x00", "\x1b", "€", "™", "…", "—", "“", "”", "ʰ", "ª", "𠀀",
]


def cut(pattern, text):
    pieces = [m[0] for m in regex.finditer(pattern, text)]
    assert "".join(pieces) == text
    return pieces


def cut_smollm(text):
    stretches = regex.findall(r"\p{N}|\P{N}+", text)
    return [piece for stretch in stretches for piece in cut(GPT2, stretch)]


def random_character(rng):
    while True:
        c = chr(rng.randrange(rng.choice([0x80, 0x800, 0x3000, 0x10000, 0x32000])))
        if unicodedata.category(c) not in ("Cn", "Cs", "Co"):
            return c


def random_text(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return "".join(random_character(rng) for _ in range(rng.randint(1, 16)))
    if kind == 1:
        return "".join(rng.choice([rng.choice(PARTS), random_character(rng)]) for _ in range(rng.randint(1, 14)))
    return "".join(rng.choice(PARTS) for _ in range(rng.randint(1, 16)))


def main():
    rng = random.Random(2026)
    texts = FIXED + [random_text(rng) for _ in range(300)]
    cases = [{"text": t, "gpt-2": cut(GPT2, t), "smollm": cut_smollm(t), "qwen2": cut(QWEN2, t)} for t in texts]
    lines = ",\n".join(json.dumps(case) for case in cases)
    OUTPUT.write_text(f"[\n{lines}\n]\n", encoding="ascii")


if __name__ == "__main__":
    main()
