// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/packed_source.h"

#include <errno.h>

#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/status.h"
#include "core/pool/memory/arena.h"
#include "core/staging/pack/packed_reads.h"

namespace shufflefs {

// Reads wait here for staging memory, then in the reader. Thread-safe.
class PackedSource::Engine : public std::enable_shared_from_this<Engine> {
 public:
  Engine(std::shared_ptr<const PackIndex> index, FileReader* reader,
         Options options)
      : index_(std::move(index)),
        reader_(reader),
        staging_(std::move(options.staging)),
        place_by_place_(options.place_by_place) {}

  void Add(std::vector<FilePiece> pieces, bool urgent);
  // Ends reads that wait for memory. Reads under way continue.
  void Close();

 private:
  using Reads = std::deque<std::shared_ptr<PackedRead>>;

  // Begins the reads that have memory.
  void Pump();
  // Takes the reads that can begin from the front of a queue.
  Reads Take(Reads& queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether the read is after the last one that began.
  bool GoesOn(const PackedRead& read) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return read.chunk == last_chunk_ && read.begin >= last_begin_;
  }
  bool MayBegin(const PackedRead& read) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  FileRead ReadOf(std::shared_ptr<PackedRead> read);
  void Arrived(std::shared_ptr<PackedRead> read, const absl::Status& status);
  // Returns whether each part of a failed read is read again alone.
  bool TryAgain(PackedRead& read, const absl::Status& status);
  void EndParts(const PackedRead& read, const absl::Status& status);

  // Constant after construction.
  const std::shared_ptr<const PackIndex> index_;
  // Self-synchronised.
  FileReader* const reader_;
  const std::shared_ptr<Arena> staging_;
  const bool place_by_place_;  // constant

  Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  // True while a thread hands reads to the reader. It does so in the order of
  // the queues, and without this lock.
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;
  Reads urgent_ ABSL_GUARDED_BY(mu_);
  Reads queue_ ABSL_GUARDED_BY(mu_);
  // Of the normal queue: the number of reads under way, and the last that
  // began.
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
  std::vector<PackedRead> reads =
      PlanPackedReads(std::move(wants), PackedReadLimits());
  {
    MutexLock lock(mu_);
    for (PackedRead& read : reads) {
      read.urgent = urgent;
      (urgent ? urgent_ : queue_)
          .push_back(std::make_shared<PackedRead>(std::move(read)));
    }
  }
  Pump();
}

void PackedSource::Engine::Close() {
  Reads waiting;
  {
    MutexLock lock(mu_);
    closed_ = true;
    waiting.swap(urgent_);
    for (auto& read : queue_) waiting.push_back(std::move(read));
    queue_.clear();
  }
  for (const auto& read : waiting) {
    EndParts(*read, absl::CancelledError("the pack was closed"));
  }
}

bool PackedSource::Engine::MayBegin(const PackedRead& read) const {
  if (!place_by_place_ || read.urgent) return true;
  return GoesOn(read) ? first_ == nullptr : under_way_ <= 1;
}

PackedSource::Engine::Reads PackedSource::Engine::Take(Reads& queue) {
  Reads taken;
  while (!queue.empty()) {
    PackedRead& read = *queue.front();
    if (!MayBegin(read)) break;
    read.staging = staging_->Allocate(read.end - read.begin);
    if (read.staging == nullptr) break;
    if (!read.urgent) {
      if (!GoesOn(read)) first_ = &read;
      ++under_way_;
      last_chunk_ = read.chunk;
      last_begin_ = read.begin;
    }
    taken.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  return taken;
}

void PackedSource::Engine::Pump() {
  {
    MutexLock lock(mu_);
    if (pumping_) return;  // that thread checks again before it returns
    pumping_ = true;
  }
  for (;;) {
    Reads urgent;
    Reads others;
    {
      MutexLock lock(mu_);
      urgent = Take(urgent_);
      if (urgent_.empty()) others = Take(queue_);
      if (urgent.empty() && others.empty()) {
        pumping_ = false;
        return;
      }
    }
    for (auto& read : urgent) reader_->SubmitUrgent(ReadOf(std::move(read)));
    std::vector<FileRead> reads;
    for (auto& read : others) reads.push_back(ReadOf(std::move(read)));
    if (!reads.empty()) reader_->Submit(std::move(reads));
  }
}

FileRead PackedSource::Engine::ReadOf(std::shared_ptr<PackedRead> read) {
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

void PackedSource::Engine::Arrived(std::shared_ptr<PackedRead> read,
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
  Pump();  // before the checksums, so that the device does not wait for them
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
  MutexLock lock(mu_);
  if (closed_) return false;
  Reads& queue = read.urgent ? urgent_ : queue_;
  std::vector<PackedRead> alone = SplitPackedRead(std::move(read));
  for (size_t i = alone.size(); i > 0; --i) {
    queue.push_front(std::make_shared<PackedRead>(std::move(alone[i - 1])));
  }
  return true;
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
