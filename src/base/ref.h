// Ref<T>: a shared owner with the count inside the object. T derives from RefCounted<T>.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tenon {

template <class T>
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  // True when the last owner is gone; the caller then destroys the object.
  bool drop() const { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  int64_t owners() const { return count_.load(std::memory_order_acquire); }

 private:
  mutable std::atomic<int64_t> count_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& o) : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && p_->drop()) T::destroy(p_);
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }

 private:
  T* p_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace tenon
