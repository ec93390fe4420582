// What is found, chosen and refused: libraries, versions, symbols, devices, architectures.
#include <gtest/gtest.h>

#include "backends/cuda/cuda.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/standin.h"
#include "tenon/device.h"
#include "tenon/error.h"

namespace tenon::testing {
namespace {

using namespace cuda;

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(CudaDiscovery, C5_NoDriver) {
  const Driver none("libno_such_driver.so.1");
  EXPECT_TRUE(has(none.missing(), "libno_such_driver.so.1") && has(none.missing(), "NVIDIA driver")) << none.missing();
}

TEST(CudaDiscovery, ALibraryThatLacksAFunction) {
  const Driver other("libm.so.6");
  EXPECT_TRUE(has(other.missing(), "libm.so.6 has no function cuInit")) << other.missing();
  const Nvrtc nvrtc({"libm.so.6"});
  EXPECT_TRUE(has(nvrtc.missing(), "libm.so.6 has no function nvrtcVersion")) << nvrtc.missing();
}

TEST(CudaDiscovery, NoNvrtc) {
  const Nvrtc none({"libno_such_nvrtc.so.1", "libno_such_nvrtc.so.2"});
  EXPECT_TRUE(has(none.missing(), "libno_such_nvrtc.so.1") && has(none.missing(), "nvidia-cuda-nvrtc")) << none.missing();
  EXPECT_EQ(Nvrtc({"libno_such_nvrtc.so.1", STANDIN_NVRTC}).missing(), "");
}

TEST(CudaDiscovery, NoDevice) {
  const Setting devices("TENON_STANDIN_DEVICES", "0");
  EXPECT_TRUE(has(Driver(STANDIN_CUDA).missing(), "finds no device"));
}

TEST(CudaDiscovery, ADriverThatDoesNotStart) {
  const Setting fails("TENON_STANDIN_FAIL", "cuInit:1:999");
  EXPECT_TRUE(has(Driver(STANDIN_CUDA).missing(), "does not start: CUDA_ERROR_UNKNOWN (unknown error)"));
}

TEST(CudaDiscovery, OldDevicesAreRefused) {
  const Setting capability("TENON_STANDIN_CAPABILITY", "70");
  const std::string why = cuda_unavailable("cuda:0");
  EXPECT_TRUE(has(why, "stand-in 0 has compute capability 7.0; 7.5 or later")) << why;
}

TEST(CudaDiscovery, ArchitectureOfTheDeviceOrTheHighestBelow) {
  const Nvrtc nvrtc({STANDIN_NVRTC});
  EXPECT_EQ(nvrtc.architecture(90), "sm_90");
  const Setting few("TENON_STANDIN_ARCHITECTURES", "80,86");
  const Nvrtc old({STANDIN_NVRTC});
  EXPECT_EQ(old.architecture(80), "sm_80");
  EXPECT_EQ(old.architecture(90), "compute_86");
  try {
    old.architecture(75);
    FAIL();
  } catch (const Error& e) {
    EXPECT_TRUE(has(e.what(), "80, 86; the device has 75")) << e.what();
  }
}

TEST(CudaDiscovery, DevicesByName) {
  EXPECT_EQ(cuda_names(), std::vector<std::string>{"cuda:0"});
  EXPECT_EQ(cuda_unavailable("cuda:0"), "");
  EXPECT_EQ(Device::open("cuda"), Device::open("cuda:0"));
  EXPECT_TRUE(has(Device::open("cuda").description(), "stand-in 0, compute capability 7.5, 4096 MiB, CUDA 13.0, NVRTC 13.0"));
  try {
    Device::open("cuda:7");
    FAIL();
  } catch (const Error& e) {
    EXPECT_TRUE(has(e.what(), "there is no device 'cuda:7'") && has(e.what(), "cuda:0, cpu")) << e.what();
  }
}

TEST(CudaDiscovery, TheDefaultIsTheBestThatWasFound) {
  EXPECT_EQ(Device::default_device().name(), "cuda:0");
  const Setting wish("TENON_DEVICE", "cpu");
  EXPECT_EQ(Device::default_device().name(), "cpu");
}

}  // namespace
}  // namespace tenon::testing
