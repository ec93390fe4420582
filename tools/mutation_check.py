#!/usr/bin/env python3
"""Shows that the tests can fail: breaks one line of a copy of the tree at a time, builds, and demands a failing test.

    tools/mutation_check.py [--only NAME] [--jobs N] [--list]

The copy and its build folder (build/mutation) stay, so that a later run builds only what changed. A text that is not
found exactly once in its file is an error: then the table below has to follow the code.
"""

import argparse
import dataclasses
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COPY = os.path.join(ROOT, "build", "mutation")
BUILD = os.path.join(COPY, "build", "release")
TESTS = os.path.join(BUILD, "tests", "tenon_tests")


@dataclasses.dataclass(frozen=True)
class Mutation:
    name: str
    what: str  # what would be wrong
    path: str
    text: str
    replacement: str
    tests: str  # a GoogleTest filter of tests that pass now and of which one must fail


MUTATIONS = [
    Mutation("stride_sign", "a reversed view is read forwards", "src/graph/index_map.cpp",
             "for (int64_t& c : out.coef[i]) c *= step;", "for (int64_t& c : out.coef[i]) c *= step < 0 ? -step : step;",
             "*Hazards.D4_*"),
    Mutation("reduction_tail", "the last elements of a row are left out of a sum (tuned cpu)", "src/kernels/scalar/reduce.cpu.h",
             "const Tail tail = tail_of(x + (n & ~int64_t(15)), n & 15, 0);",
             "const Tail tail = tail_of(x + (n & ~int64_t(15)), n & 7, 0);", "ScalarReduce.*"),
    Mutation("matmul_tail", "the last step along k is not packed (tuned cpu)", "src/kernels/matmul/matmul_loops_impl.cpu.h",
             "  for (; p < k; p++)\n    for (int64_t i = 0; i < width; i++)", "  for (; p + 1 < k; p++)\n    for (int64_t i = 0; i < width; i++)",
             "MatmulKernel*"),
    Mutation("max_identity", "a maximum starts at 0", "src/kernels/scalar/reduce.cpu.h",
             "return lane == Lane::f32 ? bits_of(-infinity) : sign_bit;", "return lane == Lane::f32 ? 0u : sign_bit;", "ScalarReduce.*"),
    Mutation("key_strides", "a transposed leaf gets the plan of a dense one", "src/graph/plan_builder.cpp",
             "for (int64_t s : n->strides) key.push_back(uint64_t(s));", "", "PlanCache.*"),
    Mutation("key_offset", "a leaf off the alignment gets the plan of an aligned one", "src/graph/plan_builder.cpp",
             "key.push_back(uint64_t(n->offset % 256) | uint64_t(donated", "key.push_back(uint64_t(n->offset & 0) | uint64_t(donated",
             "*Fit.*"),
    Mutation("key_donation", "a value that is still held is overwritten by the plan for one that is not", "src/graph/plan_builder.cpp",
             "| uint64_t(donated.contains(n)) << 16 |", "|", "*States.*"),
    Mutation("reused_early", "a donated buffer is overwritten while a later step reads it", "src/graph/plan_builder.cpp",
             "if (!may_give_up(from) || read_after(from, i)) continue;", "if (!may_give_up(from)) continue;", "*States.*:*Hazards.W5*"),
    Mutation("held_graph", "an update overwrites what an unevaluated tensor still has to read", "src/graph/state.cpp",
             " && !needed.contains(n)) {", ") {", "*StateTest.*"),
    Mutation("bf16_not_rounded", "a fused bf16 value keeps the bits of f32", "src/graph/lower.cpp",
             "if (dtype == DType::bf16) return emit_op(ScalarOp::round_bf16, Lane::f32, {value});", "", "RandomGraphs.Fused*"),
    Mutation("arena_liveness", "a buffer's memory is given away one step too early", "src/graph/plan_builder.cpp",
             "p.life.last >= l.first && p.life.first <= l.last)", "p.life.last > l.first && p.life.first <= l.last)", "*Plans.*"),
    Mutation("arena_size", "the arena is larger than it is used", "src/graph/plan_builder.cpp",
             "std::max(plan_->arena_blocks[size_t(block)], offset + bytes);", "std::max(plan_->arena_blocks[size_t(block)], offset + bytes + 256);",
             "*Plans.*"),
    Mutation("pool_size", "the pool hands out blocks that are too small", "src/runtime/device_context.cpp",
             "return (std::max<int64_t>(bytes, 1) + step - 1) / step * step;", "return std::max<int64_t>(bytes / step * step, step);", "Pool.*"),
    Mutation("stride_width", "a stride is kept in 32 bits", "src/graph/lower.cpp",
             "p.strides[j - at.size()] = s;", "p.strides[j - at.size()] = int32_t(s);", "LargeSizes.*"),
    Mutation("offset_width", "a view's offset is kept in 32 bits", "src/graph/lower.cpp",
             "return elements / block * block_bytes(x.operand.dtype);", "return int32_t(elements / block * block_bytes(x.operand.dtype));",
             "LargeSizes.*"),
    Mutation("coordinate_width", "a kernel computes coordinates in 32 bits", "src/kernels/region/run.cpu.cpp",
             "const int64_t origin = params_.operands[number(c)].base;", "const int64_t origin = int32_t(int64_t(params_.operands[number(c)].base));",
             "*GraphLimits.Coordinates*"),
    Mutation("alignment_rest", "what a binding's alignment cuts off an offset is lost", "src/graph/fit.cpp",
             "l.params.anchor_base[operand] = uint32_t(base);", "l.params.anchor_base[operand] = 0;", "*Fit.*"),
    Mutation("cut_grid", "the second half of a cut launch begins one element late", "src/graph/fit.cpp",
             "second.operands[i].base + first * second", "second.operands[i].base + (first + 1) * second", "*Fit.*"),
    Mutation("lost_state", "a State whose plan failed late still answers", "src/graph/state.cpp",
             "return s.lost || s.current->storage->lost();", "return s.lost;", "*Failures.*"),
]


def run(command, **options):
    return subprocess.run(command, cwd=COPY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def refresh_copy():
    """Copies what differs; files that are the same keep their times, so that nothing is built for them."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    wanted = [f for f in listed.stdout.splitlines() if os.path.isfile(os.path.join(ROOT, f)) and f.split("/")[0] not in ("models", "docs")]
    for path in wanted:
        source, target = os.path.join(ROOT, path), os.path.join(COPY, path)
        if os.path.exists(target) and read(source) == read(target):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
    for folder in ("src", "tests", "include", "examples"):
        for at, _, files in os.walk(os.path.join(COPY, folder)):
            for name in files:
                path = os.path.relpath(os.path.join(at, name), COPY)
                if path not in wanted:
                    os.remove(os.path.join(COPY, path))


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, content):
    with open(path, "wb") as f:
        f.write(content)


def build(jobs):
    return run(["tools/build.sh", "release", str(jobs), "tenon_tests"])


def failing(tests):
    """The first failing test of a filter, or '' when all pass."""
    try:
        done = run([TESTS, f"--gtest_filter={tests}", "--gtest_brief=1"], timeout=300)
    except subprocess.TimeoutExpired:
        return "(no end within 300 s)"
    if "] 0 tests from 0 test suites ran" in done.stdout:
        sys.exit(f"mutation_check: no test is called {tests}")
    if done.returncode == 0:
        return ""
    lines = [line.split("]", 1)[1].split(",")[0].split("(")[0].strip() for line in done.stdout.splitlines() if line.startswith("[  FAILED  ]")]
    return lines[0] if lines else f"(ended with {done.returncode})"


def mutate(m, jobs):
    """What happened, and whether the tests noticed."""
    path = os.path.join(COPY, m.path)
    original = read(path)
    write(path, original.replace(m.text.encode(), m.replacement.encode()))
    try:
        built = build(jobs)
        if built.returncode != 0:
            return "does not build:\n" + built.stdout[-1500:], False
        found = failing(m.tests)
        return found or "SURVIVED", bool(found)
    finally:
        write(path, original)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", metavar="NAME", action="append", help="only this mutation (may be repeated)")
    arguments.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", "2")))
    arguments.add_argument("--list", action="store_true")
    options = arguments.parse_args()
    chosen = [m for m in MUTATIONS if not options.only or m.name in options.only]
    if options.only and len(chosen) != len(options.only):
        sys.exit("mutation_check: the mutations are " + ", ".join(m.name for m in MUTATIONS))
    if options.list:
        for m in chosen:
            print(f"{m.name:18} {m.path}: {m.what}")
        return
    for m in chosen:
        count = read(os.path.join(ROOT, m.path)).count(m.text.encode())
        if count != 1:
            sys.exit(f"mutation_check: {m.name}: its text is {count} times in {m.path}, not once; the table has to follow the code")
    os.makedirs(COPY, exist_ok=True)
    refresh_copy()
    built = build(options.jobs)
    if built.returncode != 0:
        sys.exit("mutation_check: the copy does not build:\n" + built.stdout[-3000:])
    before = failing(":".join(dict.fromkeys(m.tests for m in chosen)))
    if before:
        sys.exit(f"mutation_check: {before} fails without a mutation")
    survived = []
    for m in chosen:
        start = time.time()
        result, noticed = mutate(m, options.jobs)
        print(f"{m.name:18} {m.what:78} {result} ({time.time() - start:.0f} s)", flush=True)
        if not noticed:
            survived.append(m.name)
    if survived:
        sys.exit("mutation_check: not noticed: " + ", ".join(survived))
    print(f"mutation_check: each of {len(chosen)} mutations fails a test")


if __name__ == "__main__":
    main()
