#!/usr/bin/env python3
"""Stages of the check on a real GPU: each is a list of parts, run within a limit of time, with one JSON report.

    stages.py --stage build|suite|sanitize|model|big|soak|speed [--bin FOLDER] [--out FOLDER] [--device cuda:0]
              [--model FILE] [--seconds N]

A report: {"stage", "device", "complete", "passed", "parts": {name: {"ok", "seconds", ...}}}. A part that is in the report
already is not run again unless it failed for want of time. Exit code 1 when a part failed, 3 when parts are left.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
OP_CASES = "Table/OpCases.MatchTheReference*"
SUITE_SHARDS, SANITIZE_SHARDS, SANITIZE_SAMPLE = 64, 16, 200
SANITIZERS = ["memcheck", "racecheck", "synccheck"]
TAIL = 3000  # characters of a part's output that a report keeps


def program(folder, name):
    """As a build folder has it, or with all programs in one folder."""
    nested = os.path.join(folder, "tests", name)
    return nested if os.path.exists(nested) else os.path.join(folder, name)


class Check:
    """Where things are, and running them."""

    def __init__(self, options):
        self.o = options
        self.tests = program(options.bin, "tenon_tests")
        self.tenon = program(options.bin, "tenon")
        self.deadline = time.monotonic() + options.seconds

    def run(self, command, environment=None, keep=TAIL):
        """A finished command as a part's result; one that ends with the time that is left counts as left."""
        start, left = time.monotonic(), self.deadline - time.monotonic()
        variables = {**os.environ, "TENON_TEST_DEVICE": self.o.device, "TENON_DEVICE": self.o.device, **(environment or {})}
        try:
            done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=max(left, 1),
                                  check=False, cwd=ROOT)
            text, code = done.stdout.decode(errors="replace"), done.returncode
        except subprocess.TimeoutExpired as e:
            return {"ok": False, "left": True, "seconds": round(time.monotonic() - start, 1),
                    "output": (e.stdout or b"").decode(errors="replace")[-keep:]}
        except OSError as e:
            text, code = str(e), 127
        return {"ok": code == 0, "exit": code, "seconds": round(time.monotonic() - start, 1), "output": text[-keep:]}

    def run_tests(self, test_filter, environment=None, before=()):
        """gtest's own report, in short."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            part = self.run([*before, self.tests, f"--gtest_filter={test_filter}", f"--gtest_output=json:{path}"], environment)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    part.update(summary(json.load(file)))
        if part["ok"]:
            del part["output"]
            if part.get("ran", 0) == 0 and "GTEST_TOTAL_SHARDS" not in (environment or {}):
                part.update(ok=False, output="no test ran")
        return part


def summary(report):
    """Counts, names of what failed, the largest errors and other recorded properties."""
    tests = [t for suite in report["testsuites"] for t in suite["testsuite"]]
    ran = [t for t in tests if t.get("status") == "RUN" and t.get("result") != "SKIPPED"]
    errors, properties = {}, {}
    for t in ran:
        for key, value in t.items():
            if key.startswith("error_"):
                errors.setdefault(t["name"].split("/")[-1], {})[key[len("error_"):]] = float(value)
            elif key.startswith("seen_"):
                properties[key[len("seen_"):]] = value
    return {"ran": len(ran), "skipped": [t["name"] for t in tests if t.get("result") == "SKIPPED"],
            "failed": [t["name"] for t in ran if t.get("failures")], "errors": errors, "properties": properties}


# ------------------------------------------------------------------------------------------------------------- stages
# Each gives [(part's name, function without arguments)].

def build(c):
    def compile_kernels():
        with tempfile.TemporaryDirectory() as folder:
            made = c.run_tests("*PlanWithinLimits/matmul*:*PlanWithinLimits/attention*", {"TENON_KERNEL_TEXTS": folder})
            return made if not made["ok"] else c.run([sys.executable, f"{ROOT}/tools/check_kernels", "--arch", "sm_90a", folder])
    return [("tenon", lambda: c.run([c.tenon, "--version"])), ("doctor", lambda: c.run([c.tenon, "doctor"])),
            ("gpu", lambda: c.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem", "--format=csv"])),
            ("tests", lambda: c.run([c.tests, "--gtest_list_tests", "--gtest_filter=OpTable*"])), ("kernels", compile_kernels)]


def shards(count, function):
    return [(f"{i}", lambda i=i: function({"GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(i)})) for i in range(count)]


def suite(c):
    cases = shards(SUITE_SHARDS, lambda e: c.run_tests(OP_CASES, e))
    return cases + [("coverage", lambda: c.run_tests("OpTable.CommittedCoverageIsWhatRuns"))]


def sanitize(c):
    """The machine may refuse the tool: then that is what is recorded."""
    def one(tool, environment):
        if not shutil.which("compute-sanitizer"):
            return {"ok": True, "seconds": 0, "refused": "there is no compute-sanitizer on this machine"}
        before = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "99"]
        part = c.run_tests(OP_CASES, {**environment, "TENON_TEST_SAMPLE": str(SANITIZE_SAMPLE)}, before)
        if re.search(r"Device not supported|not supported on this|failed to initialize", part.get("output", ""), re.I):
            part.update(ok=True, refused=part.pop("output")[-400:])
        return part
    return [(f"{tool} {name}", lambda tool=tool, f=f: f(tool)) for tool in SANITIZERS
            for name, f in [(i, lambda tool, i=i: one(tool, {"GTEST_TOTAL_SHARDS": str(SANITIZE_SHARDS), "GTEST_SHARD_INDEX": str(i)}))
                            for i in range(SANITIZE_SHARDS)]]


def model(c):
    def check(mode):
        return c.run([sys.executable, f"{ROOT}/tools/check_exact.py", c.o.model, "--tenon", c.tenon, "--device", c.o.device,
                      "--atol", "0.02", "--rtol", "0", "--mode", mode])
    return [(mode, lambda mode=mode: check(mode)) for mode in ("forced", "free")]


def names_of(c, test_filter):
    listed = subprocess.run([c.tests, "--gtest_list_tests", f"--gtest_filter={test_filter}"], stdout=subprocess.PIPE, text=True, check=True)
    return [line.strip() for line in listed.stdout.splitlines() if line.startswith("  ")]


def big(c):
    """A device without the memory runs a small version, which does not count here."""
    def one(name):
        part = c.run_tests(f"BigMemory.{name}")
        if part["ok"] and int(part["properties"].get("elements", 0)) < 1 << 31:
            part.update(ok=False, output="the device has less than 40 GB")
        return part
    return [(n, lambda n=n: one(n)) for n in names_of(c, "BigMemory.*")]


def soak(c):
    return [("1000 generations", lambda: c.run_tests("Soak.*", {"TENON_TEST_SOAK": "1000"}))]


def speed(c):
    def bench(*arguments):
        part = c.run([c.tenon, "bench", *arguments, "--device", c.o.device, "--json"], keep=20000)
        if part["ok"]:
            part["result"] = [json.loads(line) for line in part.pop("output").splitlines() if line.startswith(("{", "["))]
        return part

    def peers(what):
        part = c.run([sys.executable, f"{ROOT}/bench/peers/cuda.py", what], keep=20000)
        if part["ok"]:
            part["result"] = [json.loads(line) for line in part.pop("output").splitlines() if line.startswith("{")]
        return part
    # Both sides of a comparison one after the other.
    parts = [("ops", lambda: bench("ops", "--mib", "1024", "-r", "20")), ("peer ops", lambda: peers("ops")),
             ("matmul bf16 4096", lambda: bench("matmul", "--m", "4096", "--n", "4096", "--k", "4096", "--dtype", "bf16", "-r", "20")),
             ("peer matmul", lambda: peers("matmul"))]
    for weights, size in (("qwen2.5-0.5b:bf16", "0.5b"), ("qwen2.5-7b:bf16", "7b")):
        parts += [(weights, lambda w=weights: bench("--random-weights", w, "-d", "512", "-p", "512", "-n", "128", "-r", "5")),
                  (f"peer {size}", lambda s=size: peers(s))]
    for weights in ("qwen2.5-0.5b:q8_0", "qwen2.5-0.5b:q4_0", "qwen2.5-7b:q8_0", "qwen2.5-7b:q4_0"):
        parts.append((weights, lambda w=weights: bench("--random-weights", w, "-d", "512", "-p", "512", "-n", "128", "-r", "5")))
    return parts


# (parts of the stage, how many of them run at a time)
STAGES = {"build": (build, 1), "suite": (suite, 16), "sanitize": (sanitize, 16), "model": (model, 1), "big": (big, 1),
          "soak": (soak, 1), "speed": (speed, 1)}


# ------------------------------------------------------------------------------------------------------------ reports

def read_report(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {name: part for name, part in json.load(file)["parts"].items() if not part.get("left")}


def write_report(path, stage, device, names, parts):
    report = {"stage": stage, "device": device, "complete": all(n in parts and not parts[n].get("left") for n in names),
              "passed": all(p["ok"] for p in parts.values()), "parts": parts}
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    os.replace(path + ".new", path)
    return report


def run_stage(check, stage, path):
    make, at_once = STAGES[stage]
    work = make(check)
    names, parts = [n for n, _ in work], read_report(path)

    def one(item):
        name, function = item
        if time.monotonic() > check.deadline:
            return name, {"ok": False, "left": True, "seconds": 0}
        return name, function()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for name, part in pool.map(one, [w for w in work if w[0] not in parts]):
            parts[name] = part
            write_report(path, stage, check.o.device, names, parts)
            if not part.get("left"):
                print(f"{stage} {name}: {'ok' if part['ok'] else 'FAILED'} in {part['seconds']} s", flush=True)
                if not part["ok"]:
                    print(part.get("output", ""), part.get("failed", ""), flush=True)
    return write_report(path, stage, check.o.device, names, parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stage", required=True, choices=STAGES)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release"), help="folder of tenon and tenon_tests")
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "gpu_check"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--model", default=os.path.join(ROOT, "models", "SmolLM2-135M-Instruct.Q4_1.gguf"))
    parser.add_argument("--seconds", type=float, default=450)
    options = parser.parse_args()
    options.bin, options.out = os.path.abspath(options.bin), os.path.abspath(options.out)
    os.makedirs(options.out, exist_ok=True)
    report = run_stage(Check(options), options.stage, os.path.join(options.out, options.stage + ".json"))
    done = [p for p in report["parts"].values() if not p.get("left")]
    print(f"gpu_check {options.stage}: {len(done)} of {len(report['parts'])} parts done, "
          f"{sum(not p['ok'] for p in done)} failed, {sum(p.get('ran', 0) for p in done)} tests ran")
    sys.exit(1 if any(not p["ok"] for p in done) else 0 if report["complete"] else 3)


if __name__ == "__main__":
    main()
