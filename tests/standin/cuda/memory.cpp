#include "memory.h"

#include <sys/mman.h>

#include <cstring>
#include <vector>

namespace standin {
namespace {

constexpr size_t page = 4096, guard = 1 << 20, alignment = 16;
constexpr size_t quarantined = 4096;
constexpr unsigned char poison = 0xFF;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

char* Memory::alloc(size_t bytes, const void* owner) {
  const size_t body = round_up(bytes ? bytes : 1, page);
  void* m = ::mmap(nullptr, body + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m == MAP_FAILED) return nullptr;
  char* base = static_cast<char*>(m);
  if (::mprotect(base + guard, body, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(base, body + 2 * guard);
    return nullptr;
  }
  std::memset(base + guard, poison, body);
  std::lock_guard lock(mutex_);
  char* start = base + guard + body - round_up(bytes, alignment);
  by_mapping_[base] = {++count_, start, bytes, base, body + 2 * guard, false, owner};
  in_use_[owner] += bytes;
  return start;
}

bool Memory::free(char* start, std::string* report) {
  std::lock_guard lock(mutex_);
  Allocation* a = near(start);
  if (!a || a->start != start || a->freed) return false;
  for (const char* c = a->start + a->bytes; c < a->mapping + a->mapped - guard; ++c)
    if (static_cast<unsigned char>(*c) != poison) {
      *report = "a write past the end of allocation m" + std::to_string(a->number) + " of " + std::to_string(a->bytes) +
                " bytes, at offset " + std::to_string(c - a->start);
      break;
    }
  forbid(*a);
  return true;
}

void Memory::free_all(const void* owner) {
  std::lock_guard lock(mutex_);
  std::vector<Allocation*> left;
  for (auto& [mapping, a] : by_mapping_)
    if (a.owner == owner && !a.freed) left.push_back(&a);
  for (Allocation* a : left) forbid(*a);
}

// The addresses stay taken and forbidden, so that a use after free is seen.
void Memory::forbid(Allocation& a) {
  a.freed = true;
  in_use_[a.owner] -= a.bytes;
  ::mmap(a.mapping, a.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  quarantine_.push_back(a.mapping);
  if (quarantine_.size() <= quarantined) return;
  auto oldest = by_mapping_.find(quarantine_.front());
  ::munmap(oldest->second.mapping, oldest->second.mapped);
  by_mapping_.erase(oldest);
  quarantine_.pop_front();
}

Allocation* Memory::near(const char* address) {
  auto it = by_mapping_.upper_bound(address);
  if (it == by_mapping_.begin()) return nullptr;
  Allocation& a = std::prev(it)->second;
  return address < a.mapping + a.mapped ? &a : nullptr;
}

bool Memory::find(const char* address, Allocation* out) {
  std::lock_guard lock(mutex_);
  const Allocation* a = near(address);
  if (!a || a->freed || address < a->start || address > a->start + a->bytes) return false;
  *out = *a;
  return true;
}

bool Memory::contains(const char* start, size_t bytes) {
  Allocation a;
  return find(start, &a) && bytes <= size_t(a.start + a.bytes - start);
}

std::string Memory::name(const char* address) {
  Allocation a;
  if (!find(address, &a)) return {};
  return "m" + std::to_string(a.number) + "+" + std::to_string(address - a.start);
}

std::string Memory::describe(const char* address) {
  std::lock_guard lock(mutex_);
  const Allocation* a = near(address);
  if (!a) return address ? "no device memory" : "a null pointer, or a vector access that is not aligned";
  return "offset " + std::to_string(address - a->start) + " of allocation m" + std::to_string(a->number) + " of " +
         std::to_string(a->bytes) + " bytes" + (a->freed ? ", which was freed" : "");
}

size_t Memory::in_use(const void* owner) {
  std::lock_guard lock(mutex_);
  return in_use_[owner];
}

Memory& memory() {
  static Memory& the = *new Memory;  // never destroyed: streams may run at exit
  return the;
}

}  // namespace standin
