// SPDX-License-Identifier: Apache-2.0
// How RecordProducer reads parts of shuffled container files from the source
// and delivers them to readers, and how it reads what bypasses the memory of
// parts.
#include <algorithm>
#include <utility>

#include "core/io/file_reader.h"
#include "core/records/content/record_producer.h"

namespace shufflefs {
namespace {

// A part is gathered if this takes at most a quarter more memory.
constexpr uint64_t kMostBesides = 4;
// The most bytes of reads into such parts that may be under way. So the first
// bytes of a part that a reader waits for do not wait for the whole prefetch.
constexpr uint64_t kMostGathering = uint64_t{4} << 20;

// Returns whether a part of so many bytes is gathered if this needs `needed`.
bool PaysToGather(uint64_t needed, uint64_t bytes) {
  return needed <= Arena::Footprint(bytes) + bytes / kMostBesides &&
         needed <= GatherList::kMostBytes;
}

// Leaves of a plan only what lies before `part_end`.
void DropKept(PartPlan& plan, uint64_t part_end) {
  plan.kept.clear();
  std::erase_if(plan.copies, [part_end](const PartCopy& copy) {
    return copy.to >= part_end;
  });
  std::erase_if(plan.newlines,
                [part_end](uint64_t at) { return at >= part_end; });
}

}  // namespace

void RecordProducer::Plan(const std::shared_ptr<Held>& held, bool urgent) {
  const std::vector<PartRead> reads = PlanOne(*held);
  Queue(held, reads, urgent);
  OneLess(held, absl::OkStatus());
}

std::vector<PartRead> RecordProducer::PlanOne(Held& held) {
  const uint64_t file = held.file->id;
  held.plan = held.file->content->PlanSeams(
      held.part, [this, file](uint64_t from, uint64_t bytes) {
        return straddling_.Take(file, from, bytes);
      });
  std::vector<PartRead> reads = PlanPartReads(held.plan, PartReadLimits());
  if (Gathers(held, reads)) return reads;
  if (!AppendKept(held)) reads = PlanPartReads(held.plan, PartReadLimits());
  LayOutNewlines(held.plan, held.bytes_at);
  LayOutLiterals(held.plan, held.bytes_at);
  return reads;
}

bool RecordProducer::Gathers(Held& held, const std::vector<PartRead>& reads) {
  const uint64_t needed = GatherList::Footprint(held.plan, reads);
  const uint64_t has = Arena::Footprint(held.length);
  if (reads.empty() || !PaysToGather(needed, held.length)) return false;
  if (needed > has) {
    held.behind = pool_->Allocate(needed - has);
    if (held.behind == nullptr) return false;
    held.bytes_at.Append(held.behind->pieces());
  }
  held.gathered = std::make_unique<GatherList>(held.plan, reads, held.bytes_at);
  return true;
}

bool RecordProducer::AppendKept(Held& held) {
  if (held.plan.kept.empty()) return true;
  const uint64_t part_end = Arena::Footprint(held.plan.bytes);
  held.behind = pool_->Allocate(held.plan.kept_end - part_end);
  if (held.behind != nullptr) {
    held.bytes_at.Append(held.behind->pieces());
    return true;
  }
  // The reader that needs them reads them again.
  DropKept(held.plan, part_end);
  return false;
}

void RecordProducer::KeepStraddling(const Held& held, const PartPlan& plan) {
  if (plan.kept.empty()) return;
  for (const PartCopy& piece : plan.kept) {
    straddling_.Keep(held.file->id, piece.from,
                     held.bytes_at.Read(piece.to, piece.bytes));
  }
  // The file was forgotten after the part was begun. Nobody asks for these
  // pieces.
  if (held.file->forgotten) straddling_.Forget({held.file->id});
}

void RecordProducer::Answer(const std::shared_ptr<Request>& request) {
  absl::Status status;
  GivenBytes given;
  uint64_t at = request->offset;
  const uint64_t end = request->offset + request->length;
  for (const Piece& piece : request->pieces) {
    const Held& held = *piece.held;
    status.Update(held.status);
    if (!status.ok()) break;
    const uint64_t take = std::min(piece.begin + held.length, end) - at;
    if (held.gathered != nullptr) {
      held.gathered->Give(at - piece.begin, take, given);
    } else {
      const std::vector<iovec> bytes =
          held.bytes_at.Range(at - piece.begin, take);
      given.range.insert(given.range.end(), bytes.begin(), bytes.end());
    }
    at += take;
  }
  // A read may span any number of small parts.
  given.Bound();
  if (status.ok()) {
    request->done(absl::Span<const iovec>(given.range));
  } else {
    request->done(status);
  }
  if (request->waited && stall_ != nullptr) stall_->Leave();
  NoteDelivered(*request);
}

void RecordProducer::NoteDelivered(const Request& request) {
  const uint64_t end = request.offset + request.length;
  MutexLock lock(mu_);
  for (const Piece& piece : request.pieces) {
    Held& held = *piece.held;
    if (held.file == nullptr) continue;
    const uint64_t bytes = std::min(piece.begin + held.length, end) -
                           std::max(piece.begin, request.offset);
    // The kernel keeps these bytes.
    if (held.Deliver(bytes)) Drop(held);
  }
}

void RecordProducer::Queue(const std::shared_ptr<Held>& held,
                           const std::vector<PartRead>& reads, bool urgent) {
  {
    MutexLock lock(mu_);
    held->reads_left += reads.size();
  }
  // Reads of a lane that follow each other wait side by side.
  for (size_t k = 0; k < reads.size();) {
    const size_t lane = LaneOf(*held, reads[k]);
    std::vector<Fetch> fetches;
    for (; k < reads.size() && LaneOf(*held, reads[k]) == lane; ++k) {
      Fetch& fetch = fetches.emplace_back(Fetch{held, reads[k]});
      if (held->gathered != nullptr) fetch.to = held->gathered->ReadBegin(k);
    }
    fetcher_.Add(lane, fetches, urgent);
  }
  fetcher_.Pump();
}

bool RecordProducer::TakeRoom(size_t lane, Fetch& fetch) {
  if (fetch.held->gathered == nullptr) {
    fetch.staging = shares_.staging[lane]->Allocate(fetch.read.length);
    return fetch.staging != nullptr;
  }
  // Only this adds to it, one thread at a time.
  if (gathering_[lane] >= kMostGathering) return false;
  gathering_[lane] += fetch.read.length;
  return true;
}

void RecordProducer::Send(std::vector<Fetch> fetches) {
  std::vector<FilePiece> pieces;
  pieces.reserve(fetches.size());
  for (Fetch& fetch : fetches) {
    FilePiece& piece = pieces.emplace_back();
    piece.into = fetch.staging != nullptr
                     ? fetch.staging->pieces()
                     : fetch.held->bytes_at.Range(
                           fetch.to, Arena::Footprint(fetch.read.length));
    piece.file = fetch.held->source->source(fetch.read.file);
    piece.offset = fetch.read.offset;
    piece.length = fetch.read.length;
    piece.done = [self = shared_from_this(), fetch = std::move(fetch)](
                     const absl::Status& status) mutable {
      self->Arrived(fetch, status);
    };
  }
  source_->Fetch(std::move(pieces));
}

void RecordProducer::Arrived(Fetch& fetch, const absl::Status& status) {
  const std::shared_ptr<Held>& held = fetch.held;
  if (fetch.staging == nullptr) {
    gathering_[LaneOf(*held, fetch.read)] -= fetch.read.length;
  } else if (status.ok()) {
    LayOut(held->plan, fetch.read, IoBuf(fetch.staging->pieces()),
           held->bytes_at);
  }
  fetch.staging.reset();
  fetcher_.Pump();
  OneLess(held, status);
}

void RecordProducer::OneLess(const std::shared_ptr<Held>& held,
                             const absl::Status& status) {
  std::vector<std::shared_ptr<Request>> waiters;
  std::vector<std::shared_ptr<Request>> answered;
  PartPlan planned;
  std::shared_ptr<MemoryBlock> kept;  // `planned` describes it
  bool was_alone = false;
  {
    MutexLock lock(mu_);
    held->status.Update(status);
    if (--held->reads_left > 0) return;
    waiters = held->Arrive();
    if (held->gathered == nullptr) kept = std::move(held->behind);
    was_alone = held->file == nullptr;
    planned = std::move(held->plan);  // it may be as large as the part
    if (!was_alone && !held->status.ok()) {
      Drop(*held);  // the next reader tries it again
    } else if (!was_alone && held_.Is(KeyOf(*held), *held)) {
      ages_.Add(AgeOf(*held));
    }
    for (std::shared_ptr<Request>& request : waiters) {
      if (--request->missing == 0) answered.push_back(std::move(request));
    }
  }
  if (held->status.ok()) KeepStraddling(*held, planned);
  kept.reset();
  for (const std::shared_ptr<Request>& request : answered) {
    Answer(request);
    request->pieces.clear();  // the last one frees a lone read's memory
  }
  answered.clear();
  if (was_alone) {
    held->memory.reset();
    alone_.Pump();
  }
}

void RecordProducer::ReadAlone(const std::shared_ptr<Request>& request) {
  Alone alone{request};
  alone_.Add(shares_.SpareOf(LaneOf(request->file->file)), alone,
             /*urgent=*/true);
  alone_.Pump();
}

void RecordProducer::BeginAlone(Alone alone) {
  auto held = std::make_shared<Held>();
  const Request& request = *alone.request;
  held->memory = std::move(alone.memory);
  held->source = request.file;
  held->length = request.length;
  held->bytes_at = IoBuf(held->memory->pieces());
  held->reads_left = 1;  // the planning
  alone.request->missing = 1;
  alone.request->pieces.push_back({request.offset, held});
  // It waits until OneLess below.
  held->waiters.push_back(std::move(alone.request));
  held->plan = plans_.OfRange(request.file->id, *request.file->content,
                              request.offset, request.length);
  LayOutNewlines(held->plan, held->bytes_at);
  LayOutLiterals(held->plan, held->bytes_at);
  Queue(held, PlanPartReads(held->plan, PartReadLimits()), /*urgent=*/true);
  OneLess(held, absl::OkStatus());
}

}  // namespace shufflefs
