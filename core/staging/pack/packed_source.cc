// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/packed_source.h"

#include <errno.h>

#include <cstddef>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/pool/fetcher.h"
#include "core/pool/memory/arena.h"
#include "core/staging/pack/packed_reads.h"

namespace shufflefs {

// Reads wait here for staging memory, then in the reader. Thread-safe.
class PackedSource::Engine : public std::enable_shared_from_this<Engine> {
 public:
  Engine(std::shared_ptr<const PackIndex> index, FileReader* reader,
         Options options)
      : index_(std::move(index)),
        place_by_place_(options.place_by_place),
        reader_(reader),
        staging_(std::move(options.staging)),
        fetcher_(/*lanes=*/1,
                 {.take_room = [this](size_t,
                                      Read& read) { return TakeRoom(*read); },
                  .begin =
                      [this](std::vector<Read> reads) {
                        Begin(std::move(reads));
                      }}) {}

  void Add(std::vector<FilePiece> pieces, bool urgent);
  // Ends reads that wait for memory. Reads under way continue.
  void Close();

 private:
  using Read = std::shared_ptr<PackedRead>;

  // Takes staging memory, if the read may begin now.
  bool TakeRoom(PackedRead& read) ABSL_LOCKS_EXCLUDED(mu_);
  void Begin(std::vector<Read> reads);
  // Returns whether the read is after the last one that began.
  bool GoesOn(const PackedRead& read) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return read.chunk == last_chunk_ && read.begin >= last_begin_;
  }
  bool MayBegin(const PackedRead& read) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  FileRead ReadOf(Read read);
  void Arrived(const Read& read, const absl::Status& status);
  // Returns whether each part of a failed read is read again alone.
  bool TryAgain(PackedRead& read, const absl::Status& status);
  void EndParts(const PackedRead& read, const absl::Status& status);
  void EndClosed(const PackedRead& read) {
    EndParts(read, absl::CancelledError("the pack was closed"));
  }

  // Constant after construction.
  const std::shared_ptr<const PackIndex> index_;
  const bool place_by_place_;
  // Self-synchronised.
  FileReader* const reader_;
  const std::shared_ptr<Arena> staging_;
  Fetcher<Read> fetcher_;

  Mutex mu_;
  // Of the normal reads: the number under way, and the last that began.
  uint64_t under_way_ ABSL_GUARDED_BY(mu_) = 0;
  // The first read at its place, while it is under way.
  const PackedRead* first_ ABSL_GUARDED_BY(mu_) = nullptr;
  uint32_t last_chunk_ ABSL_GUARDED_BY(mu_) = 0xFFFFFFFF;  // none yet
  uint64_t last_begin_ ABSL_GUARDED_BY(mu_) = 0;
};

void PackedSource::Engine::Add(std::vector<FilePiece> pieces, bool urgent) {
  std::vector<std::shared_ptr<PackedWant>> wants;
  for (FilePiece& piece : pieces) {
    const absl::optional<PackIndex::Place> place = index_->Find(piece.file);
    if (!place) {
      piece.done(
          ErrnoStatus(EIO, absl::StrCat(index_->catalogue().path(piece.file),
                                        ": is not in the pack")));
      continue;
    }
    wants.push_back(std::make_shared<PackedWant>(std::move(piece), *place));
  }
  std::vector<Read> reads;
  for (PackedRead& read :
       PlanPackedReads(std::move(wants), PackedReadLimits())) {
    read.urgent = urgent;
    reads.push_back(std::make_shared<PackedRead>(std::move(read)));
  }
  if (fetcher_.Add(/*lane=*/0, reads, urgent)) return fetcher_.Pump();
  for (const Read& read : reads) EndClosed(*read);
}

void PackedSource::Engine::Close() {
  for (const Read& read : fetcher_.Stop()) EndClosed(*read);
}

bool PackedSource::Engine::MayBegin(const PackedRead& read) const {
  if (!place_by_place_ || read.urgent) return true;
  return GoesOn(read) ? first_ == nullptr : under_way_ <= 1;
}

bool PackedSource::Engine::TakeRoom(PackedRead& read) {
  MutexLock lock(mu_);
  if (!MayBegin(read)) return false;
  read.staging = staging_->Allocate(read.end - read.begin);
  if (read.staging == nullptr) return false;
  if (read.urgent) return true;
  if (!GoesOn(read)) first_ = &read;
  ++under_way_;
  last_chunk_ = read.chunk;
  last_begin_ = read.begin;
  return true;
}

void PackedSource::Engine::Begin(std::vector<Read> reads) {
  std::vector<FileRead> others;
  for (Read& read : reads) {
    if (read->urgent) {
      reader_->SubmitUrgent(ReadOf(std::move(read)));
    } else {
      others.push_back(ReadOf(std::move(read)));
    }
  }
  if (!others.empty()) reader_->Submit(std::move(others));
}

FileRead PackedSource::Engine::ReadOf(Read read) {
  FileRead file;
  file.path = PackChunkName(read->chunk);
  file.expected = index_->chunk_attributes(read->chunk);
  file.offset = read->begin;
  file.length = read->end - read->begin;
  file.into = read->staging->pieces();
  file.done = [self = shared_from_this(), read](const absl::Status& status) {
    self->Arrived(read, status);
  };
  return file;
}

void PackedSource::Engine::Arrived(const Read& read,
                                   const absl::Status& status) {
  if (status.ok()) {
    const IoBuf staged(read->staging->pieces());
    for (const PackedRead::Part& part : read->parts) {
      Copy(staged, part.begin - read->begin, part.want->memory(),
           part.begin - part.want->begin(), part.end - part.begin);
    }
  }
  read->staging.reset();
  if (!read->urgent) {
    MutexLock lock(mu_);
    --under_way_;
    if (first_ == read.get()) first_ = nullptr;
  }
  const bool again = !status.ok() && TryAgain(*read, status);
  // Before the checksums, so that the device does not wait for them.
  fetcher_.Pump();
  if (!again) EndParts(*read, status);
}

bool PackedSource::Engine::TryAgain(PackedRead& read,
                                    const absl::Status& status) {
  // The chunk file was replaced or is gone, so every part would fail.
  const absl::optional<int> error = ErrnoOf(status);
  if (read.parts.size() < 2 || error == ESTALE || error == EACCES ||
      absl::IsCancelled(status)) {
    return false;
  }
  std::vector<Read> alone;
  for (PackedRead& part : SplitPackedRead(read)) {
    alone.push_back(std::make_shared<PackedRead>(std::move(part)));
  }
  return fetcher_.AddFirst(/*lane=*/0, alone, read.urgent);
}

void PackedSource::Engine::EndParts(const PackedRead& read,
                                    const absl::Status& status) {
  for (const PackedRead::Part& part : read.parts) {
    if (part.want->PartEnded(status)) part.want->Finish(*index_);
  }
}

absl::StatusOr<std::unique_ptr<PackedSource>> PackedSource::Make(
    std::shared_ptr<const PackIndex> index, FileReader* reader,
    Options options) {
  if (options.staging == nullptr) {
    ASSIGN_OR_RETURN(options.staging, Arena::Make(kMostStaging));
  }
  return absl::WrapUnique(new PackedSource(
      reader,
      std::make_shared<Engine>(std::move(index), reader, std::move(options))));
}

PackedSource::PackedSource(FileReader* reader, std::shared_ptr<Engine> engine)
    : reader_(reader), engine_(std::move(engine)) {}

PackedSource::~PackedSource() { engine_->Close(); }

void PackedSource::Fetch(std::vector<FilePiece> files) {
  engine_->Add(std::move(files), /*urgent=*/false);
}

void PackedSource::FetchNow(FilePiece piece) {
  std::vector<FilePiece> pieces;
  pieces.push_back(std::move(piece));
  engine_->Add(std::move(pieces), /*urgent=*/true);
}

std::string PackedSource::how() const {
  return absl::StrCat("packed chunks by ", reader_->how());
}

}  // namespace shufflefs
