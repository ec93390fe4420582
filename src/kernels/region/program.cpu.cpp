#include "kernels/region/program.cpu.h"

#include <algorithm>

#include "base/check.h"

namespace tenon::cpu {
namespace {

using Kind = Instr::Kind;

class Preparer {
 public:
  explicit Preparer(const KernelDesc& desc) : code_(desc.program), p_(std::make_shared<Program>()) { p_->desc = &desc; }

  std::shared_ptr<const Program> run() {
    count_buffers();
    classify();
    const int last = code_.empty() ? 0 : *std::max_element(stage_.begin(), stage_.end());
    p_->stages.resize(size_t(last) + 1);
    for (size_t s = 0; s < p_->stages.size(); ++s) fill_stage(int(s));
    for (ProgramStage& s : p_->stages) assign_registers(s);
    find_plain_store();
    return p_;
  }

 private:
  void count_buffers() {
    int buffers = 0;
    for (const Operand& o : p_->desc->operands) p_->buffer_of.push_back(o.kind == Operand::Kind::buffer ? buffers++ : -1);
  }

  void classify() {
    const size_t n = code_.size();
    p_->uniform.assign(n, false);
    p_->loops.assign(n, nullptr);
    stage_.assign(n, 0);
    spill_.assign(n, -1);
    computed_in_.assign(n, -1);
    for (size_t i = 0; i < n; ++i) {
      const Instr& c = code_[i];
      if (is_wide(c.lane)) p_->lane_words = 2;
      if (is_wide(c.lane) && c.kind == Kind::accumulator) p_->accumulator_words = 2;
      bool all_uniform = true;
      for (int a = 0; a < arg_count(c); ++a) {
        const size_t arg = c.args[size_t(a)];
        stage_[i] = std::max(stage_[i], stage_[arg]);
        all_uniform = all_uniform && p_->uniform[arg];
      }
      p_->uniform[i] = c.kind == Kind::constant || c.kind == Kind::scalar || c.kind == Kind::reduce ||
                       (c.kind == Kind::op && all_uniform) || c.row;
      if (c.kind == Kind::reduce) ++stage_[i];
      if (c.kind == Kind::op) {
        p_->loops[i] = scalar_loop(c.op, c.arg_lane);
        TENON_CHECK(p_->loops[i], "no loop for ", info(c.op).name);
      }
    }
  }

  void fill_stage(int s) {
    ProgramStage& stage = p_->stages[size_t(s)];
    for (size_t i = 0; i < code_.size(); ++i) {
      const bool sink = (code_[i].kind == Kind::store && stage_[i] == s) || (code_[i].kind == Kind::reduce && stage_[i] == s + 1);
      if (!sink) continue;
      if (code_[i].kind == Kind::reduce) {
        stage.reduces.push_back(int(i));
        need(int(code_[i].args[0]), s, false);
      } else {
        need(int(i), s, true);
      }
    }
  }

  // Puts an instruction and what it depends on into the stage.
  void need(int i, int s, bool is_store) {
    ProgramStage& stage = p_->stages[size_t(s)];
    const Instr& c = code_[size_t(i)];
    if (p_->uniform[size_t(i)] && !is_store) return need_uniform(i);
    if (is_store && p_->uniform[size_t(i)]) {
      need_uniform(int(c.args[0]));
      stage.uniforms.push_back(i);
      return;
    }
    for (const ProgramStep& step : stage.blocks)
      if (step.instr == i) return;
    const bool again = c.kind == Kind::load || c.kind == Kind::index || c.kind == Kind::accumulator;
    const int before = computed_in_[size_t(i)];
    if (before >= 0 && before < s && !again) {  // kept from an earlier stage
      if (spill_[size_t(i)] < 0) {
        spill_[size_t(i)] = p_->spills++;
        for (ProgramStep& step : p_->stages[size_t(before)].blocks)
          if (step.instr == i) step.spill = spill_[size_t(i)];
      }
      for (const ProgramStage::Kept& k : stage.kept)
        if (k.instr == i) return;
      stage.kept.push_back({i, spill_[size_t(i)]});
      return;
    }
    for (int a = 0; a < arg_count(c); ++a) {
      const int arg = int(c.args[size_t(a)]);
      need(arg, s, false);
      if (p_->uniform[size_t(arg)] && std::find(stage.spread.begin(), stage.spread.end(), arg) == stage.spread.end())
        stage.spread.push_back(arg);
    }
    computed_in_[size_t(i)] = s;
    stage.blocks.push_back({i, p_->loops[size_t(i)], -1, -1});
  }

  // Uniform instructions run once, in the stage where they become known.
  void need_uniform(int i) {
    if (computed_in_[size_t(i)] >= 0) return;
    computed_in_[size_t(i)] = stage_[size_t(i)];
    if (code_[size_t(i)].kind == Kind::reduce) return;  // known when its stage's blocks are done
    for (int a = 0; a < arg_count(code_[size_t(i)]); ++a) need_uniform(int(code_[size_t(i)].args[size_t(a)]));
    p_->stages[size_t(stage_[size_t(i)])].uniforms.push_back(i);
  }

  void assign_registers(ProgramStage& stage) {
    // A uniform that is only reduced needs spreading too.
    for (int r : stage.reduces) {
      const int arg = int(code_[size_t(r)].args[0]);
      if (p_->uniform[size_t(arg)] && std::find(stage.spread.begin(), stage.spread.end(), arg) == stage.spread.end())
        stage.spread.push_back(arg);
    }
    int next = int(stage.spread.size());
    TENON_CHECK(stage.reduces.size() <= max_stage_reductions);
    std::vector<size_t> last(code_.size(), 0);
    for (size_t k = 0; k < stage.blocks.size(); ++k) {
      const Instr& c = code_[size_t(stage.blocks[k].instr)];
      for (int a = 0; a < arg_count(c); ++a) last[c.args[size_t(a)]] = k;
    }
    for (int r : stage.reduces) last[code_[size_t(r)].args[0]] = stage.blocks.size();
    std::vector<int> free;
    std::vector<int> reg_of(code_.size(), -1);
    for (size_t k = 0; k < stage.blocks.size(); ++k) {
      ProgramStep& step = stage.blocks[k];
      const Instr& c = code_[size_t(step.instr)];
      // Arguments that end here give their register back first where the loop may write over them, as it may where its
      // lanes have their width; otherwise after the result has its own.
      std::vector<int> later;
      for (int a = 0; a < arg_count(c); ++a) {
        int& reg = reg_of[c.args[size_t(a)]];
        if (last[c.args[size_t(a)]] != k || reg < 0) continue;
        const bool over = c.kind == Kind::op && is_wide(code_[c.args[size_t(a)]].lane) == is_wide(c.lane);
        (over ? free : later).push_back(reg);
        reg = -1;
      }
      if (c.kind != Kind::store) {
        if (free.empty()) free.push_back(next++);
        step.reg = reg_of[size_t(step.instr)] = free.back();
        free.pop_back();
      }
      free.insert(free.end(), later.begin(), later.end());
    }
    p_->registers = std::max(p_->registers, next);
  }

  void find_plain_store() {
    if (code_.size() != 2 || code_[0].kind != Kind::accumulator || code_[1].kind != Kind::store) return;
    const Operand& o = p_->desc->operands[code_[1].operand];
    p_->plain_store = o.dtype == (is_wide(code_[0].lane) ? DType::f64 : DType::f32) && !o.dynamic;
  }

  const std::vector<Instr>& code_;
  std::shared_ptr<Program> p_;
  std::vector<int> stage_, spill_, computed_in_;
};

}  // namespace

std::shared_ptr<const Program> make_program(const KernelDesc& desc) { return Preparer(desc).run(); }

int64_t program_scratch_bytes(const Program& p, int64_t inner) {
  const int64_t row = (inner + 15) / 16 * 16;
  return 4 * p.lane_words * (int64_t(p.registers) * block_lanes + int64_t(p.spills) * row) +
         64 * (int64_t(p.desc->program.size()) + 1) * 2;
}

}  // namespace tenon::cpu
