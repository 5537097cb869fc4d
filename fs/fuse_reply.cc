// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse_reply.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fs/errno_map.h"

namespace shufflefs {
namespace {

fuse_entry_param EntryParam(const NodeReply& reply) {
  fuse_entry_param entry = {};
  entry.ino = reply.nodeid;
  entry.attr = reply.attributes;
  entry.entry_timeout = reply.entry_seconds;
  entry.attr_timeout = reply.attribute_seconds;
  return entry;
}

// Appends one entry; returns its size, which exceeds `room` if it did not fit.
size_t AddEntry(fuse_req_t req, char* at, size_t room, const DirEntry& entry,
                const DirRequest& request) {
  struct stat st = {};
  st.st_ino = entry.ino;
  st.st_mode = entry.type;
  if (!request.plus) {
    return fuse_add_direntry(req, at, room, entry.name.c_str(), &st,
                             request.offset + 1);
  }
  fuse_entry_param param = {};
  param.attr = st;
  if (entry.nodeid != 0) {
    const absl::StatusOr<NodeReply> found =
        Context(req).filesystem->GetAttributes(entry.nodeid);
    if (found.ok()) {
      param = EntryParam(*found);
      param.entry_timeout = kForLife;
    }
  }
  return fuse_add_direntry_plus(req, at, room, entry.name.c_str(), &param,
                                request.offset + 1);
}

}  // namespace

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

void ReplyEntry(fuse_req_t req, const absl::StatusOr<NodeReply>& reply) {
  if (!reply.ok()) return ReplyError(req, "lookup", reply.status());
  const fuse_entry_param entry = EntryParam(*reply);
  fuse_reply_entry(req, &entry);
}

void ReplyAttributes(fuse_req_t req, const absl::StatusOr<NodeReply>& reply) {
  if (!reply.ok()) return ReplyError(req, "attributes", reply.status());
  fuse_reply_attr(req, &reply->attributes, reply->attribute_seconds);
}

void ReplyDirectory(fuse_req_t req, const DirHandle& dir,
                    const DirRequest& request) {
  thread_local std::vector<char> buffer;
  if (buffer.size() < request.bytes) buffer.resize(request.bytes);
  thread_local DirEntry entry;
  DirRequest at = request;
  size_t used = 0;
  for (; dir.Get(at.offset, entry); ++at.offset) {
    if (entry.name.empty()) continue;
    const size_t room = request.bytes - used;
    const size_t size =
        AddEntry(req, buffer.data() + used, room, entry, at);
    if (size > room) break;
    used += size;
  }
  fuse_reply_buf(req, buffer.data(), used);
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

}  // namespace shufflefs
