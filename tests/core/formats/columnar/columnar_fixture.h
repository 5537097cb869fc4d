// SPDX-License-Identifier: Apache-2.0
// Columnar containers: true footers behind any bytes.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_COLUMNAR_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_COLUMNAR_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/columnar/arrow_file.h"
#include "core/formats/columnar/columnar_groups.h"
#include "core/formats/columnar/parquet_footer.h"
#include "core/records/order/shuffled_file.h"
#include "gtest/gtest.h"
#include "tests/core/formats/columnar/arrow_fixture.h"
#include "tests/core/formats/columnar/parquet_fixture.h"
#include "tests/core/records/containers/record_fixture.h"

namespace shufflefs::testing_support {

inline ContainerShape ColumnarShape(
    absl::StatusOr<std::unique_ptr<ColumnarFooter>> footer, uint64_t bytes) {
  ContainerShape shape;
  shape.file_bytes = bytes;
  if (!footer.ok()) {
    ADD_FAILURE() << footer.status();
    return shape;
  }
  shape.columnar = std::make_shared<ColumnarGroups>(*std::move(footer));
  shape.records = shape.columnar->AsRecords();
  return shape;
}

// A Parquet file with row groups of so many bytes.
inline Container MakeParquet(const std::vector<uint64_t>& sizes, bool ordinals,
                             Rng& rng) {
  std::vector<ParquetGroup> groups(sizes.size());
  Container made;
  made.content = "PAR1";
  for (size_t i = 0; i < sizes.size(); ++i) {
    groups[i].begin = made.content.size();
    groups[i].column_bytes = {sizes[i]};
    groups[i].rows = static_cast<int64_t>(i);
    if (ordinals) groups[i].ordinal = static_cast<int>(i);
    made.content += Letters(sizes[i], rng);
  }
  const std::string footer = ParquetFooterOf(groups);
  made.content += footer;
  made.shape = ColumnarShape(ParseParquetFooter(footer, made.content.size()),
                             made.content.size());
  return made;
}

// An Arrow file with record batches of so many bytes.
inline Container MakeArrowFile(const std::vector<uint64_t>& sizes, Rng& rng) {
  std::vector<ArrowBlock> blocks;
  Container made;
  made.content.assign("ARROW1\0\0", 8);
  for (const uint64_t size : sizes) {
    blocks.push_back({static_cast<int64_t>(made.content.size()), 56,
                      static_cast<int64_t>(size)});
    made.content += Letters(56 + size, rng);
  }
  const std::string footer = ArrowFooterOf(blocks, {});
  made.content += footer;
  made.shape = ColumnarShape(ParseArrowFooter(footer, made.content.size()),
                             made.content.size());
  return made;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_COLUMNAR_COLUMNAR_FIXTURE_H_
