// SPDX-License-Identifier: Apache-2.0
// PaddedBuilder makes the tables of a padded file (aligned_manifest.h) from the
// lines of its index. No I/O.
#ifndef SHUFFLEFS_CORE_RECORDS_INDEX_PADDED_BUILDER_H_
#define SHUFFLEFS_CORE_RECORDS_INDEX_PADDED_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/formats/tfrecord/tfrecord_index.h"
#include "core/records/aligned/aligned_manifest.h"
#include "core/records/index/offset_table_builder.h"
#include "core/records/index/sidecar_index.h"
#include "core/records/order/family_table.h"

namespace shufflefs {

// Padding between two records.
struct PaddingGap {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Keeps some of the gaps between records, evenly spread over the file. All of
// them may be as many as its pages, and reading them as much as reading it.
class SomeGaps {
 public:
  void Add(const PaddingGap& gap);
  const std::vector<PaddingGap>& kept() const { return kept_; }

 private:
  static constexpr size_t kMost = 1024;

  void Thin();

  std::vector<PaddingGap> kept_;
  uint64_t seen_ = 0;
  uint64_t every_ = 1;
};

// Not thread-safe.
class PaddedBuilder {
 public:
  // The file outlives it.
  explicit PaddedBuilder(const AlignedFile& file) : file_(file) {
    shown_.Begin(0);
    placed_.Begin(0);
  }

  // Takes the next line of the index. Returns false if there can be no such
  // record.
  bool Take(const TfrecordSpan& span);

  const std::vector<PaddingGap>& some_gaps() const { return gaps_.kept(); }

  // Returns false if the records are not those of the file. `idx_bytes`: size
  // of the index.
  bool Finish(uint64_t idx_bytes, ContainerShape* shape);

 private:
  const AlignedFile& file_;
  OffsetTableBuilder shown_;
  OffsetTableBuilder placed_;
  IndexLinesOf lines_;
  SomeGaps gaps_;
  TfrecordSpan last_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_INDEX_PADDED_BUILDER_H_
