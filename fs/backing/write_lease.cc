// SPDX-License-Identifier: Apache-2.0
#include "fs/backing/write_lease.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/status.h"
#include "core/base/thread.h"

namespace shufflefs {
namespace {

sigset_t LeaseSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGIO);
  return signals;
}

}  // namespace

absl::Status TakeLease(int fd) {
  if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "lease");
}

bool MayLease() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  return syscall(SYS_capget, &header, data.data()) == 0 &&
         (data[0].effective & (1u << CAP_LEASE)) != 0;
}

bool IsLeaseBroken(int fd) { return fcntl(fd, F_GETLEASE) != F_RDLCK; }

void EndLease(int fd) { fcntl(fd, F_SETLEASE, F_UNLCK); }

void LeaseBell::BlockSignal() {
  const sigset_t signals = LeaseSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

absl::StatusOr<std::unique_ptr<LeaseBell>> LeaseBell::Make() {
  const sigset_t signals = LeaseSignals();
  UniqueFd arrived(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!arrived.valid()) return ErrnoStatus(errno, "signalfd");
  UniqueFd mounts(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (!mounts.valid()) return ErrnoStatus(errno, "mountinfo");
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoStatus(errno, "eventfd");
  return absl::WrapUnique(
      new LeaseBell(std::move(arrived), std::move(mounts), std::move(stop)));
}

LeaseBell::LeaseBell(UniqueFd signals, UniqueFd mounts, UniqueFd stop)
    : signals_(std::move(signals)),
      mounts_(std::move(mounts)),
      stop_fd_(std::move(stop)) {}

bool LeaseBell::Start(Calls calls) {
  auto thread = TryStartThread(
      "sfs-leases", [this, calls = std::move(calls)](std::stop_token stop) {
        Run(std::move(stop), calls);
      });
  if (!thread) return false;
  thread_ = *std::move(thread);
  return true;
}

void LeaseBell::Stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  eventfd_write(stop_fd_.get(), 1);
  thread_.join();
}

void LeaseBell::Run(std::stop_token stop, const Calls& calls) const {
  std::array<pollfd, 3> ready{{{signals_.get(), POLLIN, 0},
                               {mounts_.get(), POLLPRI, 0},
                               {stop_fd_.get(), POLLIN, 0}}};
  while (!stop.stop_requested()) {
    poll(ready.data(), ready.size(), -1);
    signalfd_siginfo info;
    bool rings = false;
    while (read(signals_.get(), &info, sizeof(info)) > 0) rings = true;
    if (rings) calls.writer_waits();
    if (ready[1].revents != 0) calls.mounts_changed();
  }
}

}  // namespace shufflefs
