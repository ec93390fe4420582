// A language model on a device that fails: the call says so, the next one works.
#include <gtest/gtest.h>

#include "llm/tiny_model.h"
#include "support/faulty_backend.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

TEST(ModelFailures, TheNextCallWorks) {
  auto faults = std::make_shared<Faults>();
  const Device d = faulty_device("cpu", faults);
  llm::Model model = llm::Model::load(test::TinyModel{}.source(), d);
  llm::GenerateOptions o;
  o.max_tokens = 8;
  const std::vector<int32_t> prompt{5, 6, 7};
  const std::vector<int32_t> want = model.generate_ids(prompt, o).ids;
  EXPECT_EQ(want.size(), 8u);
  struct Way {
    const char* name;
    std::atomic<int>* fault;
    int at;
    ErrorCode code;
  };
  const Way ways[] = {{"a launch of the prompt", &faults->launch, 3, ErrorCode::device},
                      {"a launch of a later step", &faults->launch, 70, ErrorCode::device},
                      {"a dispatch", &faults->dispatch, 5, ErrorCode::device},
                      {"a later dispatch", &faults->dispatch, 90, ErrorCode::device}};
  for (const Way& way : ways) {
    *way.fault = way.at;
    try {
      model.generate_ids(prompt, o);
      ADD_FAILURE() << way.name << ": nothing was thrown";
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == way.code || e.code() == ErrorCode::state_lost) << way.name << ": " << e.what();
    }
    EXPECT_EQ(*way.fault, -1) << way.name;
    EXPECT_EQ(model.generate_ids(prompt, o).ids, want) << way.name;
  }
  // No memory for a longer conversation's cache: refused, and the shorter one goes on.
  {
    RecursiveLock lock(d.context()->mutex());
    d.context()->pool().trim();
  }
  faults->alloc = 0;
  o.max_tokens = 400;
  EXPECT_THROW(model.generate_ids(prompt, o), Error);
  faults->alloc = -1;
  o.max_tokens = 8;
  EXPECT_EQ(model.generate_ids(prompt, o).ids, want);
}

}  // namespace
}  // namespace tenon::testing
