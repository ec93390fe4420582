#include "backends/cuda/nvrtc.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <span>
#include <utility>

#include "backends/cuda/driver.h"
#include "base/check.h"
#include "base/folder.h"

namespace tenon::cuda {
namespace {

std::vector<std::string> candidates() {
  const char* other = std::getenv("TENON_NVRTC_LIBRARY");
  if (other && *other) return {other};
  std::vector<int> majors{13, 12};
  const int own = driver().version() / 1000;
  if (own == majors[1]) std::swap(majors[0], majors[1]);
  std::vector<std::string> out;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"})
    for (int m : majors) out.push_back(cat(folder, "libnvrtc.so.", m));
  return out;
}

// Where a kernel that does not compile is kept, so that it can be looked at.
std::string keep(const std::string& text, const std::string& name) {
  const char* wish = std::getenv("TMPDIR");
  const std::string folder = wish && *wish ? wish : "/tmp", file = cat("tenon_", name, ".cu");
  try {
    write_file_atomically(folder, file, std::as_bytes(std::span(text)));
  } catch (const Error& e) {
    return cat("no file: ", e.what());
  }
  return cat(folder, "/", file);
}

}  // namespace

Nvrtc::Nvrtc(const std::vector<std::string>& libraries) {
  for (const std::string& name : libraries)
    if (load(name)) {
      missing_.clear();
      return;
    }
}

bool Nvrtc::load(const std::string& name) {
  SharedLibrary library(name);
  if (!library) {
    if (missing_.empty()) missing_ = cat("NVRTC was not found (", library.error(), "); it comes with the CUDA toolkit or PyPI's nvidia-cuda-nvrtc");
    return false;
  }
  const char* lacks = nullptr;
  auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.symbol(symbol));
    if (!function && !lacks) lacks = symbol;
  };
  find(version_, "nvrtcVersion");
  find(create_, "nvrtcCreateProgram");
  find(destroy_, "nvrtcDestroyProgram");
  find(compile_, "nvrtcCompileProgram");
  find(log_size_, "nvrtcGetProgramLogSize");
  find(log_, "nvrtcGetProgramLog");
  find(cubin_size_, "nvrtcGetCUBINSize");
  find(cubin_, "nvrtcGetCUBIN");
  find(ptx_size_, "nvrtcGetPTXSize");
  find(ptx_, "nvrtcGetPTX");
  find(architecture_count_, "nvrtcGetNumSupportedArchs");
  find(architecture_list_, "nvrtcGetSupportedArchs");
  find(error_string_, "nvrtcGetErrorString");
  if (lacks) {
    missing_ = cat(name, " has no function ", lacks, "; NVRTC 11.2 or later is needed");
    return false;
  }
  version_(&major_, &minor_);
  int count = 0;
  if (architecture_count_(&count) == 0 && count > 0) {
    architectures_.resize(size_t(count));
    architecture_list_(architectures_.data());
  }
  library_ = std::move(library);
  return true;
}

// The library counts where it was named: the stand-in of the tests says the version of the real one.
std::string Nvrtc::compiler() const {
  const char* named = std::getenv("TENON_NVRTC_LIBRARY");
  return cat("nvrtc ", version(), named && *named ? cat(" of ", named) : std::string());
}

std::string Nvrtc::version() const { return cat(major_, ".", minor_); }

std::string Nvrtc::architecture(int capability) const {
  int below = 0;
  for (int known : architectures_) {
    if (known == capability) return cat("sm_", capability);
    if (known < capability) below = std::max(below, known);
  }
  if (below) return cat("compute_", below);
  std::string known;
  for (int a : architectures_) known += cat(known.empty() ? "" : ", ", a);
  throw Error(ErrorCode::device, cat("NVRTC ", version(), " (", library(), ") compiles for the compute capabilities ", known,
                                     "; the device has ", capability, ". Another NVRTC can be named by TENON_NVRTC_LIBRARY"));
}

std::vector<std::byte> Nvrtc::compile(const std::string& text, const std::string& name, const std::string& architecture) const {
  Program program = nullptr;
  const std::string file = name + ".cu", target = "--gpu-architecture=" + architecture;
  if (const int e = create_(&program, text.c_str(), file.c_str(), 0, nullptr, nullptr))
    throw Error(ErrorCode::internal, cat("NVRTC: ", error_string_(e), " for kernel ", name));
  // Kernel text has no host part: functions without a mark are the device's.
  const char* options[] = {target.c_str(), "--std=c++17", "--fmad=false", "--device-as-default-execution-space"};
  const int failed = compile_(program, int(std::size(options)), options);
  std::vector<std::byte> image;
  std::string log;
  if (failed) {
    size_t size = 0;
    if (log_size_(program, &size) == 0) log.resize(size);
    if (size) log_(program, log.data());
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  } else {
    const bool cubin = architecture.starts_with("sm_");
    size_t size = 0;
    (cubin ? cubin_size_ : ptx_size_)(program, &size);
    image.resize(size);
    (cubin ? cubin_ : ptx_)(program, reinterpret_cast<char*>(image.data()));
  }
  destroy_(&program);
  if (failed)
    throw Error(ErrorCode::internal, cat("kernel ", name, " does not compile for ", architecture, " with NVRTC ", version(), ": ",
                                         error_string_(failed), "\n", log, "\nIts text is kept in ", keep(text, name)));
  return image;
}

const Nvrtc& nvrtc() {
  static const Nvrtc& the = *new Nvrtc(candidates());
  return the;
}

}  // namespace tenon::cuda
