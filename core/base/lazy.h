// SPDX-License-Identifier: Apache-2.0
// Lazy is a value that its first user makes and that is constant afterwards.
// Use it for values that are derived from constant fields and too costly to
// make before they are needed.
#ifndef SHUFFLEFS_CORE_BASE_LAZY_H_
#define SHUFFLEFS_CORE_BASE_LAZY_H_

#include <mutex>

namespace shufflefs {

// Thread-safe. T is default-constructible and move-assignable.
template <typename T>
class Lazy {
 public:
  Lazy() = default;
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;

  // `make()` returns the value. Every caller passes an equivalent function, and
  // only one of them is called, once. Blocks while another thread makes the
  // value.
  template <typename Make>
  const T& Get(const Make& make) const {
    std::call_once(once_, [&] { value_ = make(); });
    return value_;
  }

 private:
  // Self-synchronised: written inside call_once, constant afterwards.
  mutable std::once_flag once_;
  mutable T value_{};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BASE_LAZY_H_
