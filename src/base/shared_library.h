// A library that is opened at run time: drivers are found, never linked.
#pragma once
#include <string>

namespace tenon {

class SharedLibrary {
 public:
  SharedLibrary() = default;
  // Opens by file name (searched as the system does) or path; check with operator bool, error() says why not.
  explicit SharedLibrary(const std::string& name);
  SharedLibrary(SharedLibrary&& o) noexcept;
  SharedLibrary& operator=(SharedLibrary&& o) noexcept;
  ~SharedLibrary();

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }
  const std::string& error() const { return error_; }
  // Null when the library has no such symbol.
  void* symbol(const char* name) const;

 private:
  std::string name_, error_;
  void* handle_ = nullptr;
};

// The folder of the program or library that this code is part of; empty where that is not known.
std::string folder_of_this_code();

}  // namespace tenon
