// Kernel text to code of the host, many texts a file, kept in a folder from run to run.
//
// Starting the compiler and reading the prelude is most of a kernel's cost (180 ms alone, 45 ms each at a hundred to a
// file), so images wait until a kernel of one of them is wanted; then all that wait are compiled together.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "include/standin_abi.h"
#include "kernel_text.h"

namespace standin {

struct CompiledKernel {
  const si_kernel* kernel = nullptr;
  si_state* (*state)() = nullptr;
};

class Compiler {
 public:
  // Remembers an image; the answer is its name from now on.
  std::string add(const Image& image);
  // Compiles all that wait. A null kernel with the compiler's messages in *log when that failed.
  CompiledKernel find(const std::string& hash, const std::string& kernel, std::string* log);
  // The compiler's messages for one image; empty when it has none and takes the text.
  static std::string check(const Image& image);

 private:
  struct Library {
    void* handle = nullptr;
    std::string error;
  };
  void compile_waiting();
  bool open_kept(const std::string& hash);
  bool compile(const std::vector<std::string>& hashes, std::string* log);
  void open(const std::string& path, const std::vector<std::string>& hashes);

  std::mutex mutex_;
  std::map<std::string, Image> waiting_;
  std::map<std::string, Library> libraries_;  // by image
};

// One for the process.
Compiler& compiler();

}  // namespace standin
