#!/usr/bin/env python3
"""README against the tree: its example is examples/first.cpp, its example and its tenon commands run."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
readme = (root / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.M | re.S)


def run(command):
    print("$", command, flush=True)
    done = subprocess.run(command, shell=True, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"check_readme: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if (root / "examples/first.cpp").read_text() not in blocks("cpp"):
    sys.exit("check_readme: no C++ block of README.md is examples/first.cpp")
print(run("build/release/tests/example_first"), end="")
commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("build/release/tenon")]
if not commands:
    sys.exit("check_readme: README.md has no tenon commands")
for command in commands:
    output = run(command)
    if "capital of France" in command and "Paris" not in output:
        sys.exit(f"check_readme: no Paris in: {output}")
print(f"check_readme: the example and {len(commands)} commands ran")
