// SPDX-License-Identifier: Apache-2.0
// The text of an index of TFRecords with any bytes at all: it is refused, or
// what it says comes back the same when it is written, in pieces of any size.
// If that could be the records of a file, it is known as the index of these,
// and of no others. The index of them in another order has the size that was
// computed.
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/formats/tfrecord/tfrecord_index.h"
#include "core/records/index/offset_table_builder.h"
#include "core/records/index/sidecar_index.h"

namespace shufflefs {
namespace {

void Require(bool holds) {
  if (!holds) abort();
}

using Spans = std::vector<TfrecordSpan>;

// Nothing if the text is refused.
absl::optional<Spans> SpansOf(absl::string_view text, size_t piece) {
  Spans spans;
  TfrecordIndexLines lines;
  const TfrecordIndexLines::Take take = [&](const TfrecordSpan& span) {
    spans.push_back(span);
    return absl::OkStatus();
  };
  while (!text.empty()) {
    const absl::Status fed = lines.Feed(text.substr(0, piece), take);
    if (!fed.ok()) {
      Require(fed.code() == absl::StatusCode::kInvalidArgument);
      return absl::nullopt;
    }
    text.remove_prefix(std::min(piece, text.size()));
  }
  if (!lines.Finish(take).ok()) return absl::nullopt;
  return spans;
}

bool Tiles(const Spans& spans) {
  uint64_t end = 0;
  for (const TfrecordSpan& span : spans) {
    if (span.offset != end || span.bytes == 0 || span.bytes > 1 << 30) {
      return false;
    }
    end += span.bytes;
  }
  return true;
}

// Of the first `count` records.
bool IsIndexOf(const Spans& spans, size_t count) {
  OffsetTableBuilder builder;
  builder.Begin(0);
  for (size_t i = 0; i < count; ++i) builder.Add(spans[i].bytes);
  const auto table = builder.Finish();
  IndexComparison comparison(*table);
  for (const TfrecordSpan& span : spans) {
    if (!comparison.Take(span)) return false;
  }
  return comparison.all();
}

// The index of the records in the opposite order.
void TryOpposite(const Spans& spans, uint64_t source_bytes) {
  IndexLinesOf of;
  for (const TfrecordSpan& span : spans) of.Add(span.bytes);
  const IndexLines lines = of.Finish(source_bytes);
  Require(lines.bytes >= source_bytes && lines.blanks < spans.size());
  std::string text(lines.blanks, ' ');
  Spans opposite;
  TfrecordSpan next;
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    next = {next.offset + next.bytes, span->bytes};
    opposite.push_back(next);
    AppendTfrecordIndexLine(next, lines.widths, &text);
  }
  Require(text.size() == lines.bytes);
  const uint64_t line_bytes = (lines.bytes - lines.blanks) / spans.size();
  if (line_bytes > 256) return;  // such lines are refused
  Require(SpansOf(text, text.size()) == opposite);
}

void Run(absl::string_view text) {
  const absl::optional<Spans> spans = SpansOf(text, text.size());
  Require(SpansOf(text, 1 + text.size() % 7) == spans);
  if (!spans) return;
  std::string again;
  for (const TfrecordSpan& span : *spans) {
    AppendTfrecordIndexLine(span, {}, &again);
  }
  Require(SpansOf(again, again.size()) == *spans);
  if (spans->empty() || !Tiles(*spans)) return;
  Require(IsIndexOf(*spans, spans->size()));
  Require(!IsIndexOf(*spans, spans->size() - 1));
  TryOpposite(*spans, text.size());
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shufflefs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
