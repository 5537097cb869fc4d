// SPDX-License-Identifier: Apache-2.0
// KernelNotifier tells the kernel when names were rebound. It remembers whether
// the kernel was told of the last rebinding.
#ifndef SHUFFLEFS_CORE_VIEW_KERNEL_NOTIFIER_H_
#define SHUFFLEFS_CORE_VIEW_KERNEL_NOTIFIER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace shufflefs {

// Thread-safe. It calls the kernel with no lock held. These calls may block on
// the kernel.
class KernelNotifier {
 public:
  struct Calls {
    // Names were rebound: the kernel must look them up again. `were_fixed`:
    // until now the kernel was allowed to cache them for ever.
    std::function<void(bool were_fixed)> on_rebind;
    // Called after `on_rebind`: listings may bind names again. May be empty.
    std::function<void()> on_committed;
    // Like `on_rebind`, but no name was rebound: the kernel must cache names no
    // longer than each lookup says. May be empty.
    std::function<void()> on_doubted;
  };
  explicit KernelNotifier(Calls calls) : calls_(std::move(calls)) {}
  KernelNotifier(const KernelNotifier&) = delete;
  KernelNotifier& operator=(const KernelNotifier&) = delete;

  // Begins a rebinding and returns its number, from 1. Only one thread rebinds
  // at a time. The kernel does not know of it until Notify is called with that
  // number.
  uint64_t Begin() { return ++begun_; }
  // No name was shown before this binding, so the kernel need not be told.
  void SkipNotifying() { notified_ = begun_.load(); }
  uint64_t begun() const { return begun_; }
  bool notified() const { return notified_ == begun_; }

  void Notify(bool were_fixed, uint64_t begun) {
    calls_.on_rebind(were_fixed);
    // Another thread may have told the kernel of a later binding meanwhile.
    uint64_t notified = notified_;
    while (notified < begun &&
           !notified_.compare_exchange_weak(notified, begun)) {
    }
    Commit();
  }
  void Doubt() const {
    if (calls_.on_doubted) calls_.on_doubted();
  }
  void Commit() const {
    if (calls_.on_committed) calls_.on_committed();
  }

 private:
  const Calls calls_;
  std::atomic<uint64_t> begun_{0};     // bindings made
  std::atomic<uint64_t> notified_{0};  // the last that it knows
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_KERNEL_NOTIFIER_H_
