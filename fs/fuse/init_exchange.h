// SPDX-License-Identifier: Apache-2.0
// InitExchange reads and writes /dev/fuse for libfuse, to see the kernel's
// offer in INIT, and to accept it in libfuse's reply. And nothing is written
// once libfuse is about to close the device: its number may then belong to
// another file, while late answers still come.
#ifndef SHUFFLEFS_FS_FUSE_INIT_EXCHANGE_H_
#define SHUFFLEFS_FS_FUSE_INIT_EXCHANGE_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

namespace shufflefs {

// Thread-safe. The kernel sends INIT first, and nothing else before the reply.
class InitExchange {
 public:
  // `replied` is called when the kernel has the reply, on the thread that wrote
  // it. Call it before the first Read.
  void Begin(bool accepts, std::function<void()> replied) {
    accepts_ = accepts;
    replied_ = std::move(replied);
  }
  // As read and writev. After End, Write fails with ENODEV.
  ssize_t Read(int device, void* buffer, size_t size);
  ssize_t Write(int device, const iovec* pieces, int count);
  // Waits for writes that are under way.
  void End();

  bool offered() const { return offered_; }
  bool accepted() const { return accepted_; }

 private:
  ssize_t WriteUnlessEnded(int device, const iovec* pieces, int count);
  ssize_t WriteReply(int device, const iovec* pieces, int count);

  // Constant after Begin.
  bool accepts_ = false;
  std::function<void()> replied_;

  std::atomic<bool> asked_{false};
  std::atomic<bool> over_{false};
  std::atomic<bool> offered_{false};
  std::atomic<bool> accepted_{false};
  std::atomic<bool> ended_{false};
  std::atomic<int> writes_{0};  // under way
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_INIT_EXCHANGE_H_
