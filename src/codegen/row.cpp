// Rows: a team of threads, a warp or a whole group, goes over one row as often as its reductions depend on each other, and
// once more to store. What is computed per element is computed again in each pass: the row stays in the caches. A long row
// without such stores is cut into parts of their own groups, merged by a second phase. How is a function of sizes alone.
#include <algorithm>

#include "base/check.h"
#include "codegen/chunk.h"
#include "codegen/entry.h"
#include "codegen/prelude.h"
#include "codegen/region.h"

namespace tenon::codegen {
namespace {

using Kind = Instr::Kind;

constexpr int threads = 256;
constexpr int64_t part_elements = 16384;  // of a row that is cut
constexpr int64_t most_parts = 1024;

bool is_split(int64_t rows, int64_t length) { return rows <= 64 && length >= 4 * part_elements; }
int64_t parts_of(int64_t length) { return std::min((length + part_elements - 1) / part_elements, most_parts); }
// A row to a warp: short ones, and middling ones when there are many.
bool by_warp(int64_t rows, int64_t length) { return length <= 128 || (length <= 1024 && rows >= 512); }

const char* accumulator_name(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "SumOf";
    case ReduceOp::prod: return "ProdOf";
    case ReduceOp::max: return "MaxOf";
    case ReduceOp::argmax: return "ArgmaxOf";
    case ReduceOp::sum_exp: return "SumExpOf";
    case ReduceOp::sum_sq_dev: return "SumSqDevOf";
  }
  return "";
}

// Bytes of an accumulator in kernels' text.
int64_t accumulator_bytes(const Instr& i) {
  const int64_t value = is_wide(i.arg_lane) ? 8 : 4;
  if (i.reduce == ReduceOp::sum_sq_dev) return 4 * value;
  return i.reduce == ReduceOp::argmax || i.reduce == ReduceOp::sum_exp ? 2 * value : value;
}

class RowText {
 public:
  explicit RowText(const KernelDesc& d) : d_(d), text_(d), rank_(d.outer_rank + d.inner_rank), width_(chunk_width(d, d.outer_rank, rank_)) {
    find_passes();
  }

  // Nothing is stored per element, and no reduction needs another one.
  bool splits() const { return passes_ == 1 && inner_stores_.empty() && !reduces_.empty(); }

  int64_t scratch_bytes_per_part() const {
    int64_t bytes = 0;
    for (size_t k : reduces_) bytes += (accumulator_bytes(d_.program[k]) + 7) / 8 * 8;
    return bytes;
  }

  Source source() {
    Code code;
    code.raw(text_.buffers_struct());
    emit_row(code);
    const std::string name = kernel_name(d_);
    entry(code, name + "_warp", [&] {
      code.line("const int64_t row = group_index() * ", threads / 32, " + threadIdx.x / 32;");
      code.line("if (row < rows(p)) run_row<32>(B, p, row, threadIdx.x & 31);");
    });
    entry(code, name + "_group", [&] {
      code.line("const int64_t row = group_index();");
      code.line("if (row < rows(p)) run_row<", threads, ">(B, p, row, threadIdx.x);");
    });
    std::vector<Phase> phases = {{name + "_warp", threads, 0}, {name + "_group", threads, 0}};
    if (splits()) {
      emit_parts(code, name);
      phases.push_back({name + "_part", threads, 0});
      phases.push_back({name + "_merge", threads, 0});
    }
    return finished(d_, code.text(), std::move(phases), splits());
  }

 private:
  void entry(Code& code, const std::string& name, const std::function<void()>& body) {
    emit_entry(code, text_, name, threads, splits() ? Scratch::yes : Scratch::no, body);
  }

  // pass_[k]: how many passes over the row must be done before instruction k can be computed.
  void find_passes() {
    for (size_t k = 0; k < d_.program.size(); ++k) {
      const Instr& i = d_.program[k];
      int pass = 0;
      for (int a = 0; a < arg_count(i); ++a) pass = std::max(pass, pass_[i.args[size_t(a)]]);
      if (i.kind == Kind::reduce) {
        reduces_.push_back(k);
        passes_ = std::max(passes_, ++pass);
      }
      if (i.kind == Kind::store) (i.row ? row_stores_ : inner_stores_).push_back(k);
      pass_.push_back(pass);
    }
  }

  // Instructions per element that the given ones are made of, in order.
  std::vector<size_t> needed(const std::vector<size_t>& roots) const {
    std::vector<bool> wanted(d_.program.size());
    for (size_t k : roots) wanted[d_.program[k].args[0]] = true;
    for (size_t k = d_.program.size(); k-- > 0;) {
      const Instr& i = d_.program[k];
      if (!wanted[k] || i.row) continue;
      for (int a = 0; a < arg_count(i); ++a) wanted[i.args[size_t(a)]] = true;
    }
    std::vector<size_t> out;
    for (size_t k = 0; k < d_.program.size(); ++k)
      if (wanted[k] && !d_.program[k].row) out.push_back(k);
    return out;
  }

  void emit_size(Code& code, const char* name, int begin, int end) {
    code.line("inline int64_t ", name, "(const Params& p) {");
    std::string product = "1";
    for (int a = begin; a < end; ++a) product += cat(" * int64_t(p.region.dims[", a, "])");
    code.line("return ", product, ";");
    code.line("}");
  }

  // Offsets of the row, and the values of the row that need no reduction.
  void emit_row_start(Code& code) {
    text_.coordinates(code, "row", 0, d_.outer_rank);
    for (int o = d_.anchor_operands; o < int(d_.operands.size()); ++o)
      code.line("const int64_t o", o, " = ", text_.offset_base(o), " + ", text_.offset_terms(o, 0, d_.outer_rank), ";");
    emit_row_values(code, 0);
  }

  void emit_row_values(Code& code, int pass) {
    for (size_t k = 0; k < d_.program.size(); ++k) {
      const Instr& i = d_.program[k];
      if (i.row && pass_[k] == pass && i.kind != Kind::store && i.kind != Kind::reduce) text_.value(code, k, cat("o", i.operand), {});
    }
  }

  void emit_row_stores(Code& code) {
    if (row_stores_.empty()) return;
    code.line("if (thread == 0) {");
    for (size_t k : row_stores_) {
      const Instr& i = d_.program[k];
      code.line(text_.buffer(i.operand), "[o", i.operand, "] = ", text_.stored(i), ";");
    }
    code.line("}");
  }

  // A loop over the chunks from `first` to `last` (exclusive) of the row.
  void emit_pass(Code& code, const std::vector<size_t>& roots, const std::vector<size_t>& stores, const char* first, const char* last,
                 const std::string& team) {
    const int inner = rank_ - 1;
    code.line("for (int64_t chunk = ", first, " + thread; chunk < ", last, "; chunk += ", team, ") {");
    if (d_.inner_rank == 1) {
      code.line("const int64_t c", inner, " = chunk * ", width_, ";");
    } else {
      code.line("const Quotient q = divide(chunk, chunks_of_last);");
      code.line("const int64_t c", inner, " = q.rest * ", width_, ";");
      text_.coordinates(code, "q.quotient", d_.outer_rank, inner);
    }
    if (width_ > 1) code.line("const int count = int(smaller(", width_, ", int64_t(p.region.dims[", inner, "]) - c", inner, "));");
    const std::vector<size_t> chunked = stores.empty() ? by_chunk(roots) : std::vector<size_t>();
    for (size_t k : chunked) code.line(lane_type(d_.program[k].arg_lane), " r", k, "[", width_, "];");
    ChunkCode{d_, text_, d_.outer_rank, rank_, width_}.emit(code, needed(roots), stores, [&](Code& c) {
      if (stores.empty()) emit_accumulate(c, roots);
    });
    for (size_t k : chunked) code.line("a", k, ".add_chunk(r", k, ", count);");
    code.line("}");
  }

  // Those that take a chunk's elements at once.
  std::vector<size_t> by_chunk(const std::vector<size_t>& reduces) const {
    std::vector<size_t> out;
    for (size_t k : reduces) {
      const ReduceOp op = d_.program[k].reduce;
      if (width_ > 1 && (op == ReduceOp::sum_exp || op == ReduceOp::sum_sq_dev)) out.push_back(k);
    }
    return out;
  }

  void emit_accumulate(Code& code, const std::vector<size_t>& reduces) {
    std::string position = "0";
    for (int a = d_.outer_rank; a < rank_; ++a)
      position = a == d_.outer_rank ? cat("c", a) : cat("(", position, ") * int64_t(p.region.dims[", a, "]) + c", a);
    const std::vector<size_t> chunked = by_chunk(reduces);
    for (size_t k : chunked) code.line("r", k, "[e] = v", d_.program[k].args[0], ";");
    if (width_ > 1) code.line("if (e < count) {");
    else code.line("{");
    for (size_t k : reduces) {
      if (std::find(chunked.begin(), chunked.end(), k) != chunked.end()) continue;
      const bool positioned = d_.program[k].reduce == ReduceOp::argmax;
      code.line("a", k, ".add(v", d_.program[k].args[0], ", ", positioned ? cat(position, width_ > 1 ? " + e" : "") : std::string("0"), ");");
    }
    code.line("}");
  }

  std::string accumulator(size_t k) const {
    const Instr& i = d_.program[k];
    return cat(accumulator_name(i.reduce), "<", lane_type(i.arg_lane), ">");
  }

  void emit_results(Code& code, const std::vector<size_t>& reduces, const std::string& team) {
    for (size_t k : reduces)
      code.line("const ", lane_type(d_.program[k].lane), " v", k, " = merged<", team, ">(a", k, ").result();");
  }

  std::vector<size_t> reduces_of(int pass) const {
    std::vector<size_t> out;
    for (size_t k : reduces_)
      if (pass_[k] == pass) out.push_back(k);
    return out;
  }

  void emit_chunk_counts(Code& code) {
    code.line("const int64_t chunks_of_last = round_up_quotient(p.region.dims[", rank_ - 1, "], ", width_, ");");
    std::string product = "chunks_of_last";
    for (int a = d_.outer_rank; a + 1 < rank_; ++a) product += cat(" * int64_t(p.region.dims[", a, "])");
    code.line("const int64_t chunks = ", product, ";");
  }

  void emit_row(Code& code) {
    emit_size(code, "rows", 0, d_.outer_rank);
    code.line("template <int team>");
    code.line("inline void run_row(const Buffers& B, const Params& p, int64_t row, int thread) {");
    emit_row_start(code);
    emit_chunk_counts(code);
    for (int pass = 1; pass <= passes_; ++pass) {
      const std::vector<size_t> reduces = reduces_of(pass);
      for (size_t k : reduces) code.line(accumulator(k), " a", k, ";");
      emit_pass(code, reduces, {}, "0", "chunks", "team");
      emit_results(code, reduces, "team");
      emit_row_values(code, pass);
    }
    if (!inner_stores_.empty()) emit_pass(code, inner_stores_, inner_stores_, "0", "chunks", "team");
    emit_row_stores(code);
    code.line("}");
  }

  // Accumulators of the parts lie one after the other: [row][part][reduction], each in whole 8 bytes.
  void emit_parts(Code& code, const std::string& name) {
    const int64_t words = scratch_bytes_per_part() / 8;
    emit_size(code, "row_length", d_.outer_rank, rank_);
    code.line("inline int64_t parts_of(int64_t length) {");
    code.line("return smaller((length + ", part_elements - 1, ") / ", part_elements, ", ", most_parts, ");");
    code.line("}");
    entry(code, name + "_part", [&] {
      code.line("uint64_t* accumulators = reinterpret_cast<uint64_t*>(scratch);");
      code.line("const int64_t parts = parts_of(row_length(p));");
      code.line("if (group_index() >= rows(p) * parts) return;");
      code.line("const Quotient place = divide(group_index(), parts);");
      code.line("const int64_t row = place.quotient;");
      code.line("const int thread = threadIdx.x;");
      emit_row_start(code);
      emit_chunk_counts(code);
      code.line("const int64_t each = round_up_quotient(chunks, parts), first = place.rest * each, last = smaller(first + each, chunks);");
      for (size_t k : reduces_) code.line(accumulator(k), " a", k, ";");
      emit_pass(code, reduces_, {}, "first", "last", cat(threads));
      int64_t at = 0;
      for (size_t k : reduces_) {
        code.line("const ", accumulator(k), " m", k, " = merged<", threads, ">(a", k, ");");
        code.line("if (thread == 0) __builtin_memcpy(accumulators + group_index() * ", words, " + ", at, ", &m", k, ", sizeof(m", k, "));");
        at += (accumulator_bytes(d_.program[k]) + 7) / 8;
      }
    });
    entry(code, name + "_merge", [&] {
      code.line("const uint64_t* accumulators = reinterpret_cast<const uint64_t*>(scratch);");
      code.line("const int64_t row = group_index(), parts = parts_of(row_length(p));");
      code.line("if (row >= rows(p)) return;");
      code.line("const int thread = threadIdx.x;");
      emit_row_start(code);
      for (size_t k : reduces_) code.line(accumulator(k), " a", k, ";");
      // A thread takes neighbouring parts, so that they are merged in order.
      code.line("const int64_t each = round_up_quotient(parts, ", threads, "), last = smaller((thread + 1) * each, parts);");
      code.line("for (int64_t part = thread * each; part < last; ++part) {");
      int64_t at = 0;
      for (size_t k : reduces_) {
        code.line(accumulator(k), " m", k, ";");
        code.line("__builtin_memcpy(&m", k, ", accumulators + (row * parts + part) * ", words, " + ", at, ", sizeof(m", k, "));");
        code.line("a", k, ".merge(m", k, ");");
        at += (accumulator_bytes(d_.program[k]) + 7) / 8;
      }
      code.line("}");
      emit_results(code, reduces_, cat(threads));
      emit_row_values(code, 1);
      emit_row_stores(code);
    });
  }

  const KernelDesc& d_;
  const ProgramText text_;
  const int rank_, width_;
  std::vector<int> pass_;
  std::vector<size_t> reduces_, inner_stores_, row_stores_;
  int passes_ = 0;
};

}  // namespace

Source emit_row(const KernelDesc& d) { return RowText(d).source(); }

Extent row_extent(const KernelDesc& d, const Params& p) {
  int64_t rows = 1, length = 1;
  for (int a = 0; a < d.outer_rank; ++a) rows *= p.region.dims[a];
  for (int a = d.outer_rank; a < d.outer_rank + d.inner_rank; ++a) length *= p.region.dims[a];
  if (is_split(rows, length)) {
    if (const RowText text(d); text.splits()) {
      const int64_t parts = parts_of(length);
      return {{0, 0, rows * parts, rows}, rows * parts * text.scratch_bytes_per_part()};
    }
  }
  if (by_warp(rows, length)) return {{(rows + threads / 32 - 1) / (threads / 32), 0}, 0};
  return {{0, rows}, 0};
}

}  // namespace tenon::codegen
