// Mutexes and their locks. wasm32-wasi has one thread and no <mutex>: there they do nothing.
#pragma once
#if defined(__wasi__)
namespace tenon {
struct Mutex {};
struct RecursiveMutex {};
struct Lock {
  explicit Lock(Mutex&) {}
};
struct RecursiveLock {
  explicit RecursiveLock(RecursiveMutex&) {}
};
}  // namespace tenon
#else
#include <mutex>
namespace tenon {
using Mutex = std::mutex;
using Lock = std::unique_lock<std::mutex>;
using RecursiveMutex = std::recursive_mutex;
using RecursiveLock = std::unique_lock<std::recursive_mutex>;
}  // namespace tenon
#endif
