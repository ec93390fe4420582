"""tools/gpu_check: stages go on where they stopped, and reports come into the documentation."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "gpu_check")
sys.path.insert(0, TOOLS)
import merge  # noqa: E402  pylint: disable=wrong-import-position
import stages  # noqa: E402  pylint: disable=wrong-import-position

# A stand-in for tenon_tests: lists or "runs" tests, and remembers each call.
PROGRAM = """#!/usr/bin/env python3
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
if "--gtest_list_tests" in sys.argv:
    print("BigMemory.\\n  A\\n  B")
    sys.exit()
with open(here + "/calls", "a") as f: f.write(" ".join(sys.argv[1:]) + "\\n")
if "BigMemory.B" in " ".join(sys.argv) and os.path.exists(here + "/slow"): time.sleep(60)
out = [a[len("--gtest_output=json:"):] for a in sys.argv if a.startswith("--gtest_output=json:")][0]
test = {"name": "MatchTheReference/add_floats", "status": "RUN", "result": "COMPLETED", "error_f32": "1e-7", "seen_elements": "2147483648"}
json.dump({"testsuites": [{"testsuite": [test]}]}, open(out, "w"))
"""


class Stages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        path = os.path.join(self.folder, "tenon_tests")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def stage(self, name, seconds):
        return subprocess.run([sys.executable, os.path.join(TOOLS, "stages.py"), "--stage", name, "--bin", self.folder, "--out",
                               self.folder, "--seconds", str(seconds)], capture_output=True, text=True, check=False)

    def report(self, name):
        with open(os.path.join(self.folder, name + ".json"), encoding="utf-8") as file:
            return json.load(file)

    def test_what_time_did_not_reach_runs_at_the_next_call(self):
        slow = os.path.join(self.folder, "slow")
        with open(slow, "w", encoding="utf-8"):
            pass
        self.assertEqual(self.stage("big", 3).returncode, 3)
        self.assertEqual(self.report("big")["complete"], False)
        os.remove(slow)
        done = self.stage("big", 60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = self.report("big")
        self.assertTrue(report["complete"] and report["passed"])
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            calls = file.read()
        self.assertEqual((calls.count("BigMemory.A"), calls.count("BigMemory.B")), (1, 2))

    def test_reports_come_into_the_documentation(self):
        self.assertEqual(self.stage("big", 60).returncode, 0)
        reports = merge.read_reports(self.folder)
        reports["suite"] = reports.pop("big")
        docs = os.path.join(self.folder, "docs")
        os.makedirs(os.path.join(docs, "coverage"))
        coverage, performance = os.path.join(docs, "coverage", "cuda.json"), os.path.join(docs, "performance.md")
        ops = '{"device": "cuda", "ops": [\n  {"op": "add", "kind": "scalar", "dtypes": ["f32"]}\n'
        with open(coverage, "w", encoding="utf-8") as file:
            file.write(ops + "]}\n")
        with open(performance, "w", encoding="utf-8") as file:
            file.write("# Performance\n")
        reports["speed"] = {"stage": "speed", "complete": True, "passed": True, "parts": {
            "ops": {"ok": True, "seconds": 1, "result": [{"ops": [{"op": "softmax", "gb_s": {"median": 2.0, "min": 1, "max": 3}}]}]},
            "peer ops": {"ok": True, "seconds": 1, "result": [
                {"name": "softmax", "unit": "GB/s", "median": 4.0, "least": 3, "most": 5}]}}}
        for _ in range(2):  # the second time replaces the first
            merge.merge_coverage(coverage, reports, "2026-01-01")
            merge.merge_performance(performance, reports, "2026-01-01")
        with open(coverage, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith(ops + '],\n"hardware":'), text)  # what tests/ops/cases_test.cpp leaves out
        hardware = json.loads(text)["hardware"]
        self.assertEqual(hardware["largest_error_against_host"], {"add": {"f32": 1e-7}})
        self.assertEqual(hardware["stages"]["suite"]["tests"], 2)
        with open(performance, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("| softmax | 2 (1 to 3) GB/s | 4 (3 to 5) | 0.50 |"), 1, text)
        self.assertTrue(text.startswith("# Performance\n"))

    def test_summary_counts_and_names(self):
        test = {"name": "a", "status": "RUN", "result": "COMPLETED"}
        report = {"testsuites": [{"testsuite": [test, {**test, "name": "b", "failures": [{}]}, {**test, "name": "c", "result": "SKIPPED"}]}]}
        found = stages.summary(report)
        self.assertEqual((found["ran"], found["failed"], found["skipped"]), (2, ["b"], ["c"]))


if __name__ == "__main__":
    unittest.main()
