// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/tfrecord_index.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

void SkipBlanks(absl::string_view& line) {
  while (!line.empty() && IsBlank(line.front())) line.remove_prefix(1);
}

bool TakeNumber(absl::string_view& line, uint64_t* number) {
  SkipBlanks(line);
  const char* const end = line.data() + line.size();
  const auto [at, error] = std::from_chars(line.data(), end, *number);
  if (error != std::errc() || (at != end && !IsBlank(*at))) return false;
  line.remove_prefix(static_cast<size_t>(at - line.data()));
  return true;
}

void AppendNumber(uint64_t number, uint32_t width, std::string* text) {
  const absl::AlphaNum digits(number);
  if (digits.size() < width) text->append(width - digits.size(), ' ');
  text->append(digits.data(), digits.size());
}

uint32_t Digits(uint64_t number) {
  return static_cast<uint32_t>(absl::AlphaNum(number).size());
}

}  // namespace

TfrecordIndexWidths EqualLines(const RecordTable& table) {
  uint64_t largest = 0;
  uint64_t smallest = ~uint64_t{0};
  for (uint64_t record = 0; record < table.count(); ++record) {
    largest = std::max(largest, table.bytes(record));
    smallest = std::min(smallest, table.bytes(record));
  }
  if (table.count() == 0) return {};
  // The last record has the largest offset if it is the smallest record.
  return {.offset = Digits(table.begin(table.count()) - smallest),
          .bytes = Digits(largest)};
}

void AppendTfrecordIndexLine(const TfrecordSpan& span,
                             const TfrecordIndexWidths& widths,
                             std::string* text) {
  AppendNumber(span.offset, widths.offset, text);
  text->push_back(' ');
  AppendNumber(span.bytes, widths.bytes, text);
  text->push_back('\n');
}

std::string WriteTfrecordIndex(const RecordTable& table,
                               absl::Span<const uint64_t> order,
                               const TfrecordIndexWidths& widths) {
  std::string text;
  if (table.count() == 0) return text;
  TfrecordSpan span = {.offset = table.begin(0), .bytes = 0};
  for (const uint64_t record : order) {
    span.bytes = table.bytes(record);
    AppendTfrecordIndexLine(span, widths, &text);
    span.offset += span.bytes;
  }
  return text;
}

bool TakeTfrecordIndexLine(absl::string_view& text, TfrecordSpan* span) {
  const size_t length = std::min(text.find('\n'), text.size());
  absl::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  if (!TakeNumber(line, &span->offset)) return false;
  if (!TakeNumber(line, &span->bytes)) return false;
  SkipBlanks(line);
  return line.empty();
}

absl::StatusOr<std::vector<TfrecordSpan>> ParseTfrecordIndex(
    absl::string_view text) {
  std::vector<TfrecordSpan> spans;
  while (!text.empty()) {
    TfrecordSpan& span = spans.emplace_back();
    if (!TakeTfrecordIndexLine(text, &span)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", spans.size(), " is not an offset and a size"));
    }
  }
  return spans;
}

bool IsTfrecordIndexOf(absl::string_view text, const RecordTable& table) {
  TfrecordSpan span;
  for (uint64_t record = 0; record < table.count(); ++record) {
    if (text.empty() || !TakeTfrecordIndexLine(text, &span) ||
        span.offset != table.begin(record) ||
        span.bytes != table.bytes(record)) {
      return false;
    }
  }
  return text.empty();
}

}  // namespace shufflefs
