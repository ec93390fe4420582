// The memory pool: blocks large enough, used again by size, given back when there is no more memory.
#include <gtest/gtest.h>

#include <map>

#include "backends/null/null.h"
#include "runtime/device_context.h"

namespace tenon {
namespace {

// Gives out numbers and knows how large each block is; has so much memory and no more.
class Counting : public Backend {
 public:
  std::map<uint64_t, int64_t> blocks;
  int64_t memory = int64_t(1) << 40, used = 0, waits = 0;

  const std::string& name() const override { return null_->name(); }
  const std::string& description() const override { return null_->description(); }
  const Limits& limits() const override { return null_->limits(); }
  Handle alloc(int64_t bytes) override {
    if (used + bytes > memory) throw Error(ErrorCode::out_of_memory, "no more");
    used += bytes;
    blocks[++next_] = bytes;
    return {next_};
  }
  void free(Handle h) override {
    EXPECT_GT(waits, 0) << "freed while the queue may still use it";
    used -= blocks.at(h.id);
    blocks.erase(h.id);
  }
  void write(Handle, int64_t, std::span<const std::byte>) override {}
  void read(Handle, int64_t, std::span<std::byte>) override {}
  void copy(Handle, int64_t, Handle, int64_t, int64_t) override {}
  const BackendKernel* kernel(const KernelDesc& d, KernelChoice c) override { return null_->kernel(d, c); }
  Grid grid(const BackendKernel& k, const Params& p) const override { return null_->grid(k, p); }
  void dispatch(const BackendKernel&, std::span<const BoundView>, const Params&, BoundView, const Grid&) override {}
  Ticket submit() override { return 1; }
  void wait(Ticket) override { ++waits; }
  bool passed(Ticket) const override { return true; }

 private:
  std::unique_ptr<Backend> null_ = open_null("null:roomy", 1);
  uint64_t next_ = 0;
};

TEST(Pool, BlocksHoldWhatWasAskedAndLittleMore) {
  Counting backend;
  Counters counters;
  {
    Pool pool(backend);
    for (int64_t bytes : {int64_t(0), int64_t(1), int64_t(255), int64_t(256), int64_t(257), int64_t(65535), int64_t(65536), int64_t(65537),
                          int64_t(131071), int64_t(131073), int64_t(1000003), (int64_t(1) << 33) + 1}) {
      const Pool::Block b = pool.take(bytes, counters);
      EXPECT_GE(b.bytes, std::max<int64_t>(bytes, 1));
      EXPECT_LE(b.bytes, std::max<int64_t>(bytes + bytes / 8, bytes + 256)) << bytes;
      EXPECT_EQ(backend.blocks.at(b.handle.id), b.bytes);
      pool.give(b);
    }
    backend.waits = 1;
  }
  EXPECT_TRUE(backend.blocks.empty());
}

TEST(Pool, ABlockIsUsedAgainForItsSizeOnly) {
  Counting backend;
  Counters counters;
  Pool pool(backend);
  const Pool::Block a = pool.take(1000, counters), b = pool.take(1000, counters);
  EXPECT_NE(a.handle.id, b.handle.id);
  pool.give(a);
  EXPECT_EQ(pool.take(990, counters).handle.id, a.handle.id);
  EXPECT_NE(pool.take(990, counters).handle.id, b.handle.id);
  EXPECT_EQ(counters.allocations, 3);
  EXPECT_EQ(pool.in_use(), 3 * 1024);
  EXPECT_EQ(pool.held(), 3 * 1024);
  EXPECT_EQ(pool.peak(), 3 * 1024);
  pool.give(b);
  EXPECT_EQ(pool.in_use(), 2 * 1024);
  pool.trim();
  EXPECT_EQ(backend.waits, 1);
  EXPECT_EQ(pool.held(), 2 * 1024);
  EXPECT_EQ(pool.peak(), 3 * 1024);
}

TEST(Pool, FreeBlocksGoBackBeforeMemoryIsRefused) {
  Counting backend;
  Counters counters;
  backend.memory = 10240;
  Pool pool(backend);
  const Pool::Block small = pool.take(4096, counters), other = pool.take(4096, counters);
  pool.give(small);
  const Pool::Block large = pool.take(6144, counters);  // only without the free one
  EXPECT_EQ(backend.waits, 1);
  EXPECT_EQ(pool.held(), 10240);
  EXPECT_THROW(pool.take(4096, counters), Error);
  EXPECT_EQ(pool.in_use(), 10240);
  pool.give(other);
  pool.give(large);
  EXPECT_EQ(pool.in_use(), 0);
}

}  // namespace
}  // namespace tenon
