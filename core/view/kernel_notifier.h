// SPDX-License-Identifier: Apache-2.0
// What the kernel is told of a view's names, and whether it was told of the
// last time that they were bound anew.
#ifndef SHUFFLEFS_CORE_VIEW_KERNEL_NOTIFIER_H_
#define SHUFFLEFS_CORE_VIEW_KERNEL_NOTIFIER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace shufflefs {

// Thread-safe. The calls to the kernel are made with no lock held; they may
// wait for it.
class KernelNotifier {
 public:
  struct Calls {
    // Names were bound anew: the kernel must look them up again.
    // `were_fixed`: until now it was allowed to believe them for life.
    std::function<void(bool were_fixed)> rebound;
    // Called after that: names may be bound by listings. May be empty.
    std::function<void()> settled;
    // As `rebound`, where no name was bound anew: the kernel is to believe
    // names no longer than each lookup says. May be empty.
    std::function<void()> doubted;
  };
  explicit KernelNotifier(Calls calls) : calls_(std::move(calls)) {}
  KernelNotifier(const KernelNotifier&) = delete;
  KernelNotifier& operator=(const KernelNotifier&) = delete;

  // Names are bound anew, by one thread at a time; from 1. Until Tell is called
  // with that number the kernel does not know.
  uint64_t Begin() { return ++begun_; }
  // Nobody was given a name before that.
  void SkipTelling() { told_ = begun_.load(); }
  uint64_t begun() const { return begun_; }
  bool told_all() const { return told_ == begun_; }

  void Tell(bool were_fixed, uint64_t begun);
  void Doubt() const {
    if (calls_.doubted) calls_.doubted();
  }
  void Settle() const {
    if (calls_.settled) calls_.settled();
  }

 private:
  const Calls calls_;
  std::atomic<uint64_t> begun_{0};  // bindings made
  std::atomic<uint64_t> told_{0};   // the last that the kernel heard of
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_KERNEL_NOTIFIER_H_
