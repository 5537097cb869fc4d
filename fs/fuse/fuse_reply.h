// SPDX-License-Identifier: Apache-2.0
// Replies to the kernel. Converts values and Status into FUSE's structures. A
// failure that is not normal gets one log line and one counter.
#ifndef SHUFFLEFS_FS_FUSE_FUSE_REPLY_H_
#define SHUFFLEFS_FS_FUSE_FUSE_REPLY_H_

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "fs/fuse/fuse_ops.h"

namespace shufflefs {

// The handle of a file that is open for direct writes. BackingFiles gives no
// such one.
constexpr uint64_t kWritesDirectly = ~uint64_t{0};

FuseContext& Context(fuse_req_t req);

void ReplyError(fuse_req_t req, const char* operation,
                const absl::Status& status);
fuse_entry_param EntryParam(const FuseContext& context, const NodeReply& reply);
void ReplyEntry(fuse_req_t req, const absl::StatusOr<NodeReply>& reply);
void ReplyAttributes(fuse_req_t req, const absl::StatusOr<NodeReply>& reply);
// Returns false if the file was opened and nobody waits for the answer any
// more. Then no RELEASE comes.
bool ReplyOpen(fuse_req_t req, const absl::StatusOr<OpenReply>& reply,
               const absl::StatusOr<BackingFiles::Opened>& opened);
// The same once the size is known: at once, or on the thread that determines
// it.
void ReplyAttributesWhenSized(fuse_req_t req, absl::StatusOr<NodeReply> reply);

// Counts a request and measures the time until it is answered.
class Timer {
 public:
  Timer(fuse_req_t req, Latency latency, Counter counter);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Metrics& metrics_;
  const Latency latency_;
  const std::chrono::steady_clock::time_point start_;
};

// Answers a READ when its bytes are there, on the thread that brings them.
ContentProvider::ReadDone ReplyBytesLater(fuse_req_t req,
                                          std::shared_ptr<Timer> timer);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_FUSE_REPLY_H_
