#include "runtime/kernel_cache.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/byte_source.h"
#include "base/cat.h"
#include "base/fnv.h"
#include "base/folder.h"
#include "base/shared_library.h"
#include "tenon/error.h"

namespace tenon {
namespace {

// An entry: this line, then lines "field value" for name, architecture, compiler, source (hash) and bytes, an empty
// line, the binary, and 8 bytes of checksum over everything before them.
constexpr std::string_view magic = "tenon kernel 1\n";
constexpr std::string_view ending = ".kernel";
constexpr size_t checksum_bytes = 8;
constexpr int64_t largest_entry = int64_t(1) << 30;

std::string hex(uint64_t value) {
  std::string out(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) out[size_t(i)] = "0123456789abcdef"[value & 15];
  return out;
}

// 128 bits: two hashes with different starts.
std::string text_hash(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return hex(fnv(bytes)) + hex(fnv(bytes, 0x9e3779b97f4a7c15u));
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string header(const KernelKey& key) {
  return cat(magic, "name ", one_line(key.name), "\narchitecture ", one_line(key.architecture), "\ncompiler ",
             one_line(key.compiler), "\nsource ", text_hash(key.source), " ", key.source.size(), "\n\n");
}

// `head`: the key's header, which the name stands for.
std::string file_name(const KernelKey& key, const std::string& head) {
  std::string prefix;
  for (char c : key.name.substr(0, 80))
    prefix += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ? c : '_';
  return cat(prefix, "_", text_hash(head), ending);
}

std::optional<std::vector<std::byte>> read_entry(const std::string& path) {
  try {
    auto source = open_file(path);
    if (source->size() > largest_entry) return std::nullopt;
    std::vector<std::byte> bytes(size_t(source->size()));
    source->read(0, bytes);
    return bytes;
  } catch (const Error&) {
    return std::nullopt;  // not there, or gone meanwhile
  }
}

bool intact(std::span<const std::byte> entry) {
  if (entry.size() < magic.size() + checksum_bytes) return false;
  uint64_t said;
  std::memcpy(&said, entry.data() + entry.size() - checksum_bytes, checksum_bytes);
  return said == fnv(entry.first(entry.size() - checksum_bytes)) &&
         std::memcmp(entry.data(), magic.data(), magic.size()) == 0;
}

std::string field(std::string_view head, std::string_view name) {
  const size_t at = head.find(cat("\n", name, " "));
  if (at == head.npos) return {};
  const size_t start = at + name.size() + 2;
  return std::string(head.substr(start, head.find('\n', start) - start));
}

bool is_entry(const FolderFile& f) { return f.name.size() > ending.size() && f.name.ends_with(ending); }

std::vector<std::string> split_at_colons(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(':'), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string user_folder_of_this_process() {
  if (const char* said = std::getenv("TENON_KERNEL_CACHE"); said && *said) return std::string_view(said) == "off" ? "" : said;
  const std::string folder = user_cache_folder("tenon");
  return folder.empty() ? folder : folder + "/kernels";
}

std::vector<std::string> shipped_folders_of_this_process() {
  if (const char* said = std::getenv("TENON_SHIPPED_KERNELS")) return split_at_colons(said);
  const std::string here = folder_of_this_code();
  if (here.empty()) return {};
  return {here + "/tenon_kernels", here + "/../share/tenon/kernels"};
}

// The binary of an entry that is whole and has this header.
std::optional<std::vector<std::byte>> binary_of(std::vector<std::byte> entry, const std::string& head) {
  if (!intact(entry) || entry.size() < head.size() + checksum_bytes || std::memcmp(entry.data(), head.data(), head.size()) != 0)
    return std::nullopt;
  entry.erase(entry.begin(), entry.begin() + std::ptrdiff_t(head.size()));
  entry.resize(entry.size() - checksum_bytes);
  return entry;
}

}  // namespace

KernelCache::KernelCache(std::string user, std::vector<std::string> shipped, int64_t limit_bytes)
    : user_(std::move(user)), shipped_(std::move(shipped)), limit_bytes_(limit_bytes) {}

KernelCache& KernelCache::of_this_process() {
  static KernelCache cache(user_folder_of_this_process(), shipped_folders_of_this_process());
  return cache;
}

KernelCache KernelCache::for_shipping(const std::string& folder, const std::string& architecture) {
  return KernelCache(cat(folder, "/", architecture), {}, INT64_MAX);
}

std::optional<std::vector<std::byte>> KernelCache::find(const KernelKey& key) {
  if (auto shipped = find_shipped(key)) return shipped;
  if (user_.empty()) return std::nullopt;
  const std::string head = header(key), path = cat(user_, "/", file_name(key, head));
  auto entry = read_entry(path);
  if (!entry) return std::nullopt;
  auto binary = binary_of(std::move(*entry), head);
  binary ? mark_used(path) : void(remove_file(path));
  return binary;
}

std::optional<std::vector<std::byte>> KernelCache::find_shipped(KernelKey key, std::string* damaged) const {
  key.compiler = any_compiler;
  const std::string head = header(key), file = file_name(key, head);
  for (const std::string& folder : shipped_) {
    const std::string path = cat(folder, "/", key.architecture, "/", file);
    auto entry = read_entry(path);
    if (!entry) continue;
    if (auto binary = binary_of(std::move(*entry), head)) return binary;
    if (damaged) *damaged = path;
  }
  return std::nullopt;
}

bool KernelCache::store(const KernelKey& key, std::span<const std::byte> binary) {
  if (user_.empty()) return false;
  const std::string head = header(key);
  std::vector<std::byte> entry;
  entry.reserve(head.size() + binary.size() + checksum_bytes);
  const auto head_bytes = std::as_bytes(std::span(head));
  entry.insert(entry.end(), head_bytes.begin(), head_bytes.end());
  entry.insert(entry.end(), binary.begin(), binary.end());
  const uint64_t sum = fnv(entry);
  const auto sum_bytes = std::as_bytes(std::span(&sum, 1));
  entry.insert(entry.end(), sum_bytes.begin(), sum_bytes.end());
  Lock lock(mutex_);
  try {
    write_file_atomically(user_, file_name(key, head), entry);
  } catch (const Error& e) {
    why_ = e.what();
    return false;
  }
  keep_below_limit();
  return true;
}

void KernelCache::keep_below_limit() {
  std::vector<FolderFile> files = list_folder(user_);
  std::erase_if(files, [](const FolderFile& f) { return !is_entry(f); });
  int64_t total = 0;
  for (const FolderFile& f : files) total += f.bytes;
  std::sort(files.begin(), files.end(), [](auto& a, auto& b) { return a.last_used < b.last_used; });
  // The newest stays even when it is larger than the limit: it was just asked for.
  for (size_t i = 0; i + 1 < files.size() && total > limit_bytes_; ++i)
    if (remove_file(cat(user_, "/", files[i].name))) total -= files[i].bytes;
}

std::vector<CachedKernel> KernelCache::list() const {
  std::vector<CachedKernel> out;
  const auto add = [&](const std::string& folder, bool shipped) {
    for (const FolderFile& f : list_folder(folder)) {
      if (!is_entry(f)) continue;
      const auto entry = read_entry(cat(folder, "/", f.name));
      if (!entry || !intact(*entry)) continue;
      const std::string_view text(reinterpret_cast<const char*>(entry->data()), entry->size());
      const std::string_view head = text.substr(0, text.find("\n\n") + 1);
      out.push_back({folder, f.name, field(head, "name"), field(head, "architecture"), field(head, "compiler"), f.bytes, shipped});
    }
  };
  for (const ShippedKernels& s : shipped()) add(cat(s.folder, "/", s.architecture), true);
  if (!user_.empty()) add(user_, false);
  return out;
}

std::vector<ShippedKernels> KernelCache::shipped() const {
  std::vector<ShippedKernels> out;
  for (const std::string& folder : shipped_)
    for (const std::string& architecture : list_subfolders(folder)) {
      ShippedKernels s{folder, architecture, 0, 0};
      for (const FolderFile& f : list_folder(cat(folder, "/", architecture)))
        if (is_entry(f)) ++s.kernels, s.bytes += f.bytes;
      if (s.kernels > 0) out.push_back(std::move(s));
    }
  return out;
}

int64_t KernelCache::clear() {
  int64_t removed = 0;
  if (user_.empty()) return removed;
  for (const FolderFile& f : list_folder(user_))
    if (is_entry(f) && remove_file(cat(user_, "/", f.name))) ++removed;
  return removed;
}

std::string KernelCache::why() const {
  Lock lock(mutex_);
  return why_;
}

std::string kernel_cache_folder() { return KernelCache::of_this_process().user_folder(); }
std::vector<CachedKernel> list_cached_kernels() { return KernelCache::of_this_process().list(); }
std::vector<std::string> shipped_kernel_folders() { return KernelCache::of_this_process().shipped_folders(); }
std::vector<ShippedKernels> list_shipped_kernels() { return KernelCache::of_this_process().shipped(); }
int64_t clear_cached_kernels() { return KernelCache::of_this_process().clear(); }

}  // namespace tenon
