#include "codegen/entry.h"

namespace tenon::codegen {

void emit_entry(Code& code, const ProgramText& text, const std::string& name, int threads, Scratch scratch,
                const std::function<void()>& body) {
  code.line("extern \"C\" __global__ void __launch_bounds__(", threads, ") ", name, "(", text.entry_parameters(),
            scratch == Scratch::yes ? ", uint8_t* scratch" : "", ") {");
  code.line(text.make_buffers());
  body();
  code.line("}");
}

void emit_entry(Code& code, const ProgramText& text, const std::string& name, int threads, Scratch scratch,
                const std::string& call) {
  emit_entry(code, text, name, threads, scratch, [&] { code.line(call, ";"); });
}

}  // namespace tenon::codegen
