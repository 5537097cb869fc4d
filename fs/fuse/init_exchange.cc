// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/init_exchange.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/types/span.h"
#include "fs/fuse/backing_wire.h"

namespace shufflefs {

ssize_t InitExchange::Read(int device, void* buffer, size_t size) {
  const ssize_t got = read(device, buffer, size);
  if (got <= 0 || asked_) return got;
  offered_ = OffersBacking(absl::MakeConstSpan(static_cast<const char*>(buffer),
                                               static_cast<size_t>(got)));
  asked_ = true;
  return got;
}

ssize_t InitExchange::Write(int device, const iovec* pieces, int count) {
  ++writes_;
  const bool is_reply = asked_ && !over_;
  const ssize_t written = WriteUnlessEnded(device, pieces, count);
  const int error = errno;
  if (--writes_ == 0) writes_.notify_all();
  if (is_reply) {
    over_ = true;
    if (replied_) replied_();
  }
  errno = error;
  return written;
}

// Whoever sees that it has not ended is waited for.
ssize_t InitExchange::WriteUnlessEnded(int device, const iovec* pieces,
                                       int count) {
  if (ended_) {
    errno = ENODEV;
    return -1;
  }
  if (over_ || !asked_) return writev(device, pieces, count);
  return WriteReply(device, pieces, count);
}

void InitExchange::End() {
  ended_ = true;
  for (int left = writes_; left != 0; left = writes_) writes_.wait(left);
}

ssize_t InitExchange::WriteReply(int device, const iovec* pieces, int count) {
  std::string reply;
  for (int i = 0; i < count; ++i) {
    reply.append(static_cast<const char*>(pieces[i].iov_base),
                 pieces[i].iov_len);
  }
  const bool accepts =
      accepts_ && offered_ &&
      AcceptBacking(absl::MakeSpan(reply.data(), reply.size()));
  const ssize_t written = write(device, reply.data(), reply.size());
  accepted_ = accepts && written > 0;
  return written;
}

}  // namespace shufflefs
