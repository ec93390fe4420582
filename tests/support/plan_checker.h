// What must hold for every plan, worked out from the plan alone: nothing of the planner is used. Empty text: all holds.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/cat.h"
#include "runtime/grid.h"
#include "runtime/plan.h"

namespace tenon::testing {

class PlanChecker {
 public:
  PlanChecker(const Plan& plan, const Limits& limits) : p_(plan), l_(limits) {}

  std::string run() {
    for (size_t i = 0; i < p_.steps.size(); ++i) check_step(i);
    check_roots();
    check_memory();
    return problems_.empty() ? problems_ : problems_ + to_string(p_);
  }

 private:
  using Where = PlanBuffer::Where;
  struct Life {
    size_t first, last;
    bool written;
  };

  template <class... A>
  void expect(bool holds, const A&... what) {
    if (!holds) problems_ += cat(what...) + "\n";
  }

  const PlanBuffer& buffer(int i) const { return p_.buffers[size_t(i)]; }

  void check_step(size_t i) {
    const PlanStep& s = p_.steps[i];
    std::set<int> read, written;
    for (const PlanView& v : s.views) {
      expect(v.buffer >= 0 && v.buffer < int(p_.buffers.size()), "step ", i, ": no such buffer");
      (v.access == Access::in ? read : written).insert(v.buffer);
    }
    for (int b : written) expect(!read.contains(b), "step ", i, " reads and writes buffer ", b);
    // Only what an update starts from may be written in place, and something must have been there.
    for (const PlanView& v : s.views) {
      const bool filled = buffer(v.buffer).where == Where::leaf || lives_.contains(v.buffer) || buffer(v.buffer).bytes == 0;
      if (v.access != Access::out) expect(filled, "step ", i, " reads buffer ", v.buffer, " before anything wrote it");
    }
    for (const PlanView& v : s.views) {
      auto [it, added] = lives_.try_emplace(v.buffer, Life{i, i, false});
      it->second.last = i;
      it->second.written = it->second.written || v.access != Access::in;
    }
    s.kind == PlanStep::Kind::copy ? check_copy(i) : check_launch(i);
  }

  void check_copy(size_t i) {
    const PlanStep& s = p_.steps[i];
    expect(s.views.size() == 2 && s.views[0].access == Access::out && s.views[1].access == Access::in, "step ", i, ": no copy");
    for (const PlanView& v : s.views) expect(s.bytes > 0 && v.offset == 0 && s.bytes <= buffer(v.buffer).bytes, "step ", i, ": copy outside");
    expect(buffer(s.views[0].buffer).bytes == s.bytes, "step ", i, " copies a part");
  }

  void check_launch(size_t i) {
    const PlanStep& s = p_.steps[i];
    expect(s.kernel != nullptr && s.grid.groups > 0, "step ", i, " launches nothing");
    expect(grid_dimensions(s.grid.groups, l_.max_groups).has_value(), "step ", i, ": ", s.grid.groups, " groups");
    expect(int(s.desc.program.size()) <= 4 * l_.max_instructions, "step ", i, ": ", s.desc.program.size(), " instructions");
    std::set<int> distinct;
    for (const PlanView& v : s.views) distinct.insert(v.buffer);
    expect(int(distinct.size()) + s.scalars <= l_.max_bindings, "step ", i, ": ", distinct.size(), " buffers");
    const int own = s.desc.anchor_operands, region = int(s.desc.operands.size()) - own;
    expect(region >= 0 && region <= region_max_operands && own <= anchor_max_operands, "step ", i, ": operands");
    size_t view = 0;
    for (int o = 0; o < own + region; ++o) {
      const Operand& operand = s.desc.operands[size_t(o)];
      if (operand.kind != Operand::Kind::buffer) continue;
      if (view >= s.views.size()) break;
      check_view(i, s.views[view++], operand, o < own ? nullptr : &s.params.region.operands[o - own],
                 o < own ? int64_t(s.params.anchor_base[o]) : int64_t(s.params.region.operands[o - own].base));
    }
    expect(view == s.views.size(), "step ", i, ": views and operands differ in number");
  }

  void check_view(size_t i, const PlanView& v, const Operand& o, const RegionOperandParams* region, int64_t base) {
    const PlanStep& s = p_.steps[i];
    const PlanBuffer& b = buffer(v.buffer);
    // An update in place writes what the kernel calls an output into a buffer whose rest stays.
    expect(o.access == v.access || (o.access == Access::out && v.access == Access::inout), "step ", i, ": access of buffer ", v.buffer);
    expect(o.dtype == b.dtype, "step ", i, ": dtype of buffer ", v.buffer);
    const int64_t start = b.where == Where::leaf ? b.start : b.where == Where::arena ? b.offset : 0;
    expect((start + v.offset) % l_.view_alignment == 0, "step ", i, ": a view of buffer ", v.buffer, " at ", v.offset);
    const int64_t bytes = block_bytes(o.dtype), elements = block_elements(o.dtype);
    if (b.bytes == 0) return;
    if (!region) {
      expect(b.where == Where::leaf || (v.offset + base / elements * bytes >= 0 && v.offset + base / elements * bytes < b.bytes),
             "step ", i, ": an operand outside buffer ", v.buffer);
      return;
    }
    if (o.gathered && region->gather_extent == 0) return;
    int64_t low = 0, high = 0;
    const auto span = [&](int64_t count, int64_t stride) { (stride < 0 ? low : high) += (count - 1) * stride; };
    for (int a = 0; a < s.desc.outer_rank + s.desc.inner_rank; ++a) {
      if (s.params.region.dims[a] == 0) return;  // a reduction over nothing
      span(s.params.region.dims[a], region->strides[a]);
    }
    if (o.gathered) span(region->gather_extent, region->gather_stride);
    if (o.dynamic) span(int64_t(region->dynamic_max) + 1, region->dynamic_stride);
    expect(base + low >= 0, "step ", i, " reaches before its view of buffer ", v.buffer);
    if (b.where == Where::leaf) {  // its origin may lie behind its first byte
      expect((high - low) / elements * bytes < std::max<int64_t>(b.bytes, 1), "step ", i, ": a view longer than buffer ", v.buffer);
      return;
    }
    const int64_t first = v.offset / bytes * elements + base + low, last = first + high - low;
    expect(v.offset % bytes == 0 && first >= 0 && last / elements * bytes < b.bytes, "step ", i, ": a view outside buffer ", v.buffer);
  }

  void check_roots() {
    for (const PlanRoot& r : p_.roots) {
      const PlanBuffer& b = buffer(r.buffer);
      expect(b.where != Where::arena, "a result lies in the plan's own memory");
      expect(b.where != Where::output || b.bytes == 0 || lives_.contains(r.buffer), "nothing computes a result");
    }
  }

  // Buffers that live at the same time lie apart, in blocks that are exactly as large as needed.
  void check_memory() {
    std::vector<int64_t> ends(p_.arena_blocks.size(), 0), at_step(p_.steps.size(), 0);
    std::vector<int> arena;
    int64_t outputs = 0, leaves = 0;
    for (int i = 0; i < int(p_.buffers.size()); ++i) {
      const PlanBuffer& b = buffer(i);
      if (b.where == Where::leaf) leaves += b.bytes;
      expect(b.bytes <= l_.max_binding_bytes && b.bytes <= l_.max_buffer_bytes, "buffer ", i, " is too large");
      if (b.where != Where::arena || !lives_.contains(i)) continue;
      expect(lives_.at(i).written || b.bytes == 0, "buffer ", i, " is never written");
      expect(b.index >= 0 && b.index < int(ends.size()) && b.offset >= 0 && b.offset % 256 == 0, "buffer ", i, " lies nowhere");
      if (b.index < 0 || b.index >= int(ends.size())) continue;
      const int64_t size = (b.bytes + 255) / 256 * 256;
      ends[size_t(b.index)] = std::max(ends[size_t(b.index)], b.offset + size);
      for (size_t s = lives_.at(i).first; s <= lives_.at(i).last; ++s) at_step[s] += size;
      for (int other : arena) check_apart(i, other);
      arena.push_back(i);
    }
    for (const PlanOutput& o : p_.outputs) outputs += o.bytes;
    int64_t blocks = 0;
    for (size_t k = 0; k < ends.size(); ++k) {
      expect(ends[k] == p_.arena_blocks[k], "block ", k, " has ", p_.arena_blocks[k], " bytes, ", ends[k], " are used");
      blocks += ends[k];
    }
    expect(blocks == p_.arena_bytes && outputs == p_.output_bytes && leaves == p_.leaf_bytes, "sums of bytes differ");
    expect(blocks + outputs + leaves <= l_.memory_bytes, "more memory than there is");
    const int64_t most = at_step.empty() ? 0 : *std::max_element(at_step.begin(), at_step.end());
    expect(blocks >= most, "an arena of ", blocks, " bytes, ", most, " live at once");
    expect(blocks <= 2 * most, "an arena of ", blocks, " bytes for ", most, " that live at once");
  }

  void check_apart(int i, int j) {
    const PlanBuffer &a = buffer(i), &b = buffer(j);
    const Life &x = lives_.at(i), &y = lives_.at(j);
    const bool together = a.index == b.index && x.first <= y.last && y.first <= x.last;
    expect(!together || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset, "buffers ", i, " and ", j, " overlap");
  }

  const Plan& p_;
  const Limits& l_;
  std::map<int, Life> lives_;
  std::string problems_;
};

inline std::string check_plan(const Plan& plan, const Limits& limits) { return PlanChecker(plan, limits).run(); }

}  // namespace tenon::testing
