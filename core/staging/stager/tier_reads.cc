// SPDX-License-Identifier: Apache-2.0
#include "core/staging/stager/tier_reads.h"

#include <errno.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/io/io_buf.h"
#include "core/staging/pack/pack_format.h"
#include "core/staging/stager/tier.h"
#include "core/staging/stager/tier_cuts.h"

namespace shufflefs {
namespace {

constexpr char kReadInstead[] = "files are read from the source instead";

// The ranges kept of one piece read from the source: usually one.
using Captured = absl::InlinedVector<StagedRange, 1>;

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};

// The checks that a piece of a range needs, as positions in the range.
struct WholeChecks {
  WholeChecks(const FilePiece& piece, const StagedRange& range)
      : begin(piece.offset - range.from),
        from(begin / kTierCheckBytes * kTierCheckBytes),
        to(std::min((begin + piece.length + kTierCheckBytes - 1) /
                        kTierCheckBytes * kTierCheckBytes,
                    range.length)),
        wider(from == begin && to == begin + piece.length
                  ? 0
                  : TierRoundUp(to - from)) {}

  uint64_t begin;  // of the piece
  uint64_t from;
  uint64_t to;
  uint64_t wider;  // bytes of memory for them; 0: the piece is whole checks
};

}  // namespace

// The wanted bytes of a staged range, widened to whole checks.
struct TierReads::Want : WholeChecks {
  Want(FilePiece wanted, TierPlace at)
      : WholeChecks(wanted, at.range),
        piece(std::move(wanted)),
        place(std::move(at)),
        into(wider == 0 ? piece.into : std::vector<iovec>()) {}

  // Returns false if there is none.
  bool TakeMemory() {
    if (wider == 0) return true;
    memory.reset(static_cast<char*>(std::aligned_alloc(kTierPage, wider)));
    into = {iovec{memory.get(), wider}};
    return memory != nullptr;
  }

  // The first byte that differs from what was copied. Nothing if none does.
  absl::optional<uint64_t> Damage() const {
    const IoBuf bytes(into);
    for (uint64_t at = from; at < to; at += kTierCheckBytes) {
      const uint64_t length = std::min(kTierCheckBytes, to - at);
      if (PackCheckOf(bytes, at - from, length) !=
          place.checks[at / kTierCheckBytes]) {
        return at;
      }
    }
    return absl::nullopt;
  }

  FilePiece piece;
  const TierPlace place;
  std::unique_ptr<char, Free> memory;
  std::vector<iovec> into;
  bool urgent = false;
};

TierReads::TierReads(std::unique_ptr<FileSource> source,
                     std::shared_ptr<const Catalogue> catalogue,
                     const std::string& path)
    : catalogue_(std::move(catalogue)),
      source_(std::move(source)),
      store_(catalogue_),
      health_(path),
      fetcher_(/*lanes=*/1,
               {.take_room =
                    [this](size_t, std::shared_ptr<Want>& want) {
                      return TakeRoom(*want);
                    },
                .begin = [this](Wants wants) { Begin(std::move(wants)); }}) {}

std::shared_ptr<TierReads> TierReads::Make(
    std::unique_ptr<FileSource> source,
    std::shared_ptr<const Catalogue> catalogue, std::unique_ptr<Arena> memory,
    const std::string& path) {
  std::shared_ptr<TierReads> reads(
      new TierReads(std::move(source), std::move(catalogue), path));
  reads->batches_ = std::make_unique<TierBatches>(
      std::move(memory), [self = reads.get()](FilePiece piece) {
        std::vector<FilePiece> pieces;
        pieces.push_back(std::move(piece));
        self->ReadSource(std::move(pieces), /*urgent=*/true);
      });
  return reads;
}

void TierReads::Fetch(std::vector<FilePiece> pieces, bool urgent) {
  Asked asked;
  asked.urgent = urgent;
  std::vector<FilePiece> demanded;
  std::shared_ptr<const StagingRequests> requests;
  for (FilePiece& piece : pieces) {
    if (AskTier(piece, asked)) continue;
    if (requests == nullptr) requests = Requests();
    if (requests != nullptr) Demand(piece, *requests, demanded);
    if (AskTier(piece, asked)) continue;
    const TierCuts cuts = CutsOf(piece, *batches_, store_, requests.get());
    if (cuts.empty()) {
      asked.source.push_back(std::move(piece));
      continue;
    }
    for (FilePiece& part : CutPiece(std::move(piece), cuts)) {
      if (!AskTier(part, asked)) asked.source.push_back(std::move(part));
    }
  }
  if (!asked.wants.empty()) Ask(std::move(asked.wants));
  // Together, so that a disk that seeks reads them in the order of the device.
  if (!demanded.empty()) Send(std::move(demanded), urgent);
  if (!asked.source.empty()) ReadSource(std::move(asked.source), urgent);
}

void TierReads::Demand(const FilePiece& piece, const StagingRequests& requests,
                       std::vector<FilePiece>& reads) {
  for (const StagedRange& range : requests.PiecesOver(
           piece.file, piece.offset, piece.offset + piece.length)) {
    if (store_.Has(range)) continue;
    const auto demanded = batches_->Demand(range);
    if (!demanded) continue;
    FilePiece read;
    read.file = range.file;
    read.offset = range.from;
    read.length = range.length;
    read.into = {iovec{demanded->place.memory, TierRoundUp(range.length)}};
    read.done = [self = shared_from_this(), demanded = *demanded,
                 length = range.length](const absl::Status& status) {
      if (status.ok()) {
        self->source_bytes_.fetch_add(length, std::memory_order_relaxed);
      }
      self->batches_->Arrived(demanded.batch, demanded.place.slot, status);
    };
    reads.push_back(std::move(read));
  }
}

void TierReads::Send(std::vector<FilePiece> reads, bool urgent) {
  if (!urgent) return source_->Fetch(std::move(reads));
  for (FilePiece& read : reads) source_->FetchNow(std::move(read));
}

bool TierReads::AskTier(FilePiece& piece, Asked& asked) {
  // Batches first: a range that leaves them is in the store by then.
  if (batches_->Join(piece)) return true;
  absl::optional<TierPlace> place = store_.Find(piece.file, piece.offset);
  if (!place || place->range.end() < piece.offset + piece.length) return false;
  // So large a part of a range is rare.
  if (WholeChecks(piece, place->range).wider > Tier::kWiderBytes) return false;
  auto want = std::make_shared<Want>(std::move(piece), *std::move(place));
  want->urgent = asked.urgent;
  asked.wants.push_back(std::move(want));
  return true;
}

void TierReads::Ask(Wants wants) {
  Wants ready;
  for (std::shared_ptr<Want>& want : wants) {
    if (want->wider == 0) {
      ready.push_back(std::move(want));
    } else {
      const bool urgent = want->urgent;
      fetcher_.Add(/*lane=*/0, want, urgent);
    }
  }
  if (!ready.empty()) Begin(std::move(ready));
  fetcher_.Pump();
}

bool TierReads::TakeRoom(const Want& want) {
  MutexLock lock(mu_);
  if (wider_bytes_ + want.wider > Tier::kWiderBytes) return false;
  wider_bytes_ += want.wider;
  return true;
}

void TierReads::Release(Want& want) {
  if (want.wider == 0) return;
  want.memory.reset();
  {
    MutexLock lock(mu_);
    wider_bytes_ -= want.wider;
  }
  fetcher_.Pump();
}

void TierReads::Begin(Wants wants) {
  std::vector<FilePiece> pieces;
  std::vector<FilePiece> urgent;
  for (const std::shared_ptr<Want>& want : Start(std::move(wants))) {
    (want->urgent ? urgent : pieces).push_back(std::move(want->piece));
    Release(*want);
  }
  if (!urgent.empty()) ReadSource(std::move(urgent), /*urgent=*/true);
  if (!pieces.empty()) ReadSource(std::move(pieces), /*urgent=*/false);
}

TierReads::Wants TierReads::Start(Wants wants) {
  std::vector<FileRead> reads;
  std::vector<FileRead> urgent;
  Wants started;
  Wants refused;
  for (std::shared_ptr<Want>& want : wants) {
    if (!want->TakeMemory()) {
      refused.push_back(std::move(want));
      continue;
    }
    (want->urgent ? urgent : reads).push_back(ReadOf(want));
    started.push_back(std::move(want));
  }
  if (started.empty() || Submit(std::move(reads), std::move(urgent))) {
    return refused;
  }
  refused.insert(refused.end(), started.begin(), started.end());
  return refused;
}

FileRead TierReads::ReadOf(std::shared_ptr<Want> want) {
  FileRead read;
  read.path = TierPartName(want->place.part->id);
  read.offset = want->place.offset + want->from;
  read.length = want->to - want->from;
  read.into = want->into;
  read.done = [self = shared_from_this(), want](absl::Status status) {
    self->Finish(want, std::move(status));
  };
  return read;
}

bool TierReads::Submit(std::vector<FileRead> reads,
                       std::vector<FileRead> urgent) {
  FileReader* reader = nullptr;
  {
    MutexLock lock(mu_);
    if (reader_ == nullptr) return false;
    reader = reader_;
    ++users_;
  }
  for (size_t i = 0; i < reads.size() + urgent.size(); ++i) busy_.Enter();
  for (FileRead& read : urgent) reader->SubmitUrgent(std::move(read));
  if (!reads.empty()) reader->Submit(std::move(reads));
  {
    // Signals while holding the lock, because the waiting thread may then
    // destroy the reader at once.
    MutexLock lock(mu_);
    if (--users_ == 0) idle_.SignalAll();
  }
  return true;
}

double TierReads::bytes_per_second() const {
  const double seconds = busy_.Read().stalled_seconds;
  if (seconds <= 0) return 0;
  return static_cast<double>(read_bytes_.load()) / seconds;
}

void TierReads::Attach(FileReader* reader) {
  MutexLock lock(mu_);
  reader_ = reader;
}

void TierReads::Detach() {
  MutexLock lock(mu_);
  reader_ = nullptr;
  while (users_ > 0) idle_.Wait(mu_);
}

void TierReads::SetRequests(std::shared_ptr<const StagingRequests> requests) {
  MutexLock lock(mu_);
  requests_.swap(requests);
}

void TierReads::Finish(const std::shared_ptr<Want>& want, absl::Status status) {
  FilePiece& piece = want->piece;
  busy_.Leave();
  if (status.ok()) {
    read_bytes_.fetch_add(want->to - want->from, std::memory_order_relaxed);
    if (const auto damage = want->Damage()) {
      status = ErrnoStatus(
          EIO,
          absl::StrCat(TierPartName(want->place.part->id), " at byte ",
                       want->place.offset + *damage, ": the checksum differs"));
    }
  }
  if (status.ok() && want->memory != nullptr) {
    Copy(IoBuf(want->into), want->begin - want->from, IoBuf(piece.into), 0,
         piece.length);
  }
  Release(*want);
  if (status.ok()) {
    tier_bytes_.fetch_add(piece.length, std::memory_order_relaxed);
    piece.done(absl::OkStatus());
    return;
  }
  if (!absl::IsCancelled(status)) Failed(*want, status);
  std::vector<FilePiece> pieces;
  pieces.push_back(std::move(piece));
  ReadSource(std::move(pieces), want->urgent);
}

void TierReads::Failed(const Want& want, const absl::Status& status) {
  const uint64_t part = want.place.part->id;
  const bool gone = ErrnoOf(status) == ESTALE || ErrnoOf(status) == ENOENT;
  // If the part was removed after the read was requested, there is no trouble.
  const bool news =
      gone ? store_.Remove(part) : store_.Forget(want.place.range, part);
  if (!news) return;
  health_.Begin(gone ? ErrnoStatus(ENOENT, TierPartName(part)) : status,
                kReadInstead);
  signal_.Raise();
}

void TierReads::ReadSource(std::vector<FilePiece> pieces, bool urgent) {
  const std::shared_ptr<const StagingRequests> requests = Requests();
  for (FilePiece& piece : pieces) Follow(piece, requests.get());
  Send(std::move(pieces), urgent);
}

std::shared_ptr<const StagingRequests> TierReads::Requests() {
  MutexLock lock(mu_);
  return requests_;
}

void TierReads::Follow(FilePiece& piece, const StagingRequests* requests) {
  struct Ending {
    uint64_t from;
    uint64_t length;
    Captured captured;
    std::vector<iovec> into;
    std::function<void(absl::Status)> done;
  };
  auto ending = std::make_shared<Ending>();
  ending->from = piece.offset;
  ending->length = piece.length;
  absl::optional<StagedRange> request;
  if (requests != nullptr) request = requests->Next(piece.file, piece.offset);
  while (request && request->end() <= piece.offset + piece.length) {
    if (!store_.Has(*request) && batches_->BeginCapture(*request)) {
      ending->captured.push_back(*request);
    }
    request = requests->Next(piece.file, request->from + kTierPage);
  }
  if (!ending->captured.empty()) ending->into = piece.into;
  ending->done = std::move(piece.done);
  piece.done = [self = shared_from_this(), ending](absl::Status status) {
    if (status.ok()) {
      self->source_bytes_.fetch_add(ending->length, std::memory_order_relaxed);
    }
    // Before the reader is told, because then the memory is its own again.
    for (const StagedRange& range : ending->captured) {
      self->batches_->EndCapture(range, status.ok() ? &ending->into : nullptr,
                                 range.from - ending->from);
    }
    if (!ending->captured.empty()) self->signal_.Raise();
    ending->done(std::move(status));
  };
}

}  // namespace shufflefs
