#include "source_line.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

namespace standin {

std::string source_line(const void* instruction) {
  Dl_info info;
  if (!::dladdr(instruction, &info) || !info.dli_fname) return "line unknown";
  char offset[32];
  std::snprintf(offset, sizeof offset, "0x%zx", size_t(static_cast<const char*>(instruction) - static_cast<const char*>(info.dli_fbase)));
  const std::string command = std::string("addr2line -e '") + info.dli_fname + "' " + offset + " 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return "line unknown";
  char line[512] = {};
  const bool read = std::fgets(line, sizeof line, pipe) != nullptr;
  ::pclose(pipe);
  std::string found = read ? line : "";
  found = found.substr(0, found.find_first_of(" \n"));
  const size_t colon = found.rfind(':'), slash = found.rfind('/');
  if (colon == std::string::npos || found[0] == '?') return "line unknown";
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return "line " + found.substr(colon + 1) + " of " + found.substr(name, colon - name);
}

}  // namespace standin
