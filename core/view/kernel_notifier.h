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
    std::function<void(bool were_fixed)> rebound;
    // Called after `rebound`: listings may bind names again. May be empty.
    std::function<void()> settled;
    // Like `rebound`, but no name was rebound: the kernel must cache names no
    // longer than each lookup says. May be empty.
    std::function<void()> doubted;
  };
  explicit KernelNotifier(Calls calls) : calls_(std::move(calls)) {}
  KernelNotifier(const KernelNotifier&) = delete;
  KernelNotifier& operator=(const KernelNotifier&) = delete;

  // Begins a rebinding and returns its number, from 1. Only one thread rebinds
  // at a time. The kernel does not know of it until Tell is called with that
  // number.
  uint64_t Begin() { return ++begun_; }
  // No name was shown before this binding, so the kernel need not be told.
  void SkipTelling() { told_ = begun_.load(); }
  uint64_t begun() const { return begun_; }
  bool told_all() const { return told_ == begun_; }

  void Tell(bool were_fixed, uint64_t begun) {
    calls_.rebound(were_fixed);
    // Another thread may have told the kernel of a later binding meanwhile.
    uint64_t told = told_;
    while (told < begun && !told_.compare_exchange_weak(told, begun)) {
    }
    Settle();
  }
  void Doubt() const {
    if (calls_.doubted) calls_.doubted();
  }
  void Settle() const {
    if (calls_.settled) calls_.settled();
  }

 private:
  const Calls calls_;
  std::atomic<uint64_t> begun_{0};  // bindings made
  std::atomic<uint64_t> told_{0};   // last binding that the kernel was told of
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_KERNEL_NOTIFIER_H_
