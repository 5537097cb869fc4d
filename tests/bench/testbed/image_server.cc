// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/testbed/image_server.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "core/base/thread.h"

namespace shufflefs {
namespace {

using Clock = std::chrono::steady_clock;

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};

Nanos Now() { return Clock::now().time_since_epoch(); }

// Returns the number of bytes, which the image's end may cut short, or -errno.
ssize_t ReadAll(int fd, char* to, size_t length, uint64_t offset) {
  size_t done = 0;
  while (done < length) {
    const ssize_t got =
        pread(fd, to + done, length - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    done += got;
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

ImageServer::ImageServer(int image, std::unique_ptr<DeviceModel> model)
    : image_(image), model_(std::move(model)) {
  size_t servers;
  {
    MutexLock lock(mu_);
    servers = model_->servers();
  }
  for (size_t i = 0; i < servers; ++i) {
    threads_.push_back(
        StartThread("slowdev", [this](const std::stop_token&) { Serve(); }));
  }
}

ImageServer::~ImageServer() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.SignalAll();
  threads_.clear();
}

void ImageServer::Read(uint64_t offset, size_t length, Answer answer) {
  {
    MutexLock lock(mu_);
    waiting_.push_back({.offset = offset, .length = length, .arrival = Now()});
    answers_.push_back(std::move(answer));
  }
  changed_.SignalOne();
}

DeviceCounts ImageServer::counts() const {
  MutexLock lock(mu_);
  return model_->counts();
}

void ImageServer::Serve() {
  const std::unique_ptr<char, Free> buffer(
      static_cast<char*>(std::aligned_alloc(kAlignment, kMaxRead)));
  while (true) {
    DeviceRequest request;
    Answer answer;
    Nanos due;
    {
      MutexLock lock(mu_);
      while (waiting_.empty() && !stopping_) changed_.Wait(mu_);
      if (waiting_.empty()) return;
      const Nanos now = Now();
      const size_t chosen = model_->Choose(waiting_, now);
      request = waiting_[chosen];
      answer = std::move(answers_[chosen]);
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(chosen));
      answers_.erase(answers_.begin() + static_cast<ptrdiff_t>(chosen));
      due = model_->Serve(request, now);
    }
    const ssize_t got =
        ReadAll(image_, buffer.get(), request.length, request.offset);
    std::this_thread::sleep_until(Clock::time_point(due));
    const size_t bytes = got < 0 ? 0 : static_cast<size_t>(got);
    answer(got < 0 ? static_cast<int>(-got) : 0, {buffer.get(), bytes});
  }
}

}  // namespace shufflefs
