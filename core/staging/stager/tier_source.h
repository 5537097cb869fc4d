// SPDX-License-Identifier: Apache-2.0
// TierSource reads samples from the performance tier if they are there, else
// from the source.
#ifndef SHUFFLEFS_CORE_STAGING_STAGER_TIER_SOURCE_H_
#define SHUFFLEFS_CORE_STAGING_STAGER_TIER_SOURCE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/pool/sample_source.h"
#include "core/staging/stager/tier_reads.h"

namespace shufflefs {

// As SampleSource. It continues after the Tier is gone, from the source. A
// piece that does not consist of whole checks needs memory of its own while it
// is read. If Tier::kWiderBytes are in use, it waits for some.
class TierSource : public SampleSource {
 public:
  explicit TierSource(std::shared_ptr<TierReads> reads)
      : reads_(std::move(reads)) {}

  void Fetch(std::vector<FilePiece> files) override {
    reads_->Fetch(std::move(files), /*urgent=*/false);
  }
  void FetchNow(FilePiece piece) override {
    std::vector<FilePiece> pieces;
    pieces.push_back(std::move(piece));
    reads_->Fetch(std::move(pieces), /*urgent=*/true);
  }
  // Reads of the source, including those for the tier.
  uint64_t bytes_read() const override { return reads_->source().bytes_read(); }
  uint64_t reads() const override { return reads_->source().reads(); }
  std::string how() const override {
    return "performance tier, else " + reads_->source().how();
  }

 private:
  // Self-synchronised.
  const std::shared_ptr<TierReads> reads_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_STAGING_STAGER_TIER_SOURCE_H_
