#include "first_token.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/tenon.h"

extern char** environ;

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

// A folder that is gone afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "tenon_bench_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw Error(ErrorCode::io, "cannot make a folder like " + name + ": " + std::strerror(errno));
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  std::string path;
};

// This process's environment with these variables in the place of its own.
std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  for (char** e = environ; *e; ++e) {
    const std::string entry = *e, name = entry.substr(0, entry.find('=') + 1);
    bool replaced = false;
    for (const std::string& s : settings) replaced = replaced || s.compare(0, name.size(), name) == 0;
    if (!replaced) all.push_back(entry);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

double seconds_of(const std::vector<std::string>& arguments, const std::vector<std::string>& settings) {
  std::vector<std::string> words{"tenon"}, variables = environment_with(settings);
  words.insert(words.end(), arguments.begin(), arguments.end());
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  ::posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, self.c_str(), &quiet, nullptr, pointers(words).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&quiet);
  if (failed) throw Error(ErrorCode::io, "cannot start " + self + ": " + std::strerror(failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw Error(ErrorCode::internal, "a process that should make one token failed");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

FirstToken measure_first_token(const std::vector<std::string>& arguments) {
  const TemporaryFolder own;
  FirstToken t;
  const std::vector<std::string> alone{"TENON_KERNEL_CACHE=" + own.path, "TENON_SHIPPED_KERNELS="};
  t.cold = seconds_of(arguments, alone);
  t.warm = seconds_of(arguments, alone);
  const TemporaryFolder empty;
  if (!list_shipped_kernels().empty()) t.shipped = seconds_of(arguments, {"TENON_KERNEL_CACHE=" + empty.path});
  return t;
}

}  // namespace tenon::cli
