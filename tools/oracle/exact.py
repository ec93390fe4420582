#!/usr/bin/env python3
"""Exact answers of a GGUF model, from the float64 model in model.py.

    exact.py MODEL.gguf --ids FILE_OR_JSON [--greedy N] --out FILE.jsonl

--ids is a JSON array of ids, or a file with one such array (or an object with "ids") a line. Each gives one line:
    {"ids": [...], "positions": [{"ids": [best, second], "logits": [l1, l2]}, ...]}
Without --greedy position i is what follows ids[0..i] (teacher-forced). With it, the line also has "greedy", up to N
ids (an end token included), and position i is what chose greedy[i].
"""

import argparse
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import model as oracle  # noqa: E402


def read_ids(source):
    """The lists of ids in a JSON text or a file."""
    text = source
    if not source.lstrip().startswith(("[", "{")):
        with open(source, encoding="utf-8") as file:
            text = file.read()
    try:
        values = [json.loads(text)]
    except json.JSONDecodeError:
        values = [json.loads(line) for line in text.splitlines() if line.strip()]
    lists = [value["ids"] if isinstance(value, dict) else value for value in values]
    if not lists:
        raise ValueError(f"{source} holds no ids")
    for ids in lists:
        if not isinstance(ids, list) or not ids or not all(type(i) is int for i in ids):
            raise ValueError(f"expected non-empty arrays of whole numbers, found {str(ids)[:60]}")
    return lists


def answer(model, ids, greedy):
    if greedy is None:
        return {"ids": ids, "positions": oracle.teacher_forced(model, ids)}
    chosen, positions = oracle.greedy(model, ids, greedy)
    return {"ids": ids, "greedy": chosen, "positions": positions}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--ids", required=True, help="JSON, or a file of it")
    parser.add_argument("--greedy", type=int, metavar="N", help="run free for up to N ids")
    parser.add_argument("--out", required=True, metavar="FILE.jsonl")
    arguments = parser.parse_args()
    try:
        lists = read_ids(arguments.ids)
        model = oracle.Model(arguments.model)
        with open(arguments.out, "w", encoding="utf-8") as out:
            for ids in lists:
                start = time.monotonic()
                line = answer(model, ids, arguments.greedy)
                out.write(json.dumps(line) + "\n")
                print(f"{len(ids)} ids, {len(line['positions'])} positions, {time.monotonic() - start:.1f} s")
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"exact.py: {error}")


if __name__ == "__main__":
    main()
