// Entries of kernels' text.
#pragma once
#include <functional>
#include <string>

#include "codegen/program.h"

namespace tenon::codegen {

// Bytes of scratch are `uint8_t* scratch` to an entry that has them.
enum class Scratch : bool { no, yes };

// Threads of a group, and how many groups a multiprocessor must have registers for; 0: as many as it happens to.
struct Bounds {
  int threads, resident;
  Bounds(int t, int r = 0) : threads(t), resident(r) {}
};

// An entry that fills `B` and goes on with what `body` emits.
void emit_entry(Code& code, const ProgramText& text, const std::string& name, Bounds bounds, Scratch scratch,
                const std::function<void()>& body);
// One that makes a call: "scan_by_warp(B, p.scan)".
void emit_entry(Code& code, const ProgramText& text, const std::string& name, Bounds bounds, Scratch scratch,
                const std::string& call);

}  // namespace tenon::codegen
