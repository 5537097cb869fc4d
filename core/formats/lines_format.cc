// SPDX-License-Identifier: Apache-2.0
#include "core/formats/lines_format.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/formats/lines_scanner.h"

namespace shufflefs {
namespace {

LinesOptions OptionsOf(const CandidateFile& file) {
  LinesOptions options;
  options.header_lines = file.options->header;
  options.csv = absl::EndsWithIgnoreCase(file.path, ".csv") ||
                absl::EndsWithIgnoreCase(file.path, ".tsv");
  options.csv_quoted =
      options.csv && file.options->csv == RecordOptions::Csv::kQuoted;
  return options;
}

class Lines : public RecordFormat {
 public:
  absl::string_view name() const override { return "lines"; }
  absl::Span<const absl::string_view> likely_suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {
        ".svm",   ".libsvm", ".csv", ".tsv",
        ".jsonl", ".ndjson", ".txt", ".labels"};
    return kSuffixes;
  }
  absl::Span<const absl::string_view> options() const override {
    static constexpr absl::string_view kOptions[] = {"header", "csv"};
    return kOptions;
  }
  bool differs_by_extension() const override { return true; }
  bool ends_lines() const override { return true; }
  // Accepts any bytes; the scanner refuses what is no text.
  bool LooksLike(absl::string_view) const override { return true; }
  std::unique_ptr<RecordScanner> MakeScanner(
      const CandidateFile& file) const override {
    return MakeLinesScanner(OptionsOf(file));
  }
  std::string ScanKey(const CandidateFile& file) const override {
    const LinesOptions options = OptionsOf(file);
    return absl::StrCat(name(), " header=", options.header_lines,
                        options.csv_quoted ? " quoted"
                        : options.csv      ? " csv"
                                           : "");
  }
};

}  // namespace

const RecordFormat& LinesFormat() {
  static const Lines format;
  return format;
}

}  // namespace shufflefs
