#!/usr/bin/env python3
"""Puts the reports of tools/gpu_check.sh into the documentation.

    tools/gpu_check/merge.py REPORTS [--docs FOLDER] [--date YYYY-MM-DD]

docs/coverage/cuda.json gets a part "hardware": how many tests ran and what failed in each stage, and each op's largest error
against host. docs/performance.md gets the measured speeds and memory, between two marks. Stages that have no report keep what
an earlier one said.
"""

import argparse
import datetime
import glob
import json
import os

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BEGIN, END = "<!-- gpu_check: begin -->\n", "<!-- gpu_check: end -->\n"


def read_reports(folder):
    reports = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        if "stage" in report:
            reports[report["stage"]] = report
    return reports


def machine_of(reports):
    """What nvidia-smi said in the stage `build`."""
    lines = reports.get("build", {}).get("parts", {}).get("gpu", {}).get("output", "").strip().splitlines()
    return lines[-1] if len(lines) > 1 else "not recorded"


# ------------------------------------------------------------------------------------------------------------- coverage

def stage_summary(report):
    parts = report["parts"].values()
    out = {"complete": report["complete"], "parts": len(parts), "tests": sum(p.get("ran", 0) for p in parts),
           "failed": sorted({name for p in parts for name in p.get("failed", [])} |
                            {name for name, p in report["parts"].items() if not p["ok"] and not p.get("failed")})}
    refused = sorted({p["refused"] for p in parts if "refused" in p})
    if refused:
        out["refused"] = refused
    return out


def largest_errors(report, ops):
    """{op: {dtype: error}} from cases' names, "op_name"; the longest op that fits is the case's."""
    errors = {}
    for part in report["parts"].values():
        for case, by_dtype in part.get("errors", {}).items():
            fitting = [op for op in ops if case.startswith(op + "_")]
            if not fitting:
                continue
            kept = errors.setdefault(max(fitting, key=len), {})
            for dtype, error in by_dtype.items():
                kept[dtype] = max(kept.get(dtype, 0), error)
    return errors


def merge_coverage(path, reports, date):
    """Rewrites what stands behind the ops; the ops are the tests' to write."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    coverage = json.loads(text)
    hardware = coverage.get("hardware", {})
    hardware.update(machine=machine_of(reports) if "build" in reports else hardware.get("machine", "not recorded"), date=date)
    stages = hardware.setdefault("stages", {})
    stages.update({stage: stage_summary(r) for stage, r in reports.items()})
    if "suite" in reports:
        hardware["largest_error_against_host"] = largest_errors(reports["suite"], [row["op"] for row in coverage["ops"]])
    ops = text[:text.index("\n]") + 2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(ops + ',\n"hardware": ' + json.dumps(hardware, indent=1) + "}\n")


# ---------------------------------------------------------------------------------------------------------- performance

def figure(value):
    return f"{value['median']:.4g} ({value.get('min', value.get('least')):.4g} to {value.get('max', value.get('most')):.4g})"


def ours(parts):
    """[(what, unit, {"median", "min", "max"})] from the outputs of tenon bench."""
    out = []
    for name, part in parts.items():
        for result in part.get("result", []) if not name.startswith("peer") else []:
            out += [(op["op"], "GB/s", op["gb_s"]) for op in result.get("ops", [])]
            if "gflops" in result:
                out.append((name, "TFLOP/s", {k: v / 1e3 for k, v in result["gflops"].items()}))
            if "decode_tok_s" in result:
                out += [(f"{name.replace(':', ' ')} decode", "tok/s", result["decode_tok_s"]),
                        (f"{name.replace(':', ' ')} prefill 512", "tok/s", result["prefill_tok_s"])]
    return out


def peers(parts):
    """What PyTorch does of the same, by our names: the best of its ways."""
    out = {}
    for name, part in parts.items():
        for result in part.get("result", []) if name.startswith("peer") else []:
            if "median" not in result:
                continue
            what = result["name"].removesuffix(" eager").removesuffix(" CUDA graph")
            if what not in out or result["median"] > out[what]["median"]:
                out[what] = result
    return out


def speed_table(report):
    theirs = peers(report["parts"])
    lines = ["| what | Tenon, median (least to most) | PyTorch, the best of its ways | ratio |", "|---|---|---|---|"]
    for what, unit, value in ours(report["parts"]):
        peer = theirs.get(what)
        lines.append(f"| {what} | {figure(value)} {unit} | {figure(peer) if peer else ''} | "
                     f"{value['median'] / peer['median']:.2f} |" if peer else f"| {what} | {figure(value)} {unit} | | |")
    return lines


def performance_text(reports, date):
    lines = [f"## Check on the hardware, {date}", "", f"`tools/gpu_check.sh`: {machine_of(reports)}.", ""]
    if "speed" in reports:
        lines += speed_table(reports["speed"]) + [""]
    for part in reports.get("soak", {}).get("parts", {}).values():
        lines += ["1,000 generations of a two-layer random model: " +
                  ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in part.get("properties", {}).items()) + ".", ""]
    return "\n".join(lines)


def merge_performance(path, reports, date):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    block = BEGIN + performance_text(reports, date) + END
    if BEGIN in text:
        text = text[:text.index(BEGIN)] + block + text[text.index(END) + len(END):]
    else:
        text = text.rstrip("\n") + "\n\n" + block
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("reports")
    parser.add_argument("--docs", default=os.path.join(ROOT, "docs"))
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    o = parser.parse_args()
    reports = read_reports(o.reports)
    if not reports:
        raise SystemExit(f"merge: no reports in {o.reports}")
    merge_coverage(os.path.join(o.docs, "coverage", "cuda.json"), reports, o.date)
    if reports.keys() & {"speed", "soak"}:
        merge_performance(os.path.join(o.docs, "performance.md"), reports, o.date)
    for stage, report in reports.items():
        print(f"{stage}: {json.dumps(stage_summary(report))}")


if __name__ == "__main__":
    main()
