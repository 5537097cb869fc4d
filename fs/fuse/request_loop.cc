// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/request_loop.h"

#define FUSE_USE_VERSION 312
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/base/thread.h"

namespace shufflefs {
namespace {

using Clock = std::chrono::steady_clock;

// Requests that follow an answer this closely come from a reader that opens
// files one after the other. The gap includes the wake-up of the leader.
constexpr auto kDense = std::chrono::microseconds(200);
// How long the leader polls for the next request. A reader takes about 20 us
// for a cached file of 100 KB.
constexpr auto kLook = std::chrono::microseconds(60);

// All zeros for a truncated request: no operation has that code.
fuse_in_header HeaderOf(const fuse_buf& request) {
  fuse_in_header header = {};
  if (request.size < sizeof(header)) return header;
  std::memcpy(&header, request.mem, sizeof(header));
  return header;
}

// close() does not wait for an answer, but the next open must not overtake it.
// Otherwise it would find the file held by the thread that closed it.
bool KeepsItsPlace(const fuse_buf& request) {
  return HeaderOf(request).opcode == FUSE_RELEASE;
}

}  // namespace

RequestLoop::RequestLoop(Options options)
    : options_(std::move(options)),
      fuse_fd_(fuse_session_fd(options_.session)),
      ended_fd_(eventfd(0, EFD_CLOEXEC)) {}

RequestLoop::~RequestLoop() = default;

absl::Status RequestLoop::Run() {
  // The leader must not block in read if a request was interrupted after poll.
  if (ended_fd_.get() < 0 ||
      fcntl(fuse_fd_, F_SETFL, fcntl(fuse_fd_, F_GETFL) | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "request loop");
  }
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // Signals are delivered only inside ppoll, so none is lost between the test
  // and the wait.
  pthread_sigmask(SIG_BLOCK, &all, &before);
  bool serves = false;
  {
    MutexLock lock(mu_);
    StartOne();
    serves = !threads_.empty();
  }
  if (!serves) End(-EAGAIN);
  pollfd ended{ended_fd_.get(), POLLIN, 0};
  while (fuse_session_exited(options_.session) == 0) {
    if (ppoll(&ended, 1, nullptr, &before) > 0) break;
  }
  End(0);
  std::vector<std::jthread> threads;
  std::vector<std::jthread> left;
  int result;
  {
    MutexLock lock(mu_);
    threads.swap(threads_);
    left.swap(left_);
    result = result_;
  }
  if (options_.ended) options_.ended(result >= 0);
  threads.clear();  // joins
  left.clear();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (result < 0) return ErrnoStatus(-result, "request loop");
  return absl::OkStatus();
}

void RequestLoop::End(int result) {
  MutexLock lock(mu_);
  if (ended_) return;
  ended_ = true;
  result_ = result;
  const uint64_t one = 1;
  if (write(ended_fd_.get(), &one, sizeof(one)) < 0) result_ = -errno;
  lead_.SignalAll();
}

void RequestLoop::StartOne() {
  if (threads_.size() >= options_.most_threads) return;
  auto more = TryStartThread(absl::StrCat("sfs-serve-", started_++),
                             [this](std::stop_token) { Serve(); });
  if (more) threads_.push_back(*std::move(more));
}

void RequestLoop::HandOver(bool must) {
  MutexLock lock(mu_);
  if (ended_ || leader_ != std::this_thread::get_id()) return;
  const bool full = idle_ == 0 && threads_.size() >= options_.max_threads;
  if (full && !must) return;
  leader_ = {};
  if (idle_ > 0) {
    lead_.SignalOne();
  } else {
    StartOne();
  }
}

void RequestLoop::LetOthersServe() { HandOver(/*must=*/true); }

bool RequestLoop::Leaves() {
  const std::thread::id self = std::this_thread::get_id();
  const bool is_needed =
      ended_ || leader_ == std::thread::id() || leader_ == self || idle_ == 0;
  if (is_needed || threads_.size() <= options_.max_threads) return false;
  const auto own = std::find_if(
      threads_.begin(), threads_.end(),
      [&](const std::jthread& each) { return each.get_id() == self; });
  left_.clear();  // joins those before it, so that their stacks go
  left_.push_back(std::move(*own));
  threads_.erase(own);
  return true;
}

bool RequestLoop::Lead() {
  const std::thread::id self = std::this_thread::get_id();
  MutexLock lock(mu_);
  if (Leaves()) return false;
  ++idle_;
  while (!ended_ && leader_ != std::thread::id() && leader_ != self) {
    lead_.Wait(mu_);
  }
  --idle_;
  leader_ = self;
  return !ended_;
}

void RequestLoop::Serve() {
  fuse_buf request;
  std::memset(&request, 0, sizeof(request));
  Pace pace;
  while (Lead() && Receive(pace, request)) {
    const bool leads_on =
        IsQuick(request) && (KeepsItsPlace(request) || !MorePending());
    if (!leads_on) HandOver(/*must=*/false);
    fuse_session_process_buf(options_.session, &request);
    pace.answered = Clock::now();
  }
  std::free(request.mem);
}

bool RequestLoop::Receive(Pace& pace, fuse_buf& request) {
  while (WaitForRequest(pace)) {
    const int got = fuse_session_receive_buf(options_.session, &request);
    if (got > 0) return true;
    if (got == -EINTR || got == -EAGAIN) continue;
    // Unmounted. ECONNABORTED if that came in the middle of a request.
    End(got == -ECONNABORTED ? 0 : got);
  }
  return false;
}

bool RequestLoop::WaitForRequest(Pace& pace) const {
  std::array<pollfd, 2> ready{
      {{fuse_fd_, POLLIN, 0}, {ended_fd_.get(), POLLIN, 0}}};
  int found = 0;
  if (pace.dense) {
    do {
      found = poll(ready.data(), ready.size(), 0);
      if (found == 0) sched_yield();
    } while (found == 0 && Clock::now() - pace.answered < kLook);
  }
  while (found == 0 || (found < 0 && errno == EINTR)) {
    found = poll(ready.data(), ready.size(), -1);
  }
  pace.dense = Clock::now() - pace.answered < kDense;
  return found > 0 && ready[1].revents == 0;
}

bool RequestLoop::MorePending() const {
  pollfd ready{fuse_fd_, POLLIN, 0};
  return poll(&ready, 1, 0) > 0;
}

bool RequestLoop::IsQuick(const fuse_buf& request) const {
  const fuse_in_header header = HeaderOf(request);
  switch (header.opcode) {
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_IOCTL:  // Python asks for each file whether it is a terminal
      return true;
    case FUSE_LOOKUP:
    case FUSE_GETATTR:
    case FUSE_GETXATTR:
    case FUSE_LISTXATTR:
    case FUSE_OPEN:
    case FUSE_OPENDIR:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
      return options_.answers_quickly();
    case FUSE_READ:
      return options_.reads_quickly(header.nodeid);
    default:
      return false;
  }
}

}  // namespace shufflefs
