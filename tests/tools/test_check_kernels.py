"""tools/check_kernels: what counts as a problem, and how texts are put together."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "check_kernels")
loader = importlib.machinery.SourceFileLoader("check_kernels", SCRIPT)
check_kernels = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_kernels", loader))
loader.exec_module(check_kernels)

LOG = """ptxas info    : 52 bytes gmem, 96 bytes cmem[4]
ptxas info    : Compiling entry function 'NAME' for 'sm_80'
ptxas info    : Function properties for NAME
ptxas         .     16 bytes stack frame, 16 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, 1408 bytes cmem[0]
"""
PRELUDE = "inline int twice(int x) { return 2 * x; }\n"
OWN = "\nnamespace tenon {\nnamespace gpu {\nextern \"C\" __global__ void NAME(int* x) { x[0] = twice(x[1]); }\n}\n}\n"


def write(folder, name, text):
    with open(os.path.join(folder, name + ".cu"), "w", encoding="utf-8") as file:
        file.write(text)


class CheckKernels(unittest.TestCase):
    def test_spills_count_in_tuned_kernels(self):
        self.assertEqual(check_kernels.problems(True, LOG, "mma"), "")
        self.assertEqual(check_kernels.problems(True, LOG.replace("NAME", "map_lgamma_f32"), "mma"), "")
        self.assertIn("16 bytes stored, 8 loaded", check_kernels.problems(True, LOG.replace("NAME", "mma_f16"), "mma"))

    def test_warnings_and_errors_count(self):
        self.assertEqual(check_kernels.problems(True, LOG + "a.cu(1): warning\n", "mma"), "a.cu(1): warning")
        self.assertNotEqual(check_kernels.problems(False, "", "mma"), "")

    def test_one_prelude_for_several(self):
        texts = [PRELUDE + OWN.replace("NAME", name) for name in ("a", "b")]
        text = check_kernels.together(texts)
        self.assertEqual((text.count("int twice"), text.count("__global__"), text.count("namespace k")), (1, 2, 2))
        self.assertEqual(text.count("{"), text.count("}"))

    @unittest.skipUnless(check_kernels.open_nvrtc(None), "there is no NVRTC here")
    def test_the_real_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a", "b"):
                write(folder, name, PRELUDE + OWN.replace("NAME", name))
            check = [sys.executable, SCRIPT, "--arch", "sm_80", folder]
            done = subprocess.run(check, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            write(folder, "wrong", PRELUDE + OWN.replace("NAME", "wrong").replace("twice", "thrice"))
            done = subprocess.run(check, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("wrong.cu for sm_80", done.stdout)
            self.assertIn("3 of 3 texts (0 tuned) for sm_80, 1 with errors", done.stdout)


if __name__ == "__main__":
    unittest.main()
