#include "codegen/entry.h"
#include "codegen/prelude.h"
#include "codegen/sorting.h"
#include "codegen/texts.h"

namespace tenon::codegen {
namespace {
constexpr int threads = 1024;  // as in sample.cuda.h
}

Source emit_sample(const KernelDesc& d) {
  if (d.operands[0].dtype != DType::f32) return {};
  const ProgramText text(d);
  Code code;
  code.raw(text.buffers_struct());
  code.raw(texts::sample);
  emit_entry(code, text, kernel_name(d), threads, Scratch::no, "sample_row(B, p.sample)");
  return finished(d, code.text(), {{kernel_name(d), threads, 0}}, false);
}

Extent sample_extent(const KernelDesc&, const Params& params) {
  return {{params.sample.v == 0 ? 0 : int64_t(params.sample.n)}, 0};
}

}  // namespace tenon::codegen
