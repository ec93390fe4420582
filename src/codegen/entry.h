// Entries of kernels' text that hand everything on to a function of it.
#pragma once
#include <string>

#include "codegen/program.h"

namespace tenon::codegen {

// Bytes of scratch are `scratch` to an entry that has them.
enum class Scratch : bool { no, yes };

// An entry that fills `B` and makes the call: "scan_by_warp(B, p.scan)".
void emit_entry(Code& code, const ProgramText& text, const std::string& name, int threads, Scratch scratch,
                const std::string& call);

}  // namespace tenon::codegen
