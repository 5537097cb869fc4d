// SPDX-License-Identifier: Apache-2.0
// TierReads is the readers' side of the performance tier. It answers a piece of
// a file from parts, from what is on its way there, or from the source. Usually
// the piece has one answer; otherwise it is cut where another one has the
// bytes. If anything fails in the tier, the source answers. So a reader never
// gets an error that is not the source's own.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_READS_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_READS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/catalogue/catalogue.h"
#include "core/io/file_reader.h"
#include "core/pool/fetcher.h"
#include "core/pool/file_source.h"
#include "core/pool/memory/arena.h"
#include "core/pool/sample_source.h"
#include "core/staging/stager/staging_requests.h"
#include "core/staging/stager/tier_batches.h"
#include "core/staging/tier/tier_health.h"
#include "core/staging/tier/tier_signal.h"
#include "core/staging/tier/tier_store.h"

namespace shufflefs {

// Thread-safe. The tier, its sources and the reads under way share it, so it
// lives as long as any of these. Only Detach waits.
class TierReads : public std::enable_shared_from_this<TierReads> {
 public:
  // `source` reads the catalogue's files.
  static std::shared_ptr<TierReads> Make(
      std::unique_ptr<FileSource> source,
      std::shared_ptr<const Catalogue> catalogue, std::unique_ptr<Arena> memory,
      const std::string& path);

  // As SampleSource::Fetch, or FetchNow if `urgent`.
  void Fetch(std::vector<FilePiece> pieces, bool urgent);

  // From now on `reader` reads the parts.
  void Attach(FileReader* reader);
  // From now on everything is read from the source. When it returns, only reads
  // that the reader already has still use it.
  void Detach();
  // Sets what to keep of what readers bring; null: nothing.
  void SetRequests(std::shared_ptr<const StagingRequests> requests);

  const Catalogue& catalogue() const { return *catalogue_; }
  FileSource& source() { return *source_; }
  TierStore& store() { return store_; }
  TierBatches& batches() { return *batches_; }
  TierHealth& health() { return health_; }
  TierSignal& signal() { return signal_; }
  uint64_t tier_bytes() const { return tier_bytes_.load(); }
  uint64_t source_bytes() const { return source_bytes_.load(); }
  // Bytes per second that parts give while some are being read; 0: none were
  // read.
  double bytes_per_second() const;

 private:
  struct Want;
  using Wants = std::vector<std::shared_ptr<Want>>;
  // What one call asks for.
  struct Asked {
    std::vector<FilePiece> source;
    Wants wants;
    bool urgent = false;
  };

  TierReads(std::unique_ptr<FileSource> source,
            std::shared_ptr<const Catalogue> catalogue,
            const std::string& path);

  // Has the wanted ranges that a piece is part of, and that are nowhere yet,
  // read as a whole. A reader that wants another piece of them waits for the
  // same read. Appends these reads.
  void Demand(const FilePiece& piece, const StagingRequests& requests,
              std::vector<FilePiece>& reads);
  // Sends reads to the source.
  void Send(std::vector<FilePiece> reads, bool urgent);
  // Takes the piece and returns true if one range holds all of it.
  bool AskTier(FilePiece& piece, Asked& asked);
  FileRead ReadOf(std::shared_ptr<Want> want);
  // Has these read, or waits for wider memory.
  void Ask(Wants wants);
  // Takes wider memory for it. Returns false if there is none.
  bool TakeRoom(const Want& want) ABSL_LOCKS_EXCLUDED(mu_);
  // Has these read, or their pieces read from the source. REQUIRES: they have
  // wider memory, or need none.
  void Begin(Wants wants);
  // Returns those that the tier cannot read.
  Wants Start(Wants wants);
  // Returns false if there is no reader. Then nothing was requested.
  bool Submit(std::vector<FileRead> reads, std::vector<FileRead> urgent);
  void Release(Want& want) ABSL_LOCKS_EXCLUDED(mu_);
  void Finish(const std::shared_ptr<Want>& want, absl::Status status);
  // A read of the tier failed.
  void Failed(const Want& want, const absl::Status& status);
  void ReadSource(std::vector<FilePiece> pieces, bool urgent);
  std::shared_ptr<const StagingRequests> Requests();
  // Counts the piece, and keeps the wanted ranges that are inside it.
  void Follow(FilePiece& piece, const StagingRequests* requests);

  // Constant after construction, or self-synchronised.
  const std::shared_ptr<const Catalogue> catalogue_;
  const std::unique_ptr<FileSource> source_;
  TierStore store_;
  TierHealth health_;
  TierSignal signal_;
  std::unique_ptr<TierBatches> batches_;
  CondVar idle_;
  std::atomic<uint64_t> tier_bytes_{0};
  std::atomic<uint64_t> source_bytes_{0};
  std::atomic<uint64_t> read_bytes_{0};     // of parts
  StallClock busy_;                         // while parts are read
  Fetcher<std::shared_ptr<Want>> fetcher_;  // of those that need wider memory

  Mutex mu_;
  FileReader* reader_ ABSL_GUARDED_BY(mu_) = nullptr;
  // Threads inside a call of the reader. Not a shared_ptr: the last owner might
  // be one of the reader's own threads, which it would then join.
  int users_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t wider_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // <= Tier::kWiderBytes
  std::shared_ptr<const StagingRequests> requests_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_READS_H_
