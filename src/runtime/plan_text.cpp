#include <algorithm>
#include <set>

#include "base/cat.h"
#include "runtime/plan.h"

namespace tenon {

int64_t Plan::launches() const {
  return std::count_if(steps.begin(), steps.end(), [](const PlanStep& s) { return s.kind == PlanStep::Kind::launch; });
}

namespace {

int bindings(const PlanStep& step) {
  std::set<int> distinct;
  for (const PlanView& v : step.views) distinct.insert(v.buffer);
  return int(distinct.size()) + (step.scalars ? 1 : 0);
}

std::string buffer_name(const Plan& plan, int buffer) {
  const PlanBuffer& b = plan.buffers[size_t(buffer)];
  switch (b.where) {
    case PlanBuffer::Where::leaf: return b.label.empty() ? cat("leaf", b.index) : b.label;
    case PlanBuffer::Where::output: return cat("out", b.index);
    case PlanBuffer::Where::arena: return b.index > 0 ? cat("@", b.index, ":", b.offset) : cat("@", b.offset);
  }
  return "?";
}

// "leaf0+256(3):f32[65]": the view starts at byte 256 of the buffer, its first element is the third behind that.
std::string view_text(const Plan& plan, const PlanView& v, int64_t base = 0) {
  const PlanBuffer& b = plan.buffers[size_t(v.buffer)];
  return cat(buffer_name(plan, v.buffer), v.offset > 0 ? "+" : "", v.offset ? cat(v.offset) : std::string(),
             base ? cat("(", base, ")") : std::string(), ":", to_string(b.dtype), to_string(b.shape));
}

// Of the launch's i-th view: what its parameters add to the view's start, in elements.
int64_t base_of(const PlanStep& s, size_t i) {
  const size_t own = size_t(s.desc.anchor_operands);
  if (i < own) return s.params.anchor_base[i];
  size_t operand = own;
  for (size_t buffers = own;; ++operand)
    if (s.desc.operands[operand].kind == Operand::Kind::buffer && buffers++ == i) break;
  return s.params.region.operands[operand - own].base;
}

std::string views_text(const Plan& plan, const PlanStep& step, bool outputs) {
  std::string out;
  for (size_t i = 0; i < step.views.size(); ++i)
    if ((step.views[i].access != Access::in) == outputs)
      out += cat(out.empty() ? "" : ", ", view_text(plan, step.views[i], base_of(step, i)));
  return out;
}

std::string axes_text(const PlanStep& s) {
  std::string out;
  for (int j = 0; j < s.desc.outer_rank + s.desc.inner_rank; ++j)
    out += cat(j == s.desc.outer_rank ? "|" : j ? "," : "", int64_t(s.params.region.dims[j]));
  return cat("[", out, "]");
}

}  // namespace

int Plan::max_bindings() const {
  int most = 0;
  for (const PlanStep& s : steps)
    if (s.kind == PlanStep::Kind::launch) most = std::max(most, bindings(s));
  return most;
}

std::string largest_tensors(const Plan& plan) {
  std::vector<const PlanBuffer*> all;
  for (const PlanBuffer& b : plan.buffers)
    if (b.where != PlanBuffer::Where::leaf) all.push_back(&b);
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->bytes > b->bytes; });
  std::string out;
  for (size_t i = 0; i < all.size() && i < 3; ++i)
    out += cat(i ? ", " : "", to_string(all[i]->dtype), to_string(all[i]->shape), " (", all[i]->bytes, " bytes)");
  return out;
}

std::string to_string(const Plan& plan) {
  std::string out = cat("plan: ", plan.launches(), " launches, ", int64_t(plan.steps.size()) - plan.launches(),
                        " copies, ", plan.leaves, " leaves, ", plan.scalars, " scalars, arena ", plan.arena_bytes,
                        " bytes, outputs ", plan.output_bytes, " bytes\n");
  int number = 0;
  for (const PlanStep& s : plan.steps) {
    if (s.kind == PlanStep::Kind::copy)
      out += cat("  ", number++, " copy ", view_text(plan, s.views[0]), " <- ", view_text(plan, s.views[1]), " (",
                 s.bytes, " bytes)\n");
    else
      out += cat("  ", number++, " ", s.kernel ? s.kernel->name : kernel_name(s.desc), " ", axes_text(s), " ",
                 views_text(plan, s, true), " <- ", views_text(plan, s, false), " groups ", s.grid.groups, "\n");
  }
  int in_place = 0;
  for (const PlanRoot& r : plan.roots) {
    if (plan.buffers[size_t(r.buffer)].where == PlanBuffer::Where::leaf) ++in_place;
    else out += cat("  result ", buffer_name(plan, r.buffer), ":", to_string(r.dtype), to_string(r.shape), "\n");
  }
  if (in_place) out += cat("  ", in_place, in_place == 1 ? " result is" : " results are", " a leaf's memory (a view, or updated in place)\n");
  return out;
}

std::string to_json(const Plan& plan) {
  std::string out = cat("{\"launches\":", plan.launches(), ",\"copies\":", int64_t(plan.steps.size()) - plan.launches(),
                        ",\"leaves\":", plan.leaves, ",\"scalars\":", plan.scalars, ",\"arena_bytes\":", plan.arena_bytes,
                        ",\"output_bytes\":", plan.output_bytes, ",\"max_bindings\":", plan.max_bindings(), ",\"steps\":[");
  bool first = true;
  for (const PlanStep& s : plan.steps) {
    out += cat(first ? "" : ",", "{\"kernel\":\"",
               s.kind == PlanStep::Kind::copy ? std::string("copy") : s.kernel ? s.kernel->name : kernel_name(s.desc),
               "\",\"family\":\"", s.kind == PlanStep::Kind::copy ? std::string("copy") : s.desc.family,
               "\",\"groups\":", s.grid.groups, ",\"views\":[");
    for (size_t i = 0; i < s.views.size(); ++i)
      out += cat(i ? "," : "", "{\"view\":\"", view_text(plan, s.views[i], s.kind == PlanStep::Kind::copy ? 0 : base_of(s, i)), "\",\"access\":\"",
                 s.views[i].access == Access::in ? "in" : s.views[i].access == Access::out ? "out" : "inout", "\"}");
    out += "]}";
    first = false;
  }
  return out + "]}";
}

}  // namespace tenon
