// SPDX-License-Identifier: Apache-2.0
#include "core/staging/stager/tier.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/staging/stager/tier_reads.h"
#include "core/staging/stager/tier_source.h"
#include "core/staging/stager/tier_stager.h"

namespace shufflefs {
namespace {

// Connects the readers' side with the copying side.
class OpenTier : public Tier {
 public:
  OpenTier(Options options, std::shared_ptr<TierReads> reads)
      : capacity_(options.capacity),
        reads_(std::move(reads)),
        stager_(std::move(options), reads_) {}
  ~OpenTier() override { Stop(); }

  absl::Status Start() {
    RETURN_IF_ERROR(stager_.Open());
    stager_.Start();
    return absl::OkStatus();
  }

  std::unique_ptr<SampleSource> Source() override {
    return std::make_unique<TierSource>(reads_);
  }
  void Follow(std::weak_ptr<StagingPlan> plan) override {
    stager_.Follow(std::move(plan));
  }
  bool Has(const StagedRange& range) const override {
    return reads_->store().Has(range);
  }
  bool Has(EntryId file) const override {
    return Has(WholeFile(reads_->catalogue(), file));
  }
  void Changed() override { stager_.Changed(); }
  void AskNow() override { stager_.AskNow(); }
  void Stop() override { stager_.Stop(); }

  TierStatus status() const override {
    TierStatus status;
    status.capacity = capacity_;
    status.staged_bytes = reads_->store().bytes();
    status.copied_bytes = stager_.copy().copied_bytes();
    status.captured_bytes = stager_.copy().captured_bytes();
    status.copy_bytes_per_second = stager_.copy().bytes_per_second();
    status.read_bytes_per_second = reads_->bytes_per_second();
    status.tier_bytes = reads_->tier_bytes();
    status.source_bytes = reads_->source_bytes();
    status.health = reads_->health().text();
    return status;
  }

 private:
  const uint64_t capacity_;  // constant
  // Self-synchronised.
  const std::shared_ptr<TierReads> reads_;
  TierStager stager_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Tier>> Tier::Open(
    Options options, std::shared_ptr<const Catalogue> catalogue,
    FileReader* source) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<Arena> memory,
      Arena::Make(std::max(options.memory_bytes, Tier::kLeastMemory)));
  auto reads = TierReads::Make(
      std::make_unique<FileSource>(catalogue, source, options.many_pieces),
      catalogue, std::move(memory), options.path);
  auto tier = std::make_unique<OpenTier>(std::move(options), std::move(reads));
  RETURN_IF_ERROR(Annotate(tier->Start(), "tier.path"));
  return std::unique_ptr<Tier>(std::move(tier));
}

}  // namespace shufflefs
