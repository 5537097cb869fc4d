// SPDX-License-Identifier: Apache-2.0
// Uring is an io_uring ring that other threads can wake. Only files of core/io
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
  int32_t result = 0;  // result of the call, or -errno
};

// One thread makes, uses and destroys it. Any thread may call Wake.
class Uring {
 public:
  // The tag of the completion with which Wake ends a wait. ArmWake arms it for
  // one Wake.
  static constexpr uint64_t kWake = 0;

  // More than `entries` pending calls are slower. The kernel uses up to
  // `workers` threads for calls that would block. Errors: those of
  // io_uring_setup (ENOSYS, EPERM if it is forbidden, ENOMEM); EOPNOTSUPP if
  // this kernel lacks a call.
  static absl::StatusOr<std::unique_ptr<Uring>> Make(unsigned entries,
                                                     unsigned workers);
  ~Uring();

  // The next entry, for the caller to prepare and then tag. Never null. If the
  // ring is full, submits the entries before it, for as long as that takes.
  io_uring_sqe* Next();
  // Submits the prepared entries and waits for a completion. Returns all
  // completions that are there.
  const std::vector<Completion>& SubmitAndWait();
  // Calls that have not been returned as completed.
  uint64_t pending() const { return pending_; }

  // Lets the kernel use more threads from now on.
  void AllowWorkers(unsigned workers);

  void ArmWake();
  void Wake();  // any thread, also a signal handler

  // Pins `memory`, which outlives the ring. REQUIRES: kWake is not
  // armed (old kernels wait for everything that is pending). Errors: ENOMEM if
  // the process may not lock so much memory.
  absl::Status Register(absl::Span<char> memory);
  // The index of the registered buffer that holds all of the read, or -1.
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
  uint64_t woken_ = 0;  // the kernel reads event_ into it
  std::vector<iovec> registered_;
  std::vector<Completion> completions_;
  std::vector<Completion> early_;  // completions taken to make room
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_URING_H_
