// Every plan that any test of this program makes is checked; and the checker itself: it finds what is wrong.
#include "support/plan_checker.h"

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "graph/handles.h"
#include "graph/mode.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

void check_each(const Plan& plan, const Limits& limits) { EXPECT_EQ(check_plan(plan, limits), ""); }

[[maybe_unused]] const bool installed = [] {
  graph::set_plan_observer(check_each);
  return true;
}();

class Checker : public ::testing::Test {
 protected:
  Device d = Device::open("null:webgpu");
  Tensor leaf(Shape shape) {
    int64_t n = 4;
    for (int64_t s : shape) n *= s;
    return Tensor::from_bytes(std::vector<std::byte>(size_t(n)), DType::f32, std::move(shape), d);
  }
  // Three launches with two buffers of the plan's own, both alive at the second.
  Plan good() {
    const Tensor a = sum(leaf({64, 65}), {0}), b = softmax(reshape(concat({a, a * 2}, 0), {2, 65}), 0);
    const graph::NodeRef roots[] = {graph::node_of(sum(matmul(b, leaf({65, 3})), {0}))};
    return *graph::plan_for(roots);
  }
  std::string check(const Plan& p) { return check_plan(p, d.shared()->limits()); }
  static int arena_buffer(const Plan& p, int number) {
    for (int i = 0; i < int(p.buffers.size()); ++i)
      if (p.buffers[size_t(i)].where == PlanBuffer::Where::arena && p.buffers[size_t(i)].index >= 0 && number-- == 0) return i;
    return -1;
  }
};

TEST_F(Checker, AGoodPlanPasses) {
  const Plan p = good();
  EXPECT_EQ(check(p), "") << to_string(p);
  ASSERT_GE(arena_buffer(p, 1), 0) << to_string(p);
}

TEST_F(Checker, FindsBuffersThatOverlap) {
  Plan p = good();
  for (PlanBuffer& b : p.buffers)
    if (b.where == PlanBuffer::Where::arena) b.offset = 0;
  EXPECT_NE(check(p).find("overlap"), std::string::npos);
}

TEST_F(Checker, FindsAWrongArena) {
  Plan p = good();
  p.arena_blocks[0] += 256;
  p.arena_bytes += 256;
  EXPECT_NE(check(p).find("are used"), std::string::npos);
}

TEST_F(Checker, FindsAnOrderThatCannotRun) {
  Plan p = good();
  std::swap(p.steps.front(), p.steps.back());
  EXPECT_NE(check(p).find("before anything wrote it"), std::string::npos);
}

TEST_F(Checker, FindsViewsOutsideAndOffTheAlignment) {
  Plan p = good();
  PlanView* own = nullptr;
  for (PlanStep& s : p.steps)
    for (PlanView& v : s.views)
      if (p.buffers[size_t(v.buffer)].where == PlanBuffer::Where::arena) own = &v;
  ASSERT_NE(own, nullptr);
  own->offset += 1 << 20;
  EXPECT_NE(check(p).find("outside buffer"), std::string::npos);
  own->offset = 4;
  EXPECT_NE(check(p).find("at 4"), std::string::npos);
}

TEST_F(Checker, FindsReadingAndWritingOneBuffer) {
  Plan p = good();
  PlanStep& s = p.steps.back();
  for (PlanView& v : s.views) v.buffer = s.views.back().buffer;
  EXPECT_NE(check(p).find("reads and writes"), std::string::npos);
}

TEST_F(Checker, FindsTooManyGroupsAndBuffers) {
  Plan p = good();
  p.steps[0].grid.groups = int64_t(1) << 50;
  EXPECT_NE(check(p).find("groups"), std::string::npos);
  Limits narrow = d.shared()->limits();
  narrow.max_bindings = 1;
  EXPECT_NE(check_plan(good(), narrow).find("buffers"), std::string::npos);
}

}  // namespace
}  // namespace tenon::testing
