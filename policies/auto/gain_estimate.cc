// SPDX-License-Identifier: Apache-2.0
#include "policies/auto/gain_estimate.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shufflefs {
namespace {

constexpr double kMeasuredAtOnce = 8;  // DeviceSpeed::parallel_gain
// Reads in flight of chunks, or of prefetching.
constexpr double kQueue = 32;
constexpr double kLargestChunk = 8 << 20;  // bytes, PhysicalChunkOptions
constexpr double kPage = 4096;             // a file in memory takes whole pages
constexpr double kServed = 60e-6;          // minimum seconds per file
constexpr double kOfTheModel = 0.8;

class Model {
 public:
  explicit Model(const DatasetFacts& facts)
      : facts_(facts),
        seeks_(facts.device == DeviceKind::kSeekBound),
        random_(facts.speed.random_us / 1e6),
        transfer_(static_cast<double>(facts.file_bytes) /
                  facts.speed.bytes_per_second) {}

  // Seconds per file for plain readers.
  double Raw(double readers) const {
    return std::max((random_ + transfer_) / AtOnce(readers), transfer_);
  }

  // Seconds per file with as many parallel reads as the device rewards.
  double Ahead() const { return std::max(Raw(kQueue), kServed) / kOfTheModel; }

  // Seconds per file in chunks.
  double Chunks(const PoolFacet& pool, double readers) const {
    const double alone = 1 - InMemory();
    const double device = InMemory() * Chunked(pool) + alone * Raw(readers);
    return std::max(device, kServed) / kOfTheModel;
  }

 private:
  // The speed-up of n parallel reads over one.
  double AtOnce(double n) const {
    // If it was not measured, assumes a value that is unlikely to be exceeded.
    double gain = facts_.speed.parallel_gain;
    if (gain <= 0) gain = seeks_ ? 3 : kMeasuredAtOnce;
    gain = std::clamp(gain, 1.0, kMeasuredAtOnce);
    return std::pow(n, std::log(gain) / std::log(kMeasuredAtOnce));
  }

  // Files of each class that fit in memory.
  double OfEachClass() const {
    const double file = static_cast<double>(facts_.file_bytes) + kPage / 2;
    return static_cast<double>(facts_.pool_bytes) / file /
           static_cast<double>(std::max<uint64_t>(facts_.classes, 1));
  }

  // The share of the readers' files that find one of their class in memory.
  // Chunks come at random, so the numbers are Poisson-distributed.
  double InMemory() const { return 1 - std::exp(-OfEachClass()); }

  double Chunked(const PoolFacet& pool) const {
    if (!seeks_) return Raw(kQueue);
    const double file = std::max<double>(1, facts_.file_bytes);
    double files = std::min<double>(pool.chunk_files, kLargestChunk / file);
    if (pool.packed.empty()) files = std::min(files, OfEachClass());
    return random_ / std::max(files, 1.0) + transfer_;
  }

  const DatasetFacts& facts_;
  const bool seeks_;
  const double random_;    // seconds
  const double transfer_;  // seconds
};

// Returns whether the model holds.
bool IsMeasured(const DatasetFacts& facts) {
  const bool slow = facts.device == DeviceKind::kSeekBound ||
                    facts.device == DeviceKind::kLatencyBound;
  return slow && facts.speed.random_us > 0 &&
         facts.speed.bytes_per_second > 0 && facts.file_bytes > 0;
}

}  // namespace

absl::optional<PolicyGain> EstimateChunks(const DatasetFacts& facts,
                                          const PoolFacet& pool, int readers) {
  if (!IsMeasured(facts)) return absl::nullopt;
  const Model model(facts);
  return PolicyGain{.readers = readers,
                    .raw = 1 / model.Raw(readers),
                    .rate = 1 / model.Chunks(pool, readers)};
}

absl::optional<PolicyGain> EstimatePrefetch(const DatasetFacts& facts,
                                            int readers) {
  if (!IsMeasured(facts) || facts.device != DeviceKind::kLatencyBound) {
    return absl::nullopt;
  }
  const Model model(facts);
  return PolicyGain{.readers = readers,
                    .raw = 1 / model.Raw(readers),
                    .rate = 1 / model.Ahead()};
}

absl::optional<PolicyGain> EstimateBlocks(const DatasetFacts& facts,
                                          uint64_t block_bytes, int readers) {
  DatasetFacts of_records = facts;
  of_records.file_bytes = kUsualRecord;
  if (!IsMeasured(of_records)) return absl::nullopt;
  const auto records = std::max(1.0, static_cast<double>(block_bytes) /
                                         static_cast<double>(kUsualRecord));
  DatasetFacts of_blocks = facts;
  of_blocks.file_bytes = std::max(block_bytes, kUsualRecord);
  const double ahead =
      facts.device == DeviceKind::kSeekBound ? 1 : kQueue;  // blocks in flight
  return PolicyGain{.readers = readers,
                    .raw = 1 / Model(of_records).Raw(readers),
                    .rate = kOfTheModel * records / Model(of_blocks).Raw(ahead),
                    .record_bytes = kUsualRecord};
}

std::string AboutTimes(double gain) {
  if (gain >= 3) return absl::StrFormat("about %.0fx", std::floor(gain));
  const double steps = gain >= 2 ? 2 : 10;
  return absl::StrFormat("about %.1fx", std::floor(gain * steps) / steps);
}

std::string TimesClause(const std::vector<PolicyGain>& gains) {
  const PolicyGain& usual = gains.front();
  const PolicyGain& many = gains.back();
  std::string clause =
      absl::StrCat(AboutTimes(usual.gain()), " the files a second of ",
                   usual.readers, " plain readers that draw at random");
  if (many.gain() < kWorthwhileGain) {
    absl::StrAppend(&clause, ", no more than ", many.readers, " get");
  } else if (many.gain() < 0.8 * usual.gain()) {
    absl::StrAppend(&clause, ", ", AboutTimes(many.gain()), " of ",
                    many.readers);
  }
  return clause;
}

}  // namespace shufflefs
