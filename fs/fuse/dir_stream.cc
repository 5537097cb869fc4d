// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/dir_stream.h"

#include <limits.h>

#include <algorithm>
#include <utility>

#include "fs/fuse/fuse_reply.h"

namespace shufflefs {
namespace {

// Entries that are fetched together, so that their cache misses overlap.
constexpr size_t kBatch = 64;
constexpr size_t kBatchBytes = kBatch * (sizeof(DirEntry) + NAME_MAX);

// Appends one entry. Returns its size, which exceeds `room` if it did not fit.
size_t AddEntry(FuseContext& context, absl::Span<char> room,
                const DirEntry& entry, const DirStream::Piece& at) {
  struct stat st = {};
  st.st_ino = entry.ino;
  st.st_mode = entry.type;
  // libfuse packs the entry without using the request.
  if (!at.plus) {
    return fuse_add_direntry(nullptr, room.data(), room.size(),
                             entry.name.c_str(), &st,
                             static_cast<off_t>(at.offset + 1));
  }
  fuse_entry_param param = {};
  param.attr = st;
  if (entry.nodeid != 0) {
    const absl::StatusOr<NodeReply> found =
        context.filesystem->GetAttributes(entry.nodeid);
    if (found.ok()) {
      param = EntryParam(context, *found);
      param.entry_timeout = kForLife;
    }
  }
  return fuse_add_direntry_plus(nullptr, room.data(), room.size(),
                                entry.name.c_str(), &param,
                                static_cast<off_t>(at.offset + 1));
}

}  // namespace

DirStream::DirStream(std::unique_ptr<const DirHandle> dir,
                     std::shared_ptr<AheadMemory> ahead)
    : dir_(std::move(dir)), ahead_(std::move(ahead)) {}

DirStream::~DirStream() {
  MutexLock lock(mu_);
  DropBuffers();
}

void DirStream::Reply(fuse_req_t req, const Piece& piece) {
  FuseContext& context = Context(req);
  MutexLock lock(mu_);
  if (piece != made_) Make(context, piece);
  fuse_reply_buf(req, buffer_.data(), used_);
  // Nodeids are those of this moment. So pieces with nodeids are not made
  // before they are requested.
  const bool more = !at_end_ && !piece.plus;
  made_ = Piece();
  if (at_end_) DropBuffers();
  if (at_end_ || !KeepBuffers() || !more) return;
  context.let_others_serve();
  Make(context, Piece{piece.bytes, next_, false});
}

bool DirStream::KeepBuffers() {
  const size_t bytes = buffer_.size() + kBatchBytes;
  if (bytes > kept_ && !ahead_->Take(bytes - kept_)) {
    DropBuffers();
    return false;
  }
  kept_ = std::max(kept_, bytes);
  return true;
}

void DirStream::DropBuffers() {
  std::vector<char>().swap(buffer_);  // `= {}` would keep its memory
  std::vector<DirEntry>().swap(batch_);
  batch_size_ = 0;
  ahead_->Give(kept_);
  kept_ = 0;
}

void DirStream::Make(FuseContext& context, const Piece& piece) {
  if (buffer_.size() < piece.bytes) buffer_.resize(piece.bytes);
  Piece at = piece;
  used_ = 0;
  at_end_ = false;
  for (;; ++at.offset) {
    const DirEntry* entry = At(at.offset);
    at_end_ = entry == nullptr;
    if (at_end_) break;
    if (entry->name.empty()) continue;
    const absl::Span<char> room =
        absl::MakeSpan(buffer_).subspan(used_, piece.bytes - used_);
    const size_t size = AddEntry(context, room, *entry, at);
    if (size > room.size()) break;
    used_ += size;
  }
  next_ = at.offset;
  made_ = piece;
}

const DirEntry* DirStream::At(uint64_t offset) {
  if (offset < batch_offset_ || offset >= batch_offset_ + batch_size_) {
    if (batch_.empty()) batch_.resize(kBatch);
    batch_offset_ = offset;
    batch_size_ = dir_->GetBatch(offset, absl::MakeSpan(batch_));
    if (batch_size_ == 0) return nullptr;
  }
  return &batch_[offset - batch_offset_];
}

}  // namespace shufflefs
