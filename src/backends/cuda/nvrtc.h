// NVRTC, the compiler of kernel text, opened at run time. TENON_NVRTC_LIBRARY names another library in its place.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/shared_library.h"

namespace tenon::cuda {

class Nvrtc {
 public:
  // Opens the first of `libraries` that can be opened and is complete.
  explicit Nvrtc(const std::vector<std::string>& libraries);

  const std::string& missing() const { return missing_; }  // empty when it is there
  const std::string& library() const { return library_.name(); }
  // For keys of compiled kernels: what decides what compile() makes of a text.
  std::string compiler() const;
  std::string version() const;  // "13.0"
  const std::vector<int>& capabilities() const { return architectures_; }

  // The option for --gpu-architecture: sm_XX of the device, or compute_XX (PTX, which the driver compiles) of the
  // highest that this NVRTC knows below it. Throws Error(device) when it knows none: names both.
  std::string architecture(int capability) const;

  // Text to an image that the driver loads. Without contraction and fast maths: values are those of the program.
  // Throws Error(internal) with the compiler's log; the text is kept in a file that the error names. Thread-safe.
  std::vector<std::byte> compile(const std::string& text, const std::string& name, const std::string& architecture) const;

 private:
  bool load(const std::string& library);
  SharedLibrary library_;
  std::string missing_;
  int major_ = 0, minor_ = 0;
  std::vector<int> architectures_;

  using Program = struct ProgramTag*;
  int (*version_)(int* major, int* minor) = nullptr;
  int (*create_)(Program*, const char* text, const char* name, int headers, const char* const*, const char* const*) = nullptr;
  int (*destroy_)(Program*) = nullptr;
  int (*compile_)(Program, int options, const char* const*) = nullptr;
  int (*log_size_)(Program, size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*cubin_size_)(Program, size_t*) = nullptr;
  int (*cubin_)(Program, char*) = nullptr;
  int (*ptx_size_)(Program, size_t*) = nullptr;
  int (*ptx_)(Program, char*) = nullptr;
  int (*architecture_count_)(int*) = nullptr;
  int (*architecture_list_)(int*) = nullptr;
  const char* (*error_string_)(int) = nullptr;
};

// The process's NVRTC, opened at the first call; one of the driver's own major version is preferred.
const Nvrtc& nvrtc();

}  // namespace tenon::cuda
