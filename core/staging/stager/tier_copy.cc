// SPDX-License-Identifier: Apache-2.0
#include "core/staging/stager/tier_copy.h"

#include <errno.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/status.h"
#include "core/staging/tier/tier_writer.h"

namespace shufflefs {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
// Checks again after this time whether readers are quiet.
constexpr std::chrono::milliseconds kLook(50);

absl::string_view BytesOf(absl::Span<const char> bytes) {
  return absl::string_view(bytes.data(), bytes.size());
}

}  // namespace

absl::StatusOr<TierCopy::Outcome> TierCopy::Copy(TierDir& dir,
                                                 const TierRanges& ranges,
                                                 bool ahead) {
  Run run{.dir = dir, .ranges = ranges, .ahead = ahead, .pending = {}};
  counted_ = Now();
  TierBatches& batches = reads_->batches();
  bool cut = false;
  absl::Status status = TakeBrought(run);
  while (status.ok() && !Cut()) {
    const bool more = run.at < ranges.size() && !run.full && !cut;
    if (!more && !run.pending) break;
    const bool large = more && IsLarge(run);
    const int batch = NextBatch(run);
    absl::Status filled;
    if (more && !large) filled = Fill(run, batch);
    status = WritePending(run);
    if (status.ok()) status = std::move(filled);
    if (status.ok() && large) {
      status = WriteOpen(run);
      if (status.ok() && !Cut()) status = CopyLarge(run, ranges[run.at]);
    } else if (status.ok() && more) {
      OpenBeside(batch);
      if (!Drain(batch)) break;
      status = SetPending(run, batch);
    }
    cut = cut || options_.interrupted();
  }
  if (status.ok()) status = WriteOpen(run);
  if (Cut()) {
    // Reads into the batches may be under way. Whoever waits for them gets
    // them.
    for (int i = 0; i < batches.count(); ++i) batches.Shut(i);
    return Outcome::kCut;
  }
  if (!status.ok()) {
    for (int i = 0; i < batches.count(); ++i) {
      if (!Drop(i)) return Outcome::kCut;
    }
    return status;
  }
  if (run.full) return Outcome::kFull;
  return run.at < ranges.size() ? Outcome::kCut : Outcome::kDone;
}

void TierCopy::OpenForReaders() { OpenBeside(-1); }

// Only one batch at a time is filled by copying; what readers want meanwhile
// goes into the others. Whether the tier has room for it is checked when it is
// written.
void TierCopy::OpenBeside(int batch) {
  TierBatches& batches = reads_->batches();
  for (int i = 0; i < batches.count(); ++i) {
    if (i != batch && batches.IsEmpty(i)) {
      batches.Open(i, batches.batch_bytes());
    }
  }
}

int TierCopy::NextBatch(const Run& run) const {
  const TierBatches& batches = reads_->batches();
  int next = -1;
  for (int i = 0; i < batches.count(); ++i) {
    if (i == run.pending) continue;
    if (next < 0 || !batches.IsEmpty(i)) next = i;
    if (!batches.IsEmpty(i)) break;
  }
  return next;
}

absl::Status TierCopy::TakeBrought(Run& run) {
  // While nothing came, the batches stay open, and Fill continues with one.
  // Before a large range, WriteOpen writes them.
  const int batch = NextBatch(run);
  if (IsLarge(run) || reads_->batches().IsEmpty(batch)) return absl::OkStatus();
  return SetPending(run, batch);
}

absl::Status TierCopy::SetPending(Run& run, int batch) {
  const uint64_t used = reads_->batches().Shut(batch);
  if (used == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool fits, Fits(run, used));
  if (fits) {
    run.pending = batch;
    run.pending_bytes =
        used + TierTailBytes(used / kTierPage, used / kTierPage);
  } else {
    (void)Drop(batch);
  }
  return absl::OkStatus();
}

absl::Status TierCopy::WriteOpen(Run& run) {
  for (int i = 0; i < reads_->batches().count(); ++i) {
    RETURN_IF_ERROR(SetPending(run, i));
    RETURN_IF_ERROR(WritePending(run));
  }
  return absl::OkStatus();
}

// Forgets what is in the batch and not written. Returns false once stopped.
bool TierCopy::Drop(int batch) {
  TierBatches& batches = reads_->batches();
  batches.Shut(batch);
  if (!Drain(batch)) return false;
  (void)batches.Close(batch);
  batches.Release(batch);
  return true;
}

absl::StatusOr<bool> TierCopy::Fits(Run& run, uint64_t bytes) {
  RETURN_IF_ERROR(MakeRoom(run, bytes));
  ASSIGN_OR_RETURN(const uint64_t room, Room(run));
  return bytes <= room;
}

absl::Status TierCopy::MakeRoom(Run& run, uint64_t bytes) {
  while (!pending_deletes_.empty()) {
    ASSIGN_OR_RETURN(const uint64_t room, Room(run));
    if (room >= bytes) break;
    RETURN_IF_ERROR(pending_deletes_.RemoveOne(run.dir));
  }
  return absl::OkStatus();
}

bool TierCopy::IsLarge(const Run& run) const {
  return run.at < run.ranges.size() && TierRoundUp(run.ranges[run.at].length) >
                                           reads_->batches().batch_bytes();
}

absl::StatusOr<uint64_t> TierCopy::Room(Run& run) const {
  const uint64_t used = reads_->store().bytes() + pending_deletes_.bytes() +
                        (run.pending ? run.pending_bytes : 0);
  const uint64_t room = options_.capacity - std::min(used, options_.capacity);
  ASSIGN_OR_RETURN(uint64_t free, run.dir.FreeBytes());
  free -= std::min(free, run.pending ? run.pending_bytes : 0);
  run.device_is_short = free < room;
  const uint64_t left = std::min(room, free);
  // Subtracts the room of a table: at most 40 bytes per page, and its ends.
  return left - std::min(left / 64 + 2 * kTierPage, left);
}

absl::Status TierCopy::NoRoom(Run& run) const {
  run.full = true;
  return run.device_is_short ? ErrnoStatus(ENOSPC, "what fits is used")
                             : absl::OkStatus();
}

absl::Status TierCopy::Fill(Run& run, int batch) {
  TierBatches& batches = reads_->batches();
  RETURN_IF_ERROR(MakeRoom(run, batches.batch_bytes()));
  ASSIGN_OR_RETURN(const uint64_t room, Room(run));
  batches.Open(batch, room);
  bool any = false;
  for (bool more = true; more && run.at < run.ranges.size();) {
    Rest(run.ahead);
    if (Cut()) return absl::OkStatus();
    const Clock::time_point begun = Now();
    const uint64_t step = pace_.StepBytes(begun, run.ahead);
    std::vector<StagedRange> ranges;
    std::vector<TierBatches::Place> places;
    uint64_t bytes = 0;
    while (run.at < run.ranges.size() && (bytes == 0 || bytes < step)) {
      const StagedRange range = run.ranges[run.at];
      if (reads_->store().Has(range)) {  // in a part that was just written
        ++run.at;
        continue;
      }
      TierBatches::Place place;
      const auto reserved = batches.Reserve(batch, range, place);
      if (reserved == TierBatches::Reserved::kFull) {
        // The batch being written may leave less room than expected, and what
        // readers brought is written first.
        if (!any && !run.pending && batches.IsEmpty(batch)) return NoRoom(run);
        more = false;
        break;
      }
      ++run.at;
      if (reserved == TierBatches::Reserved::kElsewhere) continue;
      any = true;
      ranges.push_back(range);
      places.push_back(place);
      bytes += range.length;
    }
    Begin(batch, ranges, places);
    if (step == kNoLimit) return absl::OkStatus();
    if (!Drain(batch)) return absl::OkStatus();
    pace_.Stepped(begun, Now(), bytes);
  }
  return absl::OkStatus();
}

void TierCopy::Begin(int batch, const std::vector<StagedRange>& ranges,
                     const std::vector<TierBatches::Place>& places) {
  std::vector<FilePiece> pieces;
  for (size_t i = 0; i < ranges.size(); ++i) {
    FilePiece piece;
    piece.file = ranges[i].file;
    piece.offset = ranges[i].from;
    piece.length = ranges[i].length;
    piece.into = {iovec{places[i].memory, TierRoundUp(piece.length)}};
    piece.done = [reads = reads_, batch,
                  slot = places[i].slot](const absl::Status& status) {
      reads->batches().Arrived(batch, slot, status);
    };
    pieces.push_back(std::move(piece));
  }
  if (!pieces.empty()) reads_->source().Fetch(std::move(pieces));
}

bool TierCopy::Drain(int batch) {
  return reads_->batches().Drained(
      batch, [&signal = reads_->signal()] { return signal.stopped(); });
}

absl::Status TierCopy::WritePending(Run& run) {
  if (!run.pending) return absl::OkStatus();
  const int batch = *run.pending;
  if (!Drain(batch)) return absl::OkStatus();
  run.pending.reset();
  const absl::Status status = WriteBatch(run, batch);
  reads_->batches().Release(batch);
  return status;
}

absl::Status TierCopy::WriteBatch(Run& run, int batch) {
  TierBatches& batches = reads_->batches();
  const absl::Span<char> memory = batches.memory(batch);
  TierTable table;
  table.state = reads_->catalogue().state();
  uint64_t end = 0;
  uint64_t copied = 0;
  uint64_t captured = 0;
  for (const TierBatches::Content& content : batches.Close(batch)) {
    const StagedRange& range = content.range;
    if (!content.here) {
      unreadable_.insert(range);
      continue;
    }
    const uint64_t behind = content.offset + range.length;
    AppendTierChecks(BytesOf(memory.subspan(content.offset, range.length)),
                     table.checks);
    std::memset(memory.data() + behind, 0, TierRoundUp(behind) - behind);
    table.ranges.push_back({range, content.offset});
    end = TierRoundUp(behind);
    (content.captured ? captured : copied) += range.length;
  }
  if (table.ranges.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(TierWriter writer,
                   TierWriter::Create(&run.dir, {end, table.ranges.size(),
                                                 table.checks.size()}));
  RETURN_IF_ERROR(Write(run.dir, writer, memory.subspan(0, end), run.ahead));
  RETURN_IF_ERROR(
      Publish(writer, table,
              end + TierTailBytes(table.ranges.size(), table.checks.size())));
  Count(copied, captured);
  return absl::OkStatus();
}

absl::Status TierCopy::Write(TierDir&, TierWriter& writer,
                             absl::Span<const char> bytes, bool ahead) {
  while (!bytes.empty()) {
    Rest(ahead);
    const Clock::time_point begun = Now();
    const uint64_t gentle =
        pace_.GivesWay(begun, ahead) ? TierPace::kGentleBytes : bytes.size();
    const auto now = bytes.subspan(0, gentle);
    RETURN_IF_ERROR(writer.Append(now));
    bytes.remove_prefix(now.size());
    pace_.Stepped(begun, Now(), 0);
  }
  return absl::OkStatus();
}

absl::Status TierCopy::Publish(TierWriter& writer, const TierTable& table,
                               uint64_t bytes) {
  ASSIGN_OR_RETURN(const uint64_t id, writer.Finish(table));
  auto part = StagedPart::Of(id, bytes, table, reads_->catalogue());
  if (part == nullptr) return absl::InternalError("a part of no catalogue");
  reads_->store().Add(std::move(part));
  return absl::OkStatus();
}

void TierCopy::Rest(bool ahead) {
  while (!Cut()) {
    const Clock::time_point now = Now();
    if (options_.foreground_reads != nullptr) {
      pace_.Foreground(now, options_.foreground_reads());
    }
    const auto wait =
        std::chrono::ceil<std::chrono::milliseconds>(pace_.Wait(now, ahead));
    if (wait.count() <= 0) return;
    reads_->signal().Sleep(std::min(wait, kLook));
  }
}

void TierCopy::Count(uint64_t copied, uint64_t captured) {
  copied_.fetch_add(copied);
  captured_.fetch_add(captured);
  const Clock::time_point now = Now();
  const std::chrono::duration<double> took = now - counted_;
  counted_ = now;
  if (took.count() <= 0) return;
  const double rate = static_cast<double>(copied) / took.count();
  const double before = rate_.load();
  rate_.store(before == 0 ? rate : 0.7 * before + 0.3 * rate);
}

}  // namespace shufflefs
