// SPDX-License-Identifier: Apache-2.0
// The text of an index of TFRecords with any bytes at all: it is refused, or
// what it says comes back the same when it is written. If that could be the
// records of a file, it is known as the index of these.
#include <stdint.h>
#include <stdlib.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/formats/tfrecord/tfrecord_index.h"
#include "core/records/index/offset_table_builder.h"

namespace shufflefs {
namespace {

void Require(bool holds) {
  if (!holds) abort();
}

bool Tiles(const std::vector<TfrecordSpan>& spans) {
  uint64_t end = 0;
  for (const TfrecordSpan& span : spans) {
    if (span.offset != end || span.bytes == 0 || span.bytes > 1 << 30) {
      return false;
    }
    end += span.bytes;
  }
  return true;
}

void Run(absl::string_view text) {
  const auto spans = ParseTfrecordIndex(text);
  if (!spans.ok()) {
    Require(spans.status().code() == absl::StatusCode::kInvalidArgument);
    Require(!IsTfrecordIndexOf(text, FixedTable(0, 19, 2)));
    return;
  }
  std::string again;
  for (const TfrecordSpan& span : *spans) {
    AppendTfrecordIndexLine(span, {}, &again);
  }
  const auto reread = ParseTfrecordIndex(again);
  Require(reread.ok() && *reread == *spans);
  if (!Tiles(*spans)) return;
  OffsetTableBuilder builder;
  if (!spans->empty()) builder.Begin(0);
  for (const TfrecordSpan& span : *spans) builder.Add(span.bytes);
  const auto table = builder.Finish();
  Require(IsTfrecordIndexOf(text, *table));
  std::vector<uint64_t> order(table->count());
  std::iota(order.begin(), order.end(), uint64_t{0});
  Require(WriteTfrecordIndex(*table, order) == again);
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shufflefs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
