"""tools/check_layers on small trees: every kind of violation is found, and what is allowed is not."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "check_layers")
sys.dont_write_bytecode = True  # the script has no ending, its cache would lie beside it
LOADER = importlib.machinery.SourceFileLoader("check_layers", SCRIPT)
check_layers = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", LOADER))
LOADER.exec_module(check_layers)

# A tree that keeps every rule; each test changes one file.
CLEAN = {
    "include/tenon/error.h": "#include <string>\n",
    "include/tenon/dtype.h": "#include <cstdint>\n#include <tenon/error.h>\n",
    "include/tenon/tensor.h": '#include "tenon/dtype.h"\n',
    "src/base/cat.h": "#include <string>\n",
    "src/core/shape.h": '#include "base/cat.h"\n#include "tenon/dtype.h"\n',
    "src/core/scalar.def": 'SCALAR(neg, 1, "fi", 1)\n// SCALAR(noise, 1)\nSCALAR(select, 3, "f", 1)\n',
    "src/ops/ops.def": "OP(matmul, 2)\n  ROW(softmax, 1)\n",
    "src/runtime/kernel.h": '#include "core/shape.h"\n#include "core/scalar.def"\n',
    "src/kernels/index.h": '#include "runtime/kernel.h"\n',
    "src/kernels/index.cpp": '#include "kernels/scalar/loops.cpu.h"\nauto a = "cpu";\n',
    "src/kernels/scalar/loops.cpu.h": "namespace tenon::cpu {}\n",
    "src/kernels/scalar/loops.cpu.cpp": '#include "loops.cpu.h"\n#include "core/scalar.def"\ncase ScalarOp::neg:\n',
    "src/codegen/cuda.cpp": 'auto a = "cuda";\n',
    "src/graph/node.h": '#include "kernels/index.h"\n#include "tenon/tensor.h"\n',
    "src/io/gguf.h": '#include "graph/node.h"\n',
    "src/text/bpe.h": '#include "base/cat.h"\n',
    "src/llm/model.h": '#include "io/gguf.h"\n#include "text/bpe.h"\n',
    "src/backends/table.cpp": '#include "backends/cpu/cpu.h"\nauto a = "cpu"; cpu::make();\n',
    "src/backends/cpu/cpu.h": '#include "kernels/scalar/loops.cpu.h"\nnamespace tenon::cpu {}\n',
    "src/backends/cpu/cpu.cpp": '#include "cpu.h"\nauto a = "cpu";  // Op::matmul, "matmul"\nauto b = "a matmul";\n',
    "src/backends/null/null.cpp": 'auto a = "webgpu";\nauto b = "null:tiny";\n',
    "apps/tenon/main.cpp": '#include "llm/model.h"\n#include <CLI/CLI.hpp>\n// cpu:: in src/backends/cpu, "cpu"\n',
    "tests/graph/node_test.cpp": '#include "graph/node.h"\n#include "backends/cpu/cpu.h"\nauto a = "cpu";\n',
}


def violations(changes=None):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**CLEAN, **(changes or {})}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return check_layers.check(root)


class Layers(unittest.TestCase):
    def assert_found(self, path, text, what, line=1):
        found = violations({path: text})
        self.assertEqual([(p, n) for p, n, _ in found], [(path, line)], found)
        self.assertIn(what, found[0][2])

    def assert_clean(self, path, text):
        self.assertEqual(violations({path: text}), [])

    def test_a_clean_tree_has_none(self):
        self.assertEqual(violations(), [])

    def test_includes_go_down(self):
        self.assert_found("src/base/x.h", '\n#include "core/shape.h"\n', "core is not below base", line=2)
        self.assert_found("src/graph/x.h", '#include "llm/model.h"\n', "llm is not below graph")
        self.assert_found("src/llm/x.h", '#include "../../apps/tenon/main.cpp"\n', "apps is not below llm")
        self.assert_found("src/kernels/x.cpp", '#include "graph/node.h"\n', "graph is not below kernels")
        self.assert_found("src/graph/x.cpp", '  #  include "../io/gguf.h"\n', "io is not below graph")

    def test_siblings_do_not_include_each_other(self):
        self.assert_found("src/io/x.h", '#include "text/bpe.h"\n', "text is not below io")
        self.assert_found("src/text/x.h", '#include "io/gguf.h"\n', "io is not below text")
        self.assert_found("src/codegen/x.h", '#include "kernels/index.h"\n', "kernels is not below codegen")

    def test_backends_are_seen_by_the_table_only(self):
        self.assert_found("src/llm/x.cpp", '#include "backends/cpu/cpu.h"\n', "must not include src/backends/cpu")
        self.assert_found("src/backends/host/x.cpp", '#include "backends/cpu/cpu.h"\n', "must not include")
        self.assert_found("src/backends/cpu/x.cpp", '#include "graph/node.h"\n', "graph is not below backends")

    def test_headers_of_one_target_stay_with_it(self):
        for path in ("src/graph/x.cpp", "src/kernels/region/x.h", "src/kernels/region/x.host.cpp",
                     "src/backends/host/x.cpp"):
            self.assert_found(path, '#include "kernels/scalar/loops.cpu.h"\n', "for cpu only")
        self.assert_clean("src/kernels/region/x.cpu.cpp", '#include "kernels/scalar/loops.cpu.h"\n')

    def test_public_headers(self):
        self.assert_found("include/tenon/x.h", '#include "graph/node.h"\n', "not public")
        self.assert_found("include/tenon/x.h", "#include <nlohmann/json.hpp>\n", "only the standard library")
        self.assert_found("include/tenon/x.h", "#include <unistd.h>\n", "only the standard library")
        self.assert_found("src/core/x.h", '#include "tenon/tensor.h"\n', "must not include tenon/tensor.h")
        self.assert_found("src/core/x.h", "#include <tenon/tensor.h>\n", "must not include tenon/tensor.h")

    def test_unknown_folders_and_files(self):
        self.assert_found("src/misc/x.h", '#include "base/cat.h"\n', "not a layer")
        self.assert_found("src/base/x.h", '#include "nowhere.h"\n', "not found")

    def test_backend_names(self):
        for text in ('auto a = "cpu";', 'auto a = "null:webgpu";', "auto p = backends/cpu;", "namespace tenon::cpu {",
                     "namespace cpu {", "using namespace tenon::cpu;", "cpu::run();"):
            self.assert_found("src/graph/x.cpp", text + "\n", "names the backend")
        self.assert_found("include/tenon/x.h", 'inline auto a = "cuda";\n', "names the backend cuda")
        self.assert_found("apps/tenon/x.cpp", 'auto a = "host";\n', "names the backend host")
        self.assert_found("src/kernels/scalar/x.h", "namespace tenon::cpu {}\n", "names the backend cpu")
        self.assert_found("src/codegen/wgsl.cpp", 'auto a = "webgpu";\n', "names the backend webgpu")
        self.assert_found("src/backends/host/x.cpp", 'auto a = "cpu";\n', "names the backend cpu")

    def test_other_words_are_no_backend_names(self):
        self.assert_clean("src/graph/x.cpp", 'auto a = "cpus"; f(cpu_features); std::null::x; auto b = "the cpu";\n')
        self.assert_clean("src/graph/x.cpp", '/* "cpu"\n cpu:: */ auto a = "// no comment"; // "cpu"\n')

    def test_a_string_does_not_hide_code(self):
        self.assert_found("src/graph/x.cpp", 'auto a = "//"; auto b = "cpu";\n', "names the backend cpu")
        self.assert_found("src/graph/x.cpp", "auto a = '\"'; auto b = \"cpu\";\n", "names the backend cpu")
        self.assert_clean("src/graph/x.cpp", "auto a = 1'000; // it's \"cpu\"\n")

    def test_ops_in_backends(self):
        self.assert_found("src/backends/cpu/x.cpp", "if (op == Op::matmul) {}\n", "Op::matmul")
        self.assert_found("src/backends/cpu/x.cpp", "if (op == ScalarOp::neg) {}\n", "ScalarOp::neg")
        for name in ("matmul", "softmax", "neg", "select"):
            self.assert_found("src/backends/cpu/x.cpp", f'f("{name}");\n', f'the op "{name}"')
        self.assert_clean("src/backends/cpu/x.cpp", 'f("noise");\n')
        self.assert_clean("src/graph/x.cpp", 'f("matmul", Op::matmul);\n')

    def test_scalar_loops(self):
        self.assert_found("src/kernels/region/x.cpu.cpp", "case ScalarOp::neg: loop();\n", "switch over scalar ops")
        self.assert_found("src/graph/x.cpp", '#include "core/scalar.def"\n', "expanded outside")
        self.assert_found("src/kernels/region/x.cpu.cpp", '#include "core/scalar.def"\n', "expanded outside")
        self.assert_clean("src/graph/x.cpp", "case ScalarOp::neg: name();\n")

    def test_length(self):
        for path in ("src/graph/x.cpp", "tests/x_test.cpp", "tools/x.py", "apps/tenon/x.cpp"):
            self.assert_found(path, "\n" * 600, "600 lines", line=600)
        self.assert_found("tools/x", "#!/bin/sh\n" + "\n" * 599, "600 lines", line=600)
        self.assert_clean("src/graph/x.cpp", "\n" * 599)
        self.assert_clean("src/text/tables.cpp", "// Generated by tools/gen.py\n" + "\n" * 900)
        self.assert_clean("tests/data/x.py", "\n" * 900)
        self.assert_clean("tests/notes.txt", "\n" * 900)

    def test_the_program(self):
        with tempfile.TemporaryDirectory() as root:
            run = lambda: subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
            self.assertNotEqual(run().returncode, 0)  # nothing to check
            os.makedirs(os.path.join(root, "src", "base"))
            path = os.path.join(root, "src", "base", "x.h")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#pragma once\n")
            self.assertEqual(run().returncode, 0)
            with open(path, "a", encoding="utf-8") as file:
                file.write('auto a = "cpu";\n')
            done = run()
            self.assertEqual(done.returncode, 1)
            self.assertIn("src/base/x.h:2: names the backend cpu", done.stdout)


if __name__ == "__main__":
    unittest.main()
