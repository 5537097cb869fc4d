// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/fuse_reply.h"

#include <cerrno>
#include <climits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fs/fuse/backing_wire.h"
#include "fs/model/errno_map.h"

namespace shufflefs {
FuseContext& Context(fuse_req_t req) {
  return *static_cast<FuseContext*>(fuse_req_userdata(req));
}

void ReplyError(fuse_req_t req, const char* operation,
                const absl::Status& status) {
  const int error = ErrnoFor(status);
  if (!IsQuiet(error)) {
    Context(req).metrics->Add(Counter::kErrors);
    Context(req).errors.Say(absl::StrCat(operation, ": ", status.message()));
  }
  fuse_reply_err(req, error);
}

fuse_entry_param EntryParam(const FuseContext& context,
                            const NodeReply& reply) {
  fuse_entry_param entry = {};
  entry.ino = reply.nodeid;
  BackingFiles* const backing = context.backing;
  if (backing != nullptr && backing->TellsNewInode(reply.nodeid)) {
    entry.generation = 1;
  }
  entry.attr = reply.attributes;
  entry.entry_timeout = reply.entry_seconds;
  entry.attr_timeout = reply.attribute_seconds;
  return entry;
}

void ReplyEntry(fuse_req_t req, const absl::StatusOr<NodeReply>& reply) {
  if (!reply.ok()) return ReplyError(req, "lookup", reply.status());
  const fuse_entry_param entry = EntryParam(Context(req), *reply);
  fuse_reply_entry(req, &entry);
}

void ReplyAttributes(fuse_req_t req, const absl::StatusOr<NodeReply>& reply) {
  if (!reply.ok()) return ReplyError(req, "attributes", reply.status());
  fuse_reply_attr(req, &reply->attributes, reply->attribute_seconds);
}

bool ReplyOpen(fuse_req_t req, const absl::StatusOr<OpenReply>& reply,
               const absl::StatusOr<BackingFiles::Opened>& opened) {
  if (!reply.ok() || !opened.ok()) {
    ReplyError(req, "open", reply.ok() ? opened.status() : reply.status());
    return true;
  }
  const bool stale = reply->stale || opened->stale;
  if (stale || reply->unseen) {
    fuse_reply_err(req, stale ? ESTALE : ENOSYS);
    return true;
  }
  if (opened->backing_id != 0) {
    Context(req).metrics->Add(Counter::kBackedOpens);
    Context(req).metrics->Add(Counter::kBackedBytes, reply->bytes);
    const auto answer = BackedOpenAnswer(opened->handle, opened->backing_id);
    return fuse_reply_buf(req, answer.data(), answer.size()) == 0;
  }
  fuse_file_info info = {};
  info.keep_cache = reply->keep_cache;
  info.noflush = 1;
  if (reply->writes) {
    info.direct_io = 1;
    info.fh = kWritesDirectly;
  }
  return fuse_reply_open(req, &info) == 0;
}

void ReplyAttributesWhenSized(fuse_req_t req, absl::StatusOr<NodeReply> reply) {
  if (!reply.ok() || reply->sized_by == nullptr) {
    return ReplyAttributes(req, reply);
  }
  // Summing up an order takes a while, and other requests come meanwhile.
  Context(req).let_others_serve();
  const std::shared_ptr<RecordEpoch> records = reply->sized_by;
  records->WhenSized(
      Filesystem::FileOf(reply->nodeid),
      [req, known = *std::move(reply)](absl::StatusOr<uint64_t> bytes) mutable {
        if (!bytes.ok()) return ReplyAttributes(req, bytes.status());
        SetSize(*bytes, known.attributes);
        known.attribute_seconds = known.rights_seconds;
        ReplyAttributes(req, known);
      });
}

Timer::Timer(fuse_req_t req, Latency latency, Counter counter)
    : metrics_(*Context(req).metrics),
      latency_(latency),
      start_(std::chrono::steady_clock::now()) {
  metrics_.Add(counter);
}

Timer::~Timer() {
  metrics_.Observe(latency_, std::chrono::steady_clock::now() - start_);
}

ContentProvider::ReadDone ReplyBytesLater(fuse_req_t req,
                                          std::shared_ptr<Timer> timer) {
  return [req, timer = std::move(timer)](
             absl::StatusOr<absl::Span<const iovec>> bytes) {
    // libfuse frees a request also if the kernel refuses its reply. Its reader
    // would wait for ever.
    if (bytes.ok() && bytes->size() >= IOV_MAX) {
      bytes = absl::InternalError("a reply of too many pieces");
    }
    if (!bytes.ok()) return ReplyError(req, "read", bytes.status());
    uint64_t count = 0;
    for (const iovec& piece : *bytes) count += piece.iov_len;
    Context(req).metrics->Add(Counter::kServedBytes, count);
    fuse_reply_iov(req, bytes->data(), static_cast<int>(bytes->size()));
  };
}

}  // namespace shufflefs
