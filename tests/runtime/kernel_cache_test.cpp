#include "runtime/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/cat.h"
#include "base/folder.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes(std::string_view text) {
  const auto b = std::as_bytes(std::span(text));
  return {b.begin(), b.end()};
}

KernelKey key(std::string name = "map_add_f32_1a2b", std::string source = "kernel text") {
  return {std::move(name), "sm_90a", "nvrtc 13.0", std::move(source)};
}

class KernelCacheTest : public testing::Test {
 protected:
  KernelCacheTest() : root_(fs::temp_directory_path() / cat("tenon_kernel_cache_", int64_t(::getpid()))) { fs::remove_all(root_); }
  ~KernelCacheTest() override { fs::remove_all(root_); }
  std::string folder(const char* name) const { return (root_ / name).string(); }
  fs::path only_file(const std::string& in) const {
    for (const auto& f : fs::directory_iterator(in)) return f.path();
    return {};
  }
  fs::path root_;
};

TEST_F(KernelCacheTest, GivesBackWhatWasStored) {
  KernelCache cache(folder("user"), {});
  EXPECT_FALSE(cache.find(key()));
  ASSERT_TRUE(cache.store(key(), bytes(std::string_view("binary\0with zeros", 17))));
  EXPECT_EQ(cache.find(key()), bytes(std::string_view("binary\0with zeros", 17)));
  KernelCache later(folder("user"), {});
  EXPECT_EQ(later.find(key()), bytes(std::string_view("binary\0with zeros", 17)));
}

TEST_F(KernelCacheTest, EveryFieldOfTheKeyCounts) {
  KernelCache cache(folder("user"), {});
  ASSERT_TRUE(cache.store(key(), bytes("binary")));
  for (auto change : {+[](KernelKey& k) { k.name += "x"; }, +[](KernelKey& k) { k.architecture = "sm_80"; },
                      +[](KernelKey& k) { k.compiler = "nvrtc 12.9"; }, +[](KernelKey& k) { k.source += " "; }}) {
    KernelKey other = key();
    change(other);
    EXPECT_FALSE(cache.find(other));
  }
}

TEST_F(KernelCacheTest, DamagedEntriesAreMissesAndAreRemoved) {
  const std::string whole(200, 'b');
  for (int damage = 0; damage < 4; ++damage) {
    KernelCache cache(folder("user"), {});
    ASSERT_TRUE(cache.store(key(), bytes(whole)));
    const fs::path file = only_file(folder("user"));
    const auto size = int64_t(fs::file_size(file));
    if (damage == 0) fs::resize_file(file, uintmax_t(size - 1));
    if (damage == 1) fs::resize_file(file, 3);
    if (damage == 2) fs::resize_file(file, 0);
    if (damage == 3) {
      std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
      f.seekp(size - 50);
      f.put('X');
    }
    EXPECT_FALSE(cache.find(key())) << damage;
    EXPECT_FALSE(fs::exists(file)) << damage;
    ASSERT_TRUE(cache.store(key(), bytes(whole)));
    EXPECT_EQ(cache.find(key()), bytes(whole));
    cache.clear();
  }
}

TEST_F(KernelCacheTest, AnEntryUnderAnotherKeysNameIsAMiss) {
  KernelCache cache(folder("user"), {});
  ASSERT_TRUE(cache.store(key("a"), bytes("for a")));
  const fs::path a = only_file(folder("user"));
  fs::copy(a, root_ / "saved");
  cache.clear();
  ASSERT_TRUE(cache.store(key("b"), bytes("for b")));
  const fs::path b = only_file(folder("user"));
  fs::copy(root_ / "saved", b, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache.find(key("b")));
}

TEST_F(KernelCacheTest, ShippedEntriesAreFoundAndNeverWritten) {
  KernelKey any = key();
  any.compiler = any_compiler;
  ASSERT_TRUE(KernelCache::for_shipping(folder("shipped"), "sm_90a").store(any, bytes("shipped")));
  KernelCache cache(folder("user"), {folder("shipped")});
  EXPECT_EQ(cache.find(key()), bytes("shipped"));
  ASSERT_TRUE(cache.store(key("other"), bytes("mine")));
  EXPECT_EQ(cache.list().size(), 2u);
  EXPECT_TRUE(cache.list()[0].shipped);
  EXPECT_EQ(cache.list()[1].name, "other");
  EXPECT_EQ(cache.list()[1].architecture, "sm_90a");
  EXPECT_EQ(cache.clear(), 1);
  EXPECT_EQ(cache.find(key()), bytes("shipped"));
}

TEST_F(KernelCacheTest, ShippedEntriesAreFoundForTheirArchitectureAndSourceOnly) {
  KernelKey any = key();
  any.compiler = any_compiler;
  ASSERT_TRUE(KernelCache::for_shipping(folder("shipped"), "sm_90a").store(any, bytes("shipped")));
  const KernelCache cache("", {folder("nothing"), folder("shipped")});
  EXPECT_EQ(cache.find_shipped(key()), bytes("shipped"));
  KernelKey other = key();
  other.architecture = "sm_80";
  EXPECT_FALSE(cache.find_shipped(other));
  other = key();
  other.source += " ";
  EXPECT_FALSE(cache.find_shipped(other));
  ASSERT_EQ(cache.shipped().size(), 1u);
  EXPECT_EQ(cache.shipped()[0].architecture, "sm_90a");
  EXPECT_EQ(cache.shipped()[0].kernels, 1);
}

TEST_F(KernelCacheTest, ADamagedShippedEntryIsNamedAndLeftAlone) {
  KernelKey any = key();
  any.compiler = any_compiler;
  ASSERT_TRUE(KernelCache::for_shipping(folder("shipped"), "sm_90a").store(any, bytes(std::string(200, 's'))));
  const fs::path file = only_file(folder("shipped") + "/sm_90a");
  fs::resize_file(file, 100);
  KernelCache cache(folder("user"), {folder("shipped")});
  std::string damaged;
  EXPECT_FALSE(cache.find_shipped(key(), &damaged));
  EXPECT_EQ(fs::path(damaged), file);
  EXPECT_TRUE(fs::exists(file));
  ASSERT_TRUE(cache.store(key(), bytes("made again")));
  EXPECT_EQ(cache.find(key()), bytes("made again"));
}

TEST_F(KernelCacheTest, TheLimitOfTheUsersEntriesLeavesShippedOnesAlone) {
  for (int i = 0; i < 8; ++i) {
    KernelKey any = key(cat("shipped", i));
    any.compiler = any_compiler;
    ASSERT_TRUE(KernelCache::for_shipping(folder("shipped"), "sm_90a").store(any, bytes(std::string(1024, 's'))));
  }
  KernelCache cache(folder("user"), {folder("shipped")}, 2048);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(cache.store(key(cat("mine", i)), bytes(std::string(1024, 'm'))));
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(cache.find(key(cat("shipped", i))));
  EXPECT_EQ(cache.shipped()[0].kernels, 8);
  EXPECT_LE(list_folder(folder("user")).size(), 2u);
}

TEST_F(KernelCacheTest, StaysBelowItsLimitAndDropsTheLeastRecentlyUsed) {
  const std::string kilobyte(1024, 'k');
  KernelCache cache(folder("user"), {}, 4096);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(cache.store(key(cat("k", i)), bytes(kilobyte)));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(cache.find(key("k0")));  // now k1 is the oldest
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(cache.store(key("k3"), bytes(kilobyte)));
  EXPECT_TRUE(cache.find(key("k0")));
  EXPECT_FALSE(cache.find(key("k1")));
  EXPECT_TRUE(cache.find(key("k3")));
  int64_t total = 0;
  for (const CachedKernel& e : cache.list()) total += e.bytes;
  EXPECT_LE(total, 4096);
}

TEST_F(KernelCacheTest, AFolderThatCannotBeWrittenIsNoError) {
  fs::create_directories(root_);
  std::ofstream(root_ / "file") << "in the way";
  KernelCache cache(folder("file"), {});
  EXPECT_FALSE(cache.store(key(), bytes("binary")));
  EXPECT_NE(cache.why().find("file"), std::string::npos);
  EXPECT_FALSE(cache.find(key()));
  KernelCache off("", {});
  EXPECT_FALSE(off.store(key(), bytes("binary")));
}

// Two processes store and find the same entries at once: each find is a miss or the whole binary.
TEST_F(KernelCacheTest, TwoProcessesAtOnce) {
  const std::string where = folder("user");
  const auto work = [&](int rounds) {
    KernelCache cache(where, {}, 64 << 10);
    for (int i = 0; i < rounds; ++i) {
      const std::string binary(size_t(1000 + i % 7 * 3000), char('a' + i % 7));
      const KernelKey k = key(cat("k", i % 7));
      cache.store(k, bytes(binary));
      if (auto found = cache.find(k); found && *found != bytes(binary)) return 1;
    }
    return 0;
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(work(200));
  EXPECT_EQ(work(200), 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const FolderFile& f : list_folder(where)) EXPECT_FALSE(f.name.ends_with(".tmp")) << f.name;
}

}  // namespace
}  // namespace tenon
