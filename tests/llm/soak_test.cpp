// Many generations with one model: no memory is kept. TENON_TEST_SOAK=n sets how many (60).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "llm/tiny_model.h"
#include "support/sanitizers.h"
#include "support/tested_device.h"
#include "tenon/llm.h"
#include "tenon/tenon.h"

#if defined(__linux__)
#include <unistd.h>
#endif

namespace tenon::testing {
namespace {

int rounds() {
  const char* n = std::getenv("TENON_TEST_SOAK");
  return n && *n ? std::atoi(n) : 60;
}

// Resident memory of this process; 0 where that says nothing.
int64_t host_bytes() {
  if (sanitizer_keeps_memory) return 0;
#if defined(__linux__)
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  if (file >> all >> resident) return resident * ::sysconf(_SC_PAGESIZE);
#endif
  return 0;
}

TEST(Soak, MemoryStaysWithinAPercent) {
  const test::TinyModel tiny{.quantised = true, .end_tokens = false};
  llm::Model model = llm::Model::load(tiny.source(), tested_device());
  int64_t device_then = 0, host_then = 0;
  std::vector<int32_t> first;
  for (int round = 0; round < rounds(); ++round) {
    // Twenty lengths of prompts, up to a chunk and more, over and over, with greedy and drawn answers.
    std::vector<int32_t> prompt;
    for (int i = 0; i <= round % 20 * 15; ++i) prompt.push_back((round + i * 7) % 250 + 1);
    llm::GenerateOptions o;
    o.max_tokens = 8 + round % 9;
    o.temperature = round % 2 ? 0.8f : 0.0f;
    o.seed = uint64_t(round);
    model.generate_ids(prompt, o);
    o.temperature = 0, o.max_tokens = 8;
    const std::vector<int32_t> same = model.generate_ids({1, 2, 3}, o).ids;
    if (round == 0) first = same;
    ASSERT_EQ(same, first) << "round " << round;
    if (round == 20) device_then = tested_device().memory_bytes(), host_then = host_bytes();
  }
  ASSERT_GT(device_then, 0);
  const int64_t device_now = tested_device().memory_bytes(), host_now = host_bytes();
  RecordProperty("seen_device_bytes_after_round_20", std::to_string(device_then));
  RecordProperty("seen_device_bytes_at_the_end", std::to_string(device_now));
  RecordProperty("seen_host_bytes_after_round_20", std::to_string(host_then));
  RecordProperty("seen_host_bytes_at_the_end", std::to_string(host_now));
  EXPECT_LE(double(device_now), 1.01 * double(device_then));
  // The heap's own unevenness is more than a percent of a small process.
  EXPECT_LE(double(host_now), 1.01 * double(host_then) + (8 << 20));
}

}  // namespace
}  // namespace tenon::testing
