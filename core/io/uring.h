// SPDX-License-Identifier: Apache-2.0
// A ring of io_uring that other threads can wake. Only files of core/io
// include this.
#ifndef SHUFFLEFS_CORE_IO_URING_H_
#define SHUFFLEFS_CORE_IO_URING_H_

#include <liburing.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/files/unique_fd.h"

namespace shufflefs {

struct Completion {
  uint64_t tag = 0;
  int32_t result = 0;  // of the call, or -errno
};

// One thread makes, uses and destroys it; Wake alone may be called by any.
class Uring {
 public:
  // The tag of the completion that ends a wait because of Wake. Armed by
  // ArmWake, once each.
  static constexpr uint64_t kWake = 0;

  // Calls beyond `entries` that are pending are slower; `workers` threads of
  // the kernel for those that would block. Errors: what io_uring_setup gives
  // (ENOSYS, EPERM where it is forbidden, ENOMEM), EOPNOTSUPP when this
  // kernel's lacks a call.
  static absl::StatusOr<std::unique_ptr<Uring>> Make(unsigned entries,
                                                     unsigned workers);
  ~Uring();

  // The next entry, to be prepared and then tagged; never null. Where more are
  // got between two submissions than there are, those before are submitted,
  // for as long as it takes.
  io_uring_sqe* Next();
  // Submits what was got and waits for a completion. Takes all there are.
  const std::vector<Completion>& SubmitAndWait();
  // Calls that were got and whose completions were not taken.
  uint64_t pending() const { return pending_; }

  void ArmWake();
  void Wake();  // any thread, also a signal handler

  // Pins `memory`, which outlives the ring. REQUIRES: kWake is not armed (old
  // kernels wait for all that is pending). Errors: ENOMEM where the process
  // may not lock so much.
  absl::Status Register(absl::Span<char> memory);
  // The index for a read that lands there wholly, or -1.
  int RegisteredIndex(const void* base, uint64_t length) const;

 private:
  explicit Uring(UniqueFd event) : event_(std::move(event)) {}
  absl::Status SetUp(unsigned entries, unsigned workers);
  void Take(std::vector<Completion>& into);
  void Pause(int error);

  UniqueFd event_;
  io_uring ring_ = {};
  bool made_ = false;
  bool complained_ = false;
  uint64_t pending_ = 0;
  uint64_t woken_ = 0;  // what the kernel reads from event_
  std::vector<iovec> registered_;
  std::vector<Completion> completions_;
  std::vector<Completion> early_;  // taken to make room
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_URING_H_
