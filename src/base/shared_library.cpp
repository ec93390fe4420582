#include "base/shared_library.h"

#include <utility>

#if defined(__wasi__)

namespace tenon {
SharedLibrary::SharedLibrary(const std::string& name) : name_(name), error_(name + ": this build opens no libraries") {}
SharedLibrary::~SharedLibrary() = default;
void* SharedLibrary::symbol(const char*) const { return nullptr; }
std::string folder_of_this_code() { return {}; }
}  // namespace tenon

#else

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace tenon {
SharedLibrary::SharedLibrary(const std::string& name) : name_(name) {
  handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) {
    const char* why = ::dlerror();
    error_ = why ? why : name + ": unknown error";
  }
}
SharedLibrary::~SharedLibrary() {
  if (handle_) ::dlclose(handle_);
}
void* SharedLibrary::symbol(const char* name) const { return handle_ ? ::dlsym(handle_, name) : nullptr; }

std::string folder_of_this_code() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<void*>(&folder_of_this_code), &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  // A program's name may be one that was searched for in PATH.
  std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  if (error) file = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : file.parent_path().string();
}
}  // namespace tenon

#endif

namespace tenon {

SharedLibrary::SharedLibrary(SharedLibrary&& o) noexcept
    : name_(std::move(o.name_)), error_(std::move(o.error_)), handle_(std::exchange(o.handle_, nullptr)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& o) noexcept {
  std::swap(name_, o.name_);
  std::swap(error_, o.error_);
  std::swap(handle_, o.handle_);
  return *this;
}

}  // namespace tenon
