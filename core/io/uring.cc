// SPDX-License-Identifier: Apache-2.0
#include "core/io/uring.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMostRegistered = uint64_t{1} << 30;  // bytes per buffer

absl::Status CheckCalls(io_uring* ring) {
  io_uring_probe* probe = io_uring_get_probe_ring(ring);
  if (probe == nullptr) return ErrnoStatus(EOPNOTSUPP, "io_uring probe");
  absl::Status status;
  for (int call : {IORING_OP_OPENAT2, IORING_OP_STATX, IORING_OP_READ,
                   IORING_OP_READV, IORING_OP_READ_FIXED, IORING_OP_CLOSE}) {
    if (io_uring_opcode_supported(probe, call) == 0) {
      status = ErrnoStatus(EOPNOTSUPP, absl::StrCat("io_uring call ", call));
    }
  }
  io_uring_free_probe(probe);
  return status;
}

// A sandbox may allow a ring to be made but refuse to enter it.
absl::Status CheckEnter(io_uring* ring) {
  io_uring_prep_nop(io_uring_get_sqe(ring));
  const int submitted = io_uring_submit_and_wait(ring, 1);
  if (submitted < 0) return ErrnoStatus(-submitted, "io_uring_enter");
  io_uring_cq_advance(ring, 1);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Uring>> Uring::Make(unsigned entries,
                                                   unsigned workers) {
  UniqueFd event(eventfd(0, EFD_CLOEXEC));
  if (!event.valid()) return ErrnoStatus(errno, "eventfd");
  std::unique_ptr<Uring> uring(new Uring(std::move(event)));
  RETURN_IF_ERROR(uring->SetUp(entries, workers));
  return uring;
}

absl::Status Uring::SetUp(unsigned entries, unsigned workers) {
  // One thread submits and takes completions. So the kernel may postpone its
  // work until that thread waits (Linux 6.1).
  int failed = io_uring_queue_init(
      entries, &ring_, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
  if (failed == -EINVAL) failed = io_uring_queue_init(entries, &ring_, 0);
  if (failed != 0) return ErrnoStatus(-failed, "io_uring_setup");
  made_ = true;
  AllowWorkers(workers);
  RETURN_IF_ERROR(CheckCalls(&ring_));
  return CheckEnter(&ring_);
}

// Calls that block go to threads of the kernel, above all opens of files whose
// inodes are not in memory. The kernel's default is four per core. It stays so
// before Linux 5.15.
void Uring::AllowWorkers(unsigned workers) {
  unsigned most[2] = {workers, 0};
  io_uring_register_iowq_max_workers(&ring_, most);
}

Uring::~Uring() {
  if (made_) io_uring_queue_exit(&ring_);
}

io_uring_sqe* Uring::Next() {
  ++pending_;
  for (;;) {
    if (io_uring_sqe* entry = io_uring_get_sqe(&ring_)) return entry;
    const int submitted = io_uring_submit(&ring_);
    if (submitted > 0 || submitted == -EINTR) continue;
    // The kernel is short of memory, or completions were not taken.
    Take(early_);
    Pause(-submitted);
  }
}

void Uring::Take(std::vector<Completion>& into) {
  unsigned head = 0;
  unsigned count = 0;
  io_uring_cqe* cqe = nullptr;
  io_uring_for_each_cqe(&ring_, head, cqe) {
    into.push_back({io_uring_cqe_get_data64(cqe), cqe->res});
    ++count;
  }
  io_uring_cq_advance(&ring_, count);
}

void Uring::Pause(int error) {
  if (!std::exchange(complained_, true)) {
    Log(LogLevel::kWarning,
        ErrnoStatus(error, "io_uring_enter, trying again").message());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

const std::vector<Completion>& Uring::SubmitAndWait() {
  const int submitted =
      io_uring_submit_and_wait(&ring_, early_.empty() ? 1 : 0);
  completions_ = std::exchange(early_, {});
  Take(completions_);
  pending_ -= completions_.size();
  if (submitted < 0 && submitted != -EINTR && completions_.empty()) {
    // For example, the kernel is short of memory. The entries stay and are
    // submitted again.
    Pause(-submitted);
  }
  return completions_;
}

void Uring::ArmWake() {
  io_uring_sqe* entry = Next();
  io_uring_prep_read(entry, event_.get(), &woken_, sizeof woken_, 0);
  io_uring_sqe_set_data64(entry, kWake);
}

void Uring::Wake() {
  const uint64_t one = 1;
  // Fails only after 2^64 - 2 wakes that were not read.
  [[maybe_unused]] ssize_t written = write(event_.get(), &one, sizeof one);
}

absl::Status Uring::Register(absl::Span<char> memory) {
  std::vector<iovec> buffers;
  for (uint64_t at = 0; at < memory.size(); at += kMostRegistered) {
    buffers.push_back(
        {memory.data() + at,
         std::min<uint64_t>(memory.size() - at, kMostRegistered)});
  }
  const int failed = io_uring_register_buffers(
      &ring_, buffers.data(), static_cast<unsigned>(buffers.size()));
  if (failed != 0) return ErrnoStatus(-failed, "io_uring_register_buffers");
  registered_ = std::move(buffers);
  return absl::OkStatus();
}

int Uring::RegisteredIndex(const void* base, uint64_t length) const {
  if (registered_.empty()) return -1;
  const uint64_t offset =
      reinterpret_cast<uintptr_t>(base) -
      reinterpret_cast<uintptr_t>(registered_.front().iov_base);
  const uint64_t index = offset / kMostRegistered;
  // Memory before the region gives an offset beyond every index.
  if (index >= registered_.size()) return -1;
  const uint64_t within = offset % kMostRegistered;
  if (within + length > registered_[index].iov_len) return -1;
  return static_cast<int>(index);
}

}  // namespace shufflefs
