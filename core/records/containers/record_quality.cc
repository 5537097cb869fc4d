// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/record_quality.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"
#include "core/quality/shuffle_quality.h"

namespace shufflefs {
namespace {

constexpr uint64_t kBatch = 256;  // records; as QualityInput::batch

// A container that is indexed.
struct Indexed {
  EntryId file;
  uint64_t records = 0;
  uint64_t bytes = 0;  // of its records
  bool columnar = false;
};

uint64_t BlocksOf(const RecordBlocks& blocks, uint64_t bytes) {
  return std::max<uint64_t>(1, (bytes + blocks.bytes - 1) / blocks.bytes);
}

// Number of blocks from which a batch takes its records.
uint64_t BlocksOfABatch(const RecordBlocks& blocks, uint64_t records,
                        uint64_t bytes, uint64_t batch) {
  const uint64_t reach =
      (std::min(batch, records) * (bytes / records) + blocks.bytes - 1) /
      blocks.bytes;
  return std::min(std::max(reach, blocks.window), BlocksOf(blocks, bytes));
}

// The scale of QualityReport.
char GradeOf(double quality) {
  if (quality >= 0.98) return 'A';
  if (quality >= 0.90) return 'B';
  if (quality >= 0.75) return 'C';
  return quality >= 0.50 ? 'D' : 'F';
}

template <typename Visit>
void ForEachIndexed(const Dataset& dataset, const ContainerSet& containers,
                    const Visit& visit) {
  const Catalogue& catalogue = dataset.catalogue();
  const uint32_t end = catalogue.entries_end(dataset.root()).value();
  for (uint32_t e = catalogue.first_entry(dataset.root()).value(); e < end;
       ++e) {
    const EntryId file(e);
    if (!containers.Has(file)) continue;
    const absl::optional<ContainerShape> shape = containers.Shape(file);
    if (!shape || shape->records == nullptr || shape->keeps_order) continue;
    const RecordTable& table =
        shape->family != nullptr ? *shape->family->table : *shape->records;
    if (table.count() < 2 && shape->columnar == nullptr) continue;
    visit(Indexed{file, table.count(),
                  table.begin(table.count()) - table.begin(0),
                  shape->columnar != nullptr});
  }
}

std::string BlocksLine(const RecordBlocks& blocks, const Indexed& worst,
                       const std::string& path) {
  const double quality =
      BlockQuality(blocks, worst.records, worst.bytes, kBatch);
  const char grade = GradeOf(quality);
  const uint64_t all = BlocksOf(blocks, worst.bytes);
  if (blocks.window >= all) {
    return "A: all records of a file are in one window";
  }
  return absl::StrCat(
      absl::string_view(&grade, 1), ": a batch takes its records from ",
      BlocksOfABatch(blocks, worst.records, worst.bytes, kBatch), " of ", all,
      " blocks of ", blocks.bytes, " bytes of ", path,
      grade == 'D' || grade == 'F' ? "; more blocks per window mix better"
                                   : "");
}

}  // namespace

double BlockQuality(const RecordBlocks& blocks, uint64_t records,
                    uint64_t bytes, uint64_t batch) {
  if (blocks.window >= BlocksOf(blocks, bytes)) return 1;
  return 1 -
         1 / static_cast<double>(BlocksOfABatch(blocks, records, bytes, batch));
}

std::string RecordQualityLine(const Dataset& dataset,
                              const ContainerSet& containers,
                              const Policy& policy, Seed seed, Epoch epoch) {
  const RecordBlocks blocks = policy.record_blocks();
  absl::optional<Indexed> worst;
  double least = 2;
  ForEachIndexed(dataset, containers, [&](const Indexed& next) {
    // Without blocks, the longest order is mixed worst, if they differ at all.
    const double quality =
        next.columnar ? 0
        : blocks.bytes > 0
            ? BlockQuality(blocks, next.records, next.bytes, kBatch)
            : 1 / static_cast<double>(next.records);
    if (quality >= least) return;
    least = quality;
    worst = next;
  });
  if (!worst) return "";
  const std::string path = dataset.catalogue().path(worst->file);
  if (worst->columnar) {
    return absl::StrCat("F: rows of a group of ", path,
                        " stay together; smaller groups, or a shuffle in the",
                        " reader, mix better");
  }
  if (blocks.bytes > 0) return BlocksLine(blocks, *worst, path);
  Stratum stratum;
  stratum.key = containers.key(worst->file);
  stratum.size = worst->records;
  const std::unique_ptr<const Order> order =
      policy.MakeOrder(stratum, seed, epoch);
  QualityInput input;
  input.order = order.get();
  input.source_size = worst->records;
  input.batch = kBatch;
  input.seed = seed;
  const QualityReport report = MeasureShuffleQuality(input);
  if (!IsGraded(report)) return GradeLine(report);
  return absl::StrCat(absl::string_view(&report.grade, 1),
                      ": of the records of ", path, ", ", report.reason);
}

}  // namespace shufflefs
