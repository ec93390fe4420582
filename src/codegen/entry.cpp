#include "codegen/entry.h"

namespace tenon::codegen {

void emit_entry(Code& code, const ProgramText& text, const std::string& name, Bounds bounds, Scratch scratch,
                const std::function<void()>& body) {
  code.line("extern \"C\" __global__ void __launch_bounds__(", bounds.threads,
            bounds.resident ? cat(", ", bounds.resident) : "", ") ", name, "(", text.entry_parameters(),
            scratch == Scratch::yes ? ", uint8_t* scratch" : "", ") {");
  code.line(text.make_buffers());
  body();
  code.line("}");
}

void emit_entry(Code& code, const ProgramText& text, const std::string& name, Bounds bounds, Scratch scratch,
                const std::string& call) {
  emit_entry(code, text, name, bounds, scratch, [&] { code.line(call, ";"); });
}

}  // namespace tenon::codegen
