"""tools/trace_diff: what it finds between two traces, and that equal launches are equal."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "trace_diff")
TRACE = """cuInit
cuModuleLoadData add.cu 1111
cuModuleLoadData row.cu 2222
cuLaunchKernel add grid 4,1,1 block 256,1,1 shared 0 m1+0 m2+0 aaaa
cuMemcpyHtoDAsync m1+0 16 0123
cuLaunchKernel row grid 1,1,1 block 32,1,1 shared 0 m2+0 bbbb
"""


def diff(a, b):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("a", "b")]
        for path, text in zip(paths, (a, b)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, SCRIPT, *paths], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


class TraceDiff(unittest.TestCase):
    def test_equal_launches(self):
        self.assertEqual(diff(TRACE, TRACE + "cuEventRecord e1 s1\n"), (0, ["trace_diff: the launches are the same"]))

    def test_another_grid(self):
        self.assertEqual(diff(TRACE, TRACE.replace("grid 4,1,1", "grid 8,1,1")), (1, ["~ add: 4,1,1 -> 8,1,1"]))

    def test_another_parameter(self):
        self.assertEqual(diff(TRACE, TRACE.replace("bbbb", "cccc")), (1, ["~ row: bbbb -> cccc"]))

    def test_a_launch_more(self):
        more = "cuLaunchKernel copy grid 1,1,1 block 32,1,1 shared 0 m1+0\n"
        self.assertEqual(diff(TRACE, TRACE + more), (1, ["+ " + more.split(" ", 1)[1].strip()]))
        self.assertEqual(diff(more + TRACE, TRACE), (1, ["- " + more.split(" ", 1)[1].strip()]))

    def test_another_text(self):
        self.assertEqual(diff(TRACE, TRACE.replace("2222", "3333")), (1, ["* row.cu: its text differs"]))


if __name__ == "__main__":
    unittest.main()
