// Device memory of the stand-in: each allocation ends at pages that nothing may touch, is filled with 0xFF (NaN) first,
// and stays out of bounds after it was freed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

namespace standin {

struct Allocation {
  int number = 0;  // in the order of allocation: the name in traces and reports, "m3"
  char* start = nullptr;
  size_t bytes = 0;
  char* mapping = nullptr;
  size_t mapped = 0;
  bool freed = false;
  const void* owner = nullptr;
};

class Memory {
 public:
  // Null when the system has no more. `owner` is the device.
  char* alloc(size_t bytes, const void* owner);
  // False when `start` is not an allocation. A write into the last bytes before the guard is reported.
  bool free(char* start, std::string* report);
  // What is left when a device's context goes.
  void free_all(const void* owner);
  // Whether [start, start + bytes) lies within one live allocation.
  bool contains(const char* start, size_t bytes);
  // The live allocation that an address lies in.
  bool find(const char* address, Allocation* out);
  // "m3+256", or "" for what is no device memory.
  std::string name(const char* address);
  // What a bad access to `address` means.
  std::string describe(const char* address);
  size_t in_use(const void* owner);

 private:
  Allocation* near(const char* address);
  void forbid(Allocation& a);
  std::mutex mutex_;
  std::map<const char*, Allocation> by_mapping_;
  std::deque<char*> quarantine_;
  std::map<const void*, size_t> in_use_;  // bytes by owner
  int count_ = 0;
};

// One for the process.
Memory& memory();

}  // namespace standin
