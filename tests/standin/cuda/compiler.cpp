#include "compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "block_runner.h"

extern char** environ;

namespace standin {
namespace {

namespace fs = std::filesystem;

constexpr size_t texts_per_file = 100;

// Contraction and what else would change values is off; signed overflow wraps and shifts by constants are as on the
// device. The traps make an index over an array's bound and a vector access that is not aligned a fault.
const std::vector<std::string> flags = {
    "-std=c++17", "-O0",   "-g1",     "-w",    "-fno-strict-aliasing", "-ffp-contract=off", "-fwrapv", "-fno-exceptions",
    "-fPIC",      "-pipe", "-shared", "-x", "c++", "-fsanitize=bounds,alignment", "-fsanitize-undefined-trap-on-error"};

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path include_folder() { return STANDIN_INCLUDE; }

fs::path cache_folder() {
  static const fs::path folder = [] {
    const char* wish = std::getenv("TENON_STANDIN_CACHE");
    const fs::path f = wish && *wish ? wish : STANDIN_CACHE;
    std::error_code ignored;
    fs::create_directories(f, ignored);
    return f;
  }();
  return folder;
}

// Changes with all that the result depends on beside the text.
const std::string& setting() {
  static const std::string all = [] {
    std::string s;
    for (const char* header : {"standin_abi.h", "cuda_on_cpu.h", "cuda_math.h"}) s += read(include_folder() / header);
    for (const std::string& f : flags) s += f + " ";
    return hash_of(s + STANDIN_CXX);
  }();
  return all;
}

// A name in the cache folder that no other process, thread or library has (this file is part of two libraries).
fs::path own_path(const std::string& ending) {
  static std::atomic<int> count{0};
  return cache_folder() / (".w" + std::to_string(::getpid()) + "_" + std::to_string(uintptr_t(&count)) + "_" + std::to_string(count++) + ending);
}

// Exit status; what the compiler prints goes to *log.
int run_compiler(const std::vector<std::string>& more, const fs::path& source, std::string* log) {
  std::vector<std::string> all{STANDIN_CXX};
  all.insert(all.end(), flags.begin(), flags.end());
  all.insert(all.end(), more.begin(), more.end());
  all.insert(all.end(), {"-include", (include_folder() / "cuda_on_cpu.h").string(), source.string()});
  std::vector<char*> arguments;
  for (std::string& a : all) arguments.push_back(a.data());
  arguments.push_back(nullptr);
  const fs::path messages = own_path(".log");
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 2, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child;
  int status = ::posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (status == 0) ::waitpid(child, &status, 0);
  *log = read(messages);
  std::error_code ignored;
  fs::remove(messages, ignored);
  return status;
}

}  // namespace

std::string Compiler::add(const Image& image) {
  const std::string hash = hash_of(setting() + image.name + "\n" + image.text);
  std::lock_guard lock(mutex_);
  if (!libraries_.contains(hash)) waiting_.emplace(hash, image);
  return hash;
}

CompiledKernel Compiler::find(const std::string& hash, const std::string& kernel, std::string* log) {
  std::lock_guard lock(mutex_);
  if (waiting_.contains(hash)) compile_waiting();
  const Library& library = libraries_[hash];
  *log = library.error;
  if (!library.handle) return {};
  return {static_cast<const si_kernel*>(::dlsym(library.handle, entry_symbol(hash, kernel).c_str())),
          reinterpret_cast<si_state* (*)()>(::dlsym(library.handle, "si_get_state"))};
}

void Compiler::compile_waiting() {
  std::vector<std::string> fresh;
  for (const auto& [hash, image] : waiting_)
    if (!open_kept(hash)) fresh.push_back(hash);
  for (size_t at = 0; at < fresh.size(); at += texts_per_file) {
    const std::vector<std::string> part(fresh.begin() + int64_t(at), fresh.begin() + int64_t(std::min(at + texts_per_file, fresh.size())));
    std::string log;
    if (compile(part, &log)) continue;
    for (const std::string& hash : part)  // one of them does not compile: the others need not suffer
      if (!compile({hash}, &log)) libraries_[hash].error = log;
  }
  waiting_.clear();
}

// Beside a compiled file lies, for each of its images, a file that names it.
bool Compiler::open_kept(const std::string& hash) {
  const std::string file = read(cache_folder() / (hash + ".in"));
  if (file.empty() || !fs::exists(cache_folder() / file)) return false;
  open(cache_folder() / file, {hash});
  return libraries_[hash].handle != nullptr;
}

bool Compiler::compile(const std::vector<std::string>& hashes, std::string* log) {
  const fs::path source = own_path(".cpp"), made = own_path(".so");
  std::map<std::string, Image> images;
  for (const std::string& h : hashes) images.emplace(h, waiting_.at(h));
  const std::string all = translation_unit(images);
  std::ofstream(source) << all;
  const int status = run_compiler({"-o", made.string()}, source, log);
  std::error_code ignored;
  fs::remove(source, ignored);
  if (status != 0) return false;
  const std::string name = hash_of(all) + ".so";
  fs::rename(made, cache_folder() / name, ignored);
  for (const std::string& h : hashes) {
    const fs::path index = own_path(".in");
    std::ofstream(index) << name;
    fs::rename(index, cache_folder() / (h + ".in"), ignored);
  }
  open(cache_folder() / name, hashes);
  return true;
}

void Compiler::open(const std::string& path, const std::vector<std::string>& hashes) {
  Library library;
  library.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle) *static_cast<const si_api**>(::dlsym(library.handle, "si_rt")) = &BlockRunner::api;
  else library.error = ::dlerror();
  for (const std::string& h : hashes) libraries_[h] = library;
}

std::string Compiler::check(const Image& image) {
  const fs::path source = own_path(".cpp");
  std::ofstream(source) << translation_unit({{"checked", image}});
  std::string log;
  const int status = run_compiler({"-fsyntax-only"}, source, &log);
  std::error_code ignored;
  fs::remove(source, ignored);
  return status == 0 ? std::string() : log.empty() ? "the compiler failed" : log;
}

Compiler& compiler() {
  static Compiler& the = *new Compiler;
  return the;
}

}  // namespace standin
