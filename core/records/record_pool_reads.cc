// SPDX-License-Identifier: Apache-2.0
// How parts of shuffled container files come from the source, and go to
// readers.
#include <algorithm>
#include <utility>

#include "core/io/file_reader.h"
#include "core/records/record_pool.h"

namespace shufflefs {

void RecordPool::Plan(const std::shared_ptr<Held>& held, bool urgent) {
  PlanOne(*held);
  Queue(held, urgent);
  OneLess(held, absl::OkStatus());
}

void RecordPool::PlanOne(Held& held) {
  const uint64_t file = held.file->id;
  held.plan = held.file->content->PlanSeams(
      held.part, [this, file](uint64_t from, uint64_t bytes) {
        return seams_.Take(file, from, bytes);
      });
  if (held.plan.kept.empty()) return;
  const uint64_t behind = Arena::Footprint(held.plan.bytes);
  held.kept = pool_->Allocate(held.plan.kept_end - behind);
  if (held.kept != nullptr) {
    held.bytes_at.Append(held.kept->pieces());
    return;
  }
  // Whoever wants them reads them again.
  held.plan.kept.clear();
  std::erase_if(held.plan.copies,
                [behind](const PartCopy& copy) { return copy.to >= behind; });
  std::erase_if(held.plan.newlines,
                [behind](uint64_t at) { return at >= behind; });
}

void RecordPool::KeepSeams(const Held& held, const PartPlan& plan) {
  for (const PartCopy& piece : plan.kept) {
    seams_.Keep(held.file->id, piece.from,
                held.bytes_at.Read(piece.to, piece.bytes));
  }
}

void RecordPool::Answer(const std::shared_ptr<Request>& request) {
  absl::Status status;
  std::vector<iovec> range;
  uint64_t at = request->offset;
  const uint64_t end = request->offset + request->length;
  for (const Piece& piece : request->pieces) {
    const Held& held = *piece.held;
    status.Update(held.status);
    const uint64_t take = std::min(piece.begin + held.bytes, end) - at;
    const std::vector<iovec> bytes =
        held.bytes_at.Range(at - piece.begin, take);
    range.insert(range.end(), bytes.begin(), bytes.end());
    at += take;
  }
  if (status.ok()) {
    request->done(absl::Span<const iovec>(range));
  } else {
    request->done(status);
  }
  if (request->waited && stall_ != nullptr) stall_->Leave();
  NoteDelivered(*request);
}

void RecordPool::NoteDelivered(const Request& request) {
  const uint64_t end = request.offset + request.length;
  MutexLock lock(mu_);
  for (const Piece& piece : request.pieces) {
    Held& held = *piece.held;
    if (held.file == nullptr) continue;
    held.delivered += std::min(piece.begin + held.bytes, end) -
                      std::max(piece.begin, request.offset);
    // The kernel keeps it.
    if (held.delivered >= held.bytes) Drop(held);
  }
}

void RecordPool::Queue(const std::shared_ptr<Held>& held, bool urgent) {
  LayOutNewlines(held->plan, held->bytes_at);
  LayOutLiterals(held->plan, held->bytes_at);
  const std::vector<PartRead> reads =
      PlanPartReads(held->plan, PartReadLimits());
  {
    MutexLock lock(mu_);
    held->reads_left += reads.size();
    for (const PartRead& read : reads) {
      (urgent ? urgent_ : queue_).push_back(Fetch{held, read});
    }
  }
  Pump();
}

void RecordPool::Pump() {
  {
    MutexLock lock(mu_);
    if (pumping_) return;  // that thread looks again before it ends
    pumping_ = true;
  }
  for (;;) {
    std::vector<FilePiece> pieces;
    {
      MutexLock lock(mu_);
      while (!urgent_.empty() || !queue_.empty()) {
        std::deque<Fetch>& queue = urgent_.empty() ? queue_ : urgent_;
        const PartRead read = queue.front().read;
        std::shared_ptr<MemoryBlock> staging = staging_->Allocate(read.length);
        // When there is none, the read that ends next goes on from here.
        if (staging == nullptr) break;
        FilePiece piece;
        piece.file = queue.front().held->source->source(read.file);
        piece.offset = read.offset;
        piece.length = read.length;
        piece.into = staging->pieces();
        piece.done = [self = shared_from_this(), held = queue.front().held,
                      read, staging](const absl::Status& status) mutable {
          self->Arrived(held, read, std::move(staging), status);
        };
        pieces.push_back(std::move(piece));
        queue.pop_front();
      }
      if (pieces.empty()) {
        pumping_ = false;
        return;
      }
    }
    source_->Fetch(std::move(pieces));
  }
}

void RecordPool::Arrived(const std::shared_ptr<Held>& held,
                         const PartRead& read,
                         std::shared_ptr<MemoryBlock> staging,
                         const absl::Status& status) {
  if (status.ok()) {
    LayOut(held->plan, read, PagedBytes(staging->pieces()), held->bytes_at);
  }
  staging.reset();
  Pump();
  OneLess(held, status);
}

void RecordPool::OneLess(const std::shared_ptr<Held>& held,
                         const absl::Status& status) {
  std::vector<std::shared_ptr<Request>> answered;
  PartPlan planned;
  std::shared_ptr<MemoryBlock> kept;
  bool was_alone = false;
  {
    MutexLock lock(mu_);
    held->status.Update(status);
    if (--held->reads_left > 0) return;
    held->here = true;
    kept = std::move(held->kept);
    was_alone = held->file == nullptr;
    planned = std::move(held->plan);  // it may be as large as the part
    if (!was_alone && !held->status.ok()) {
      Drop(*held);  // the next reader has it tried again
    } else if (!was_alone && IsFound(*held)) {
      ages_.insert(AgeOf(*held));
    }
    for (std::shared_ptr<Request>& request : held->waiters) {
      if (--request->missing == 0) answered.push_back(std::move(request));
    }
    held->waiters.clear();
  }
  if (kept != nullptr && held->status.ok()) KeepSeams(*held, planned);
  for (const std::shared_ptr<Request>& request : answered) {
    Answer(request);
    request->pieces.clear();  // a lone read's memory, with the last of these
  }
  answered.clear();
  if (was_alone) {
    held->memory.reset();
    PumpAlone();
  }
}

}  // namespace shufflefs
