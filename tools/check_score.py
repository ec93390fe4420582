#!/usr/bin/env python3
"""Compares `tenon score` with the float64 oracle, teacher-forced.

    check_score.py --tenon BIN MODEL.gguf --ids FILE_OR_JSON [--device D] [--rtol R] [--atol A]

At each position the two best logits must agree within atol + rtol * |exact|, and the best id must be the same unless
the exact two best are closer than that. NaN on one side, missing positions and empty input fail.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "oracle"))


class CheckError(Exception):
    """What was checked could not be: no answer, or one of another form."""


def number(value):
    """A logit of the JSON; null is how JSON writers spell NaN."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CheckError(f"a logit is {value!r}, no number")
    return float(value)


def same(actual, exact, rtol, atol):
    if math.isnan(actual) or math.isnan(exact):
        return math.isnan(actual) and math.isnan(exact)
    if math.isinf(actual) or math.isinf(exact):
        return actual == exact
    return abs(actual - exact) <= atol + rtol * abs(exact)


def nearly_tied(exact, rtol, atol):
    """Whether the two best exact logits are closer than the tolerance: then either may win."""
    first, second = (number(x) for x in exact["logits"])
    return abs(first - second) < atol + rtol * abs(first)


def compare_position(actual, exact, rtol, atol):
    """What differs, as text, or None. Positions are {"ids": [best, second], "logits": [l1, l2]}."""
    for position in (actual, exact):
        if not isinstance(position, dict) or len(position.get("ids", [])) < 1 or len(position.get("logits", [])) < 2:
            raise CheckError(f"a position is {str(position)[:80]}, not two ids and two logits")
    logits = [number(x) for x in actual["logits"][:2]]
    wanted = [number(x) for x in exact["logits"][:2]]
    for rank, (have, want) in enumerate(zip(logits, wanted)):
        if not same(have, want, rtol, atol):
            return f"{('best', 'second')[rank]} logit {have!r}, exact {want!r}, off by {abs(have - want):.3g}"
    if actual["ids"][0] != exact["ids"][0] and not nearly_tied(exact, rtol, atol):
        return f"best id {actual['ids'][0]} ({logits[0]!r}), exact {exact['ids'][0]} ({wanted[0]!r}, then {wanted[1]!r})"
    return None


def compare(actual, exact, rtol, atol):
    """Every difference between two lists of positions, as text; an empty list when they agree."""
    if not exact or not actual:
        return [f"nothing to compare: {len(actual)} positions, {len(exact)} exact ones"]
    if len(actual) != len(exact):
        return [f"{len(actual)} positions where {len(exact)} were expected"]
    found = ((i, compare_position(a, e, rtol, atol)) for i, (a, e) in enumerate(zip(actual, exact)))
    return [f"position {i}: {text}" for i, text in found if text]


def worst(actual, exact):
    """The largest absolute and relative error of the best logits, for the report."""
    pairs = [(number(a["logits"][0]), number(e["logits"][0])) for a, e in zip(actual, exact)]
    return (max((abs(a - e) for a, e in pairs), default=0.0),
            max((abs(a - e) / abs(e) for a, e in pairs if e), default=0.0))


def run_json(command):
    """Runs a program that prints one JSON value."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise CheckError(f"{' '.join(command[:2])} ended with {done.returncode}: "
                         f"{done.stderr.decode(errors='replace').strip()[-400:]}")
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise CheckError(f"{' '.join(command[:2])} printed no JSON ({error}): {done.stdout[:200]!r}") from error


def score(tenon, model, ids, device=None):
    """The positions that `tenon score` gives for `ids`."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(ids, file)
        file.flush()
        command = [tenon, "score", model, "--ids", file.name, "--json"]
        answer = run_json(command + (["--device", device] if device else []))
    if not isinstance(answer, dict) or not isinstance(answer.get("positions"), list):
        raise CheckError(f"tenon score gave no positions: {str(answer)[:100]}")
    if device and "device" in answer and not str(answer["device"]).startswith(device.split(":")[0]):
        raise CheckError(f"tenon score ran on {answer['device']}, not on {device}")
    return answer["positions"]


def add_options(parser, rtol, atol):
    parser.add_argument("--tenon", default="build/release/tenon", metavar="BIN")
    parser.add_argument("--device", help="default: Tenon's own choice")
    parser.add_argument("--rtol", type=float, default=rtol)
    parser.add_argument("--atol", type=float, default=atol)


def report(name, actual, exact, rtol, atol):
    """Prints one line and the first differences; True when all agree."""
    failures = compare(actual, exact, rtol, atol)
    absolute, relative = worst(actual, exact)
    print(f"{'FAIL' if failures else 'ok'}  {name}: {len(exact)} positions, best logits off by at most "
          f"{absolute:.2e}, relative {relative:.2e}", flush=True)
    for text in failures[:5]:
        print(f"      {text}")
    if len(failures) > 5:
        print(f"      and {len(failures) - 5} more")
    return not failures


def check(tenon, model_path, lists, device, rtol, atol):
    import model as oracle  # NumPy is needed here only
    model, good = oracle.Model(model_path), True
    for i, ids in enumerate(lists):
        exact = oracle.teacher_forced(model, ids)
        name = f"{os.path.basename(model_path)} list {i} on {device or 'the default device'}"
        good = report(name, score(tenon, model_path, ids, device), exact, rtol, atol) and good
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--ids", required=True, help="JSON, or a file of it")
    add_options(parser, rtol=1e-4, atol=0.0)
    o = parser.parse_args()
    try:
        from exact import read_ids
        good = check(o.tenon, o.model, read_ids(o.ids), o.device, o.rtol, o.atol)
    except (CheckError, OSError, ValueError) as error:
        sys.exit(f"check_score: {error}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
