// SPDX-License-Identifier: Apache-2.0
// Copies a range that is larger than a batch.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/staging/stager/tier_copy.h"
#include "core/staging/tier/tier_writer.h"

namespace shufflefs {

// A read of a piece of the range, under way.
struct TierCopy::LargeRead {
  std::atomic<int> ended{0};
  absl::Status status;  // constant once ended
};

std::shared_ptr<TierCopy::LargeRead> TierCopy::BeginLarge(EntryId file,
                                                          int batch,
                                                          uint64_t offset,
                                                          uint64_t length) {
  auto read = std::make_shared<LargeRead>();
  FilePiece piece;
  piece.file = file;
  piece.offset = offset;
  piece.length = length;
  piece.into = {
      iovec{reads_->batches().memory(batch).data(), TierRoundUp(length)}};
  piece.done = [reads = reads_, read](absl::Status status) {
    read->status = std::move(status);
    read->ended.store(1);
    reads->signal().Notify();
  };
  std::vector<FilePiece> pieces;
  pieces.push_back(std::move(piece));
  reads_->source().Fetch(std::move(pieces));
  return read;
}

// Uses the memory of two batches, which are empty and closed.
absl::Status TierCopy::CopyLarge(Run& run, const StagedRange& range) {
  const uint64_t size = range.length;
  // As gentle as with small ranges. Both are multiples of kTierCheckBytes.
  const uint64_t batch = reads_->batches().batch_bytes();
  const uint64_t step =
      run.ahead ? std::min(batch, TierPace::kGentleBytes) : batch;
  ++run.at;
  if (reads_->store().Has(range)) return absl::OkStatus();
  RETURN_IF_ERROR(MakeRoom(run, TierRoundUp(size)));
  ASSIGN_OR_RETURN(const uint64_t room, Room(run));
  if (TierRoundUp(size) > room) return NoRoom(run);
  const TierWriter::Size space{TierRoundUp(size), 1, TierChecksOf(size)};
  ASSIGN_OR_RETURN(TierWriter writer, TierWriter::Create(&run.dir, space));
  TierTable table;
  table.state = reads_->catalogue().state();
  table.ranges.push_back({range, 0});
  const auto begin = [&](uint64_t at) {
    Rest(run.ahead);
    return BeginLarge(range.file, static_cast<int>(at / step % 2),
                      range.from + at, std::min(step, size - at));
  };
  Clock::time_point begun = Now();
  std::shared_ptr<LargeRead> read = begin(0);
  for (uint64_t at = 0; at < size; at += step) {
    reads_->signal().WaitFor(read->ended);
    if (Cut()) return absl::OkStatus();
    if (!read->status.ok()) {
      unreadable_.insert(range);
      return absl::OkStatus();
    }
    const uint64_t length = std::min(step, size - at);
    pace_.Stepped(begun, Now(), length);
    begun = Now();
    std::shared_ptr<LargeRead> next;
    if (at + step < size) next = begin(at + step);
    const absl::Span<char> bytes =
        reads_->batches().memory(static_cast<int>(at / step % 2));
    AppendTierChecks(absl::string_view(bytes.data(), length), table.checks);
    std::memset(bytes.data() + length, 0, TierRoundUp(length) - length);
    const absl::Status written = Write(
        run.dir, writer, bytes.subspan(0, TierRoundUp(length)), run.ahead);
    // Does not return while that read fills the memory.
    if (!written.ok() && next != nullptr) {
      reads_->signal().WaitFor(next->ended);
    }
    RETURN_IF_ERROR(written);
    read = std::move(next);
  }
  RETURN_IF_ERROR(Publish(writer, table, space.total()));
  Count(size, 0);
  return absl::OkStatus();
}

}  // namespace shufflefs
