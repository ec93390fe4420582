#!/usr/bin/env python3
"""Compares Tenon with the exact answers of a real model in tests/data/reference/smollm2_exact.jsonl.

    check_exact.py MODEL.gguf [--tenon BIN] [--device D] [--mode forced|free|both] [--prompts N] [--positions P] …

forced: `tenon score` on prompt + greedy ids; at each greedy step the two best logits must agree within
        atol + rtol * |exact|, and the best id unless the exact two best are closer than that.
free:   `tenon run --raw --json`; its ids equal the exact greedy ids up to the first step whose two best logits are
        closer than the tolerance (from there on the two texts may rightly part).
"""

import argparse
import json
import os
import sys

from check_score import CheckError, HERE, add_options, nearly_tied, report, run_json, score

REFERENCE = os.path.join(HERE, "..", "tests", "data", "reference", "smollm2_exact.jsonl")


def read_reference(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    if not lines:
        raise CheckError(f"{path} is empty")
    for line in lines:
        if not line["ids"] or len(line["greedy"]) != len(line["top2"]):
            raise CheckError(f"{path}: a line does not hold one pair of logits for each greedy id")
    return lines


def exact_positions(line, limit):
    """The first `limit` greedy steps as positions; the second best id is not recorded."""
    steps = list(zip(line["greedy"], line["top2"]))[:limit]
    return [{"ids": [best, None], "logits": pair} for best, pair in steps]


def check_forced(line, name, o):
    exact = exact_positions(line, o.positions)
    ids = line["ids"] + line["greedy"][:len(exact) - 1]
    positions = score(o.tenon, o.model, ids, o.device)
    if len(positions) != len(ids):
        print(f"FAIL  {name}: {len(positions)} positions for {len(ids)} ids")
        return False
    return report(name + " forced", positions[len(line["ids"]) - 1:], exact, o.rtol, o.atol)


def compare_free(ids, finish, exact, rtol, atol, whole):
    """What is wrong with free-running ids, or None. `whole`: exact covers the answer up to its end token."""
    for i, position in enumerate(exact):
        if nearly_tied(position, rtol, atol):
            return None
        want = position["ids"][0]
        if i == len(ids) and i + 1 == len(exact) and whole and finish == "eos":
            return None  # the end token itself may be left out
        if i >= len(ids):
            return f"ended after {len(ids)} ids ({finish}), exact goes on with {want}"
        if ids[i] != want:
            return f"step {i}: id {ids[i]}, exact {want} ({position['logits'][0]:.6f}, then {position['logits'][1]:.6f})"
    if whole and finish != "eos":
        return f"finish is {finish!r} after the end token, not 'eos'"
    return None


def check_free(line, name, o):
    exact = exact_positions(line, o.positions)
    whole = line["greedy"][len(exact) - 1] == o.eos
    # One more than the answer has: then it is the end token that ends it, not the limit.
    count = len(exact) + whole
    command = [o.tenon, "run", o.model, "--raw", "--json", "--temp", "0", "-n", str(count), "-p", line["prompt"]]
    answer = run_json(command + (["--device", o.device] if o.device else []))
    for key in ("prompt_ids", "ids", "finish"):
        if key not in answer:
            raise CheckError(f"tenon run --json gave no {key!r}")
    if answer["prompt_ids"] != line["ids"]:
        problem = f"prompt ids {answer['prompt_ids']}, exact {line['ids']}"
    else:
        problem = compare_free(answer["ids"], answer["finish"], exact, o.rtol, o.atol, whole)
    print(f"{'FAIL' if problem else 'ok'}  {name} free: {len(answer['ids'])} ids", flush=True)
    if problem:
        print(f"      {problem}")
    return not problem


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    add_options(parser, rtol=0.0, atol=0.05)
    parser.add_argument("--mode", choices=["forced", "free", "both"], default="both")
    parser.add_argument("--prompts", type=int, metavar="N", help="the first N only")
    parser.add_argument("--positions", type=int, metavar="P", help="the first P greedy steps only")
    parser.add_argument("--reference", default=REFERENCE, metavar="FILE.jsonl")
    parser.add_argument("--eos", type=int, default=2, help="the model's end token")
    o = parser.parse_args()
    checks = {"forced": [check_forced], "free": [check_free], "both": [check_forced, check_free]}[o.mode]
    try:
        lines = read_reference(o.reference)[:o.prompts]
        results = []
        for i, line in enumerate(lines):
            name = f"prompt {i} on {o.device or 'the default device'}"
            results += [check(line, name, o) for check in checks]
    except (CheckError, OSError, ValueError, KeyError) as error:
        sys.exit(f"check_exact: {error}")
    print(f"{sum(results)} of {len(results)} agree")
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
