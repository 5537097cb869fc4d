// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/tfrecord_index.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "absl/strings/str_cat.h"

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

}  // namespace

void AppendTfrecordIndexLine(const TfrecordSpan& span,
                             const TfrecordIndexWidths& widths,
                             std::string* text) {
  AppendNumber(span.offset, widths.offset, text);
  text->push_back(' ');
  AppendNumber(span.bytes, widths.bytes, text);
  text->push_back('\n');
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

}  // namespace shufflefs
