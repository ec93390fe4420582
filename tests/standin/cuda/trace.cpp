#include "trace.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <utility>

namespace standin {
namespace {

std::mutex mutex;
std::string reports;

const char* trace_file() {
  const char* path = std::getenv("TENON_STANDIN_TRACE");
  return path && *path ? path : nullptr;
}

}  // namespace

bool tracing() { return trace_file() != nullptr; }

void trace(const std::string& line) {
  const char* path = trace_file();
  if (!path) return;
  std::lock_guard lock(mutex);
  std::ofstream(path, std::ios::app) << line << "\n";
}

void report(const std::string& what) {
  std::fprintf(stderr, "stand-in: %s\n", what.c_str());
  trace("report " + what);
  std::lock_guard lock(mutex);
  reports += what + "\n";
}

std::string take_reports() {
  std::lock_guard lock(mutex);
  return std::exchange(reports, {});
}

}  // namespace standin
