// SPDX-License-Identifier: Apache-2.0
#include "core/formats/record_rules.h"

#include <fnmatch.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

struct Named {
  RecordFormat format;
  absl::string_view name;
};
constexpr Named kNames[] = {
    {RecordFormat::kTfrecord, "tfrecord"}, {RecordFormat::kTar, "tar"},
    {RecordFormat::kParquet, "parquet"},   {RecordFormat::kArrow, "arrow"},
    {RecordFormat::kLines, "lines"},       {RecordFormat::kFixed, "fixed"},
    {RecordFormat::kNpy, "npy"},           {RecordFormat::kIdx, "idx"}};

// Names that say so themselves.
struct Suffix {
  absl::string_view suffix;
  RecordFormat format;
};
constexpr Suffix kSuffixes[] = {{".tar", RecordFormat::kTar},
                                {".tfrecord", RecordFormat::kTfrecord},
                                {".tfrecords", RecordFormat::kTfrecord},
                                {".parquet", RecordFormat::kParquet},
                                {".arrow", RecordFormat::kArrow},
                                {".arrows", RecordFormat::kArrow},
                                {".feather", RecordFormat::kArrow}};

bool AreDigits(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
  }
  return !text.empty();
}

// "train-00000-of-01024", as writers of shards name them.
bool IsShardName(absl::string_view name) {
  const size_t of = name.rfind("-of-");
  if (of == absl::string_view::npos || !AreDigits(name.substr(of + 4))) {
    return false;
  }
  const size_t dash = name.substr(0, of).rfind('-');
  return dash != absl::string_view::npos &&
         AreDigits(name.substr(dash + 1, of - dash - 1));
}

}  // namespace

absl::string_view RecordFormatName(RecordFormat format) {
  for (const Named& known : kNames) {
    if (known.format == format) return known.name;
  }
  return "";
}

absl::string_view RecordLevelName(RecordFormat format) {
  switch (format) {
    case RecordFormat::kParquet:
      return "row groups";
    case RecordFormat::kArrow:
      return "record batches";
    default:
      return "records";
  }
}

absl::optional<RecordFormat> RecordFormatOf(absl::string_view name) {
  for (const Named& known : kNames) {
    if (known.name == name) return known.format;
  }
  return absl::nullopt;
}

absl::StatusOr<RecordRules> RecordRules::Parse(const RecordOptions& options) {
  RecordRules rules;
  rules.options_ = options;
  ASSIGN_OR_RETURN(rules.align_, AlignRules::Parse(options.align));
  for (absl::string_view rule :
       absl::StrSplit(options.as, ';', absl::SkipWhitespace())) {
    rule = absl::StripAsciiWhitespace(rule);
    const size_t colon = rule.rfind(':');
    const auto format = colon == absl::string_view::npos
                            ? absl::nullopt
                            : RecordFormatOf(absl::StripAsciiWhitespace(
                                  rule.substr(colon + 1)));
    if (!format || colon == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "record.as: \"", rule,
          "\" is not PATTERN:FORMAT with a format of tfrecord, tar, parquet, "
          "arrow, lines, fixed, npy, idx"));
    }
    if (*format == RecordFormat::kFixed && options.bytes == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("record.as: \"", rule,
                       "\" needs record.bytes, the size of a record"));
    }
    const absl::string_view pattern =
        absl::StripTrailingAsciiWhitespace(rule.substr(0, colon));
    rules.rules_.push_back({std::string(pattern), *format});
  }
  return rules;
}

absl::optional<RecordFormat> RecordRules::Asked(absl::string_view path) const {
  const std::string whole(path);
  const std::string name(path.substr(path.rfind('/') + 1));
  for (const Rule& rule : rules_) {
    const bool by_path = absl::StrContains(rule.pattern, '/');
    const std::string& text = by_path ? whole : name;
    if (fnmatch(rule.pattern.c_str(), text.c_str(), FNM_PATHNAME) == 0) {
      return rule.format;
    }
  }
  return absl::nullopt;
}

absl::optional<RecordFormat> FormatByName(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const Suffix& known : kSuffixes) {
    if (absl::EndsWith(lower, known.suffix)) return known.format;
  }
  // Of shards what is in them is seen from their first bytes.
  if (IsShardName(lower)) return RecordFormat::kTfrecord;
  return absl::nullopt;
}

absl::optional<RecordFormat> LikelyFormat(absl::string_view name) {
  constexpr std::pair<absl::string_view, RecordFormat> kEnds[] = {
      {".npy", RecordFormat::kNpy},     {"-ubyte", RecordFormat::kIdx},
      {".ubyte", RecordFormat::kIdx},   {".idx", RecordFormat::kIdx},
      {".svm", RecordFormat::kLines},   {".libsvm", RecordFormat::kLines},
      {".csv", RecordFormat::kLines},   {".tsv", RecordFormat::kLines},
      {".jsonl", RecordFormat::kLines}, {".ndjson", RecordFormat::kLines},
      {".txt", RecordFormat::kLines},   {".labels", RecordFormat::kLines},
      {".bin", RecordFormat::kFixed}};
  for (const auto& [end, format] : kEnds) {
    if (absl::EndsWithIgnoreCase(name, end)) return format;
  }
  return FormatByName(name);
}

}  // namespace shufflefs
