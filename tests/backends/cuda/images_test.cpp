// Where kernels come from: what ships, the user's cache, the compiler; and what is said when there is none.
#include "backends/cuda/images.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "backends/cuda/cuda.h"
#include "backends/cuda/standin.h"
#include "base/cat.h"
#include "support/thrown.h"
#include "tenon/kernel_cache.h"
#include "tenon/tenon.h"

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;
using namespace cuda;

const std::string text = "extern \"C\" __global__ void k(int* x) { x[0] = 1; }";

bool has(const std::string& all, const std::string& part) { return all.find(part) != all.npos; }
std::vector<std::byte> bytes(std::string_view s) {
  const auto b = std::as_bytes(std::span(s));
  return {b.begin(), b.end()};
}

class ImagesTest : public ::testing::Test {
 protected:
  ImagesTest() : root_(fs::temp_directory_path() / cat("tenon_images_", int64_t(::getpid()))) { fs::remove_all(root_); }
  ~ImagesTest() override { fs::remove_all(root_); }
  std::string folder(const char* name) const { return (root_ / name).string(); }
  void ship(const std::string& architecture, std::string_view image) const {
    ASSERT_TRUE(KernelCache::for_shipping(folder("shipped"), architecture).store({"k", architecture, any_compiler, text}, bytes(image)));
  }
  fs::path only_entry(const std::string& architecture) const {
    for (const auto& f : fs::directory_iterator(root_ / "shipped" / architecture)) return f.path();
    return {};
  }
  fs::path root_;
  const Nvrtc none_{std::vector<std::string>{"libno_such_nvrtc.so.1"}};
  const Nvrtc nvrtc_{std::vector<std::string>{STANDIN_NVRTC}};
};

TEST_F(ImagesTest, TheBestArchitectureComesFirst) {
  const std::vector<std::string> all{"compute_75", "compute_80", "sm_75", "sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "notes"};
  using List = std::vector<std::string>;
  EXPECT_EQ(usable_architectures(90, all), (List{"sm_90a", "sm_90", "compute_80", "compute_75"}));
  EXPECT_EQ(usable_architectures(89, all), (List{"sm_86", "sm_80", "compute_80", "compute_75"}));
  EXPECT_EQ(usable_architectures(80, all), (List{"sm_80", "compute_80", "compute_75"}));
  EXPECT_EQ(usable_architectures(120, all), (List{"compute_80", "compute_75"}));
  EXPECT_EQ(usable_architectures(70, all), List{});
  EXPECT_EQ(usable_architectures(91, {"sm_90a"}), List{});  // its code is for one capability only
}

TEST_F(ImagesTest, WithoutACompilerWhatShipsServes) {
  ship("sm_90a", "for nine");
  ship("compute_75", "portable");
  KernelCache cache("", {folder("shipped")});
  EXPECT_EQ(Images(none_, cache, 90).make("k", text), bytes("for nine"));
  EXPECT_EQ(Images(none_, cache, 90).description(), "no NVRTC, kernels shipped for sm_90a");
  EXPECT_EQ(Images(none_, cache, 100).make("k", text), bytes("portable"));
  EXPECT_EQ(Images(none_, cache, 90).missing(), "");
}

TEST_F(ImagesTest, TextIsMadeForTheArchitectureThatShips) {
  ship("compute_75", "portable");
  KernelCache cache("", {folder("shipped")});
  const codegen::Target own{120, 1024, 100000};
  EXPECT_EQ(Images(none_, cache, 120).target(own).capability, 75);
  EXPECT_EQ(Images(nvrtc_, cache, 120).target(own), own);
}

TEST_F(ImagesTest, WithACompilerShippedBinariesComeFirstAndPortableTextDoesNot) {
  ship("compute_75", "portable");
  ship("sm_90a", "for nine");
  KernelCache cache(folder("user"), {folder("shipped")});
  EXPECT_EQ(Images(nvrtc_, cache, 90).make("k", text), bytes("for nine"));
  EXPECT_NE(Images(nvrtc_, cache, 80).make("k", text), bytes("portable"));
  ASSERT_EQ(cache.list().size(), 3u);
  EXPECT_EQ(cache.list()[2].architecture, "sm_80");
}

TEST_F(ImagesTest, ADamagedEntryIsCompiledOrServedByPortableTextOrSaid) {
  ship("sm_90a", std::string(200, 'n'));
  const fs::path entry = only_entry("sm_90a");
  fs::resize_file(entry, 120);
  KernelCache cache(folder("user"), {folder("shipped")});
  EXPECT_TRUE(has(message_of([&] { Images(none_, cache, 90).make("k", text); }), "its entry is damaged: " + entry.string()));
  EXPECT_NE(Images(nvrtc_, cache, 90).make("k", text), bytes(""));
  ship("compute_75", "portable");
  EXPECT_EQ(Images(none_, cache, 90).make("k", text), bytes("portable"));
}

TEST_F(ImagesTest, AMissingKernelIsAClearError) {
  ship("sm_80", "for eight");
  KernelCache cache("", {folder("nothing"), folder("shipped")});
  const std::string why = message_of([&] { Images(none_, cache, 86).make("other", text); });
  for (const std::string& part : {std::string("no kernel other for compute capability 8.6"), std::string("libno_such_nvrtc.so.1"), folder("nothing") + ": none",
                                  folder("shipped") + ": 1 for sm_80", std::string("nvidia-cuda-nvrtc"), std::string("tenon cache build --arch sm_80")})
    EXPECT_TRUE(has(why, part)) << part << " in " << why;
}

TEST_F(ImagesTest, NeitherCompilerNorKernelsIsAReasonWhyADeviceCannotBeUsed) {
  KernelCache empty("", {}), other("", {folder("shipped")});
  EXPECT_TRUE(has(Images(none_, empty, 90).missing(), "TENON_SHIPPED_KERNELS is empty"));
  ship("sm_80", "for eight");
  const std::string why = Images(none_, other, 90).missing();
  EXPECT_TRUE(has(why, "libno_such_nvrtc.so.1") && has(why, "compute capability 9.0") && has(why, "1 for sm_80") &&
              has(why, "tenon cache build --arch sm_90")) << why;
}

TEST_F(ImagesTest, ACompilerThatIsTooOldIsNoCompiler) {
  const Setting few("TENON_STANDIN_ARCHITECTURES", "100");
  const Nvrtc newer({STANDIN_NVRTC});
  ship("sm_90", "for nine");
  KernelCache cache("", {folder("shipped")});
  EXPECT_EQ(Images(newer, cache, 90).make("k", text), bytes("for nine"));
  EXPECT_TRUE(has(message_of([&] { Images(newer, cache, 90).make("other", text); }), "compiles for the compute capabilities 100"));
}

TEST_F(ImagesTest, AKernelThatDoesNotCompileLeavesItsTextAndTheCompilersLog) {
  const Setting check("TENON_STANDIN_CHECK", "1"), temporary("TMPDIR", folder("texts"));
  KernelCache cache(folder("user"), {});
  const std::string broken = "extern \"C\" __global__ void broken(int* x) { x[0] = no_such_name; }";
  const std::string why = message_of([&] { Images(nvrtc_, cache, 80).make("broken", broken); });
  EXPECT_TRUE(has(why, "no_such_name") && has(why, "kept in " + folder("texts") + "/tenon_broken.cu")) << why;
  EXPECT_EQ(fs::file_size(folder("texts") + "/tenon_broken.cu"), broken.size());
  EXPECT_EQ(cache.list().size(), 0u);
}

// ------------------------------------------------------------------------------------------------------ making them

KernelBuild& small_build() {
  static KernelBuild& build = *[] {
    auto* b = new KernelBuild("sm_80");
    for (int64_t n : {2, 3}) eval(full({n}, 1, DType::f32, b->plain_device()) + 2.5);
    return b;
  }();
  return build;
}

TEST_F(ImagesTest, ABuildMakesEachKernelOnceAndKeepsWhatIsThere) {
  const KernelBuild& build = small_build();
  ASSERT_EQ(build.kernels(), 3);  // a constant, a run-time scalar, a sum
  int64_t calls = 0;
  const auto made = build.write(folder("shipped"), [&](int64_t done, int64_t total) { EXPECT_TRUE(done == ++calls && total == 3); });
  EXPECT_TRUE(made.compiled == 3 && made.kept == 0 && made.bytes > 0);
  EXPECT_EQ(calls, 3);
  fs::remove(only_entry("sm_80"));
  fs::resize_file(only_entry("sm_80"), 10);
  const auto again = build.write(folder("shipped"), nullptr);
  EXPECT_TRUE(again.compiled == 2 && again.kept == 1 && again.bytes == made.bytes);
}

TEST_F(ImagesTest, TwoProcessesBuildAtOnce) {
  const KernelBuild& build = small_build();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  const auto write = [&] {
    for (int i = 0; i < 20; ++i) {
      if (build.write(folder("shipped"), nullptr).bytes <= 0) return 1;
      for (const auto& f : fs::directory_iterator(root_ / "shipped" / "sm_80"))
        if (std::error_code gone; f.path().extension() == ".kernel") fs::remove(f.path(), gone);
    }
    return build.write(folder("shipped"), nullptr).bytes > 0 ? 0 : 1;
  };
  if (child == 0) ::_exit(write());
  EXPECT_EQ(write(), 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  build.write(folder("shipped"), nullptr);
  EXPECT_EQ(build.write(folder("shipped"), nullptr).kept, 3);
  for (const auto& f : fs::directory_iterator(root_ / "shipped" / "sm_80")) EXPECT_EQ(f.path().extension(), ".kernel");
}

TEST_F(ImagesTest, ArchitecturesThatCannotBeBuilt) {
  for (const char* word : {"", "sm_", "sm_9", "90", "sm_90b", "compute_90a", "gfx90", "sm_../x"})
    EXPECT_TRUE(has(message_of([&] { KernelBuild build(word); }), "is no architecture")) << word;
  EXPECT_TRUE(has(message_of([&] { KernelBuild("sm_70").write(folder("shipped"), nullptr); }), "compiles for sm_75, sm_80"));
}

}  // namespace
}  // namespace tenon::testing
