// SPDX-License-Identifier: Apache-2.0
#include "core/formats/fixed_formats.h"

#include "absl/strings/match.h"
#include "core/base/status.h"
#include "core/formats/idx_header.h"
#include "core/formats/npy_header.h"

namespace shufflefs {
namespace {

class Fixed : public RecordFormat {
 public:
  absl::string_view name() const override { return "fixed"; }
  absl::Span<const absl::string_view> likely_suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".bin"};
    return kSuffixes;
  }
  absl::Span<const absl::string_view> options() const override {
    static constexpr absl::string_view kOptions[] = {"bytes", "header"};
    return kOptions;
  }
  absl::Status CheckOptions(const RecordOptions& options) const override {
    if (options.bytes > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "needs the size of a record: append ,bytes=SIZE, or set record.bytes");
  }
  absl::StatusOr<absl::optional<FixedShape>> ReadHead(
      const CandidateFile& file, absl::string_view) const override {
    return PlainShape(file.bytes, file.options->header, file.options->bytes);
  }
  bool LooksLike(absl::string_view) const override { return true; }
};

class Npy : public RecordFormat {
 public:
  absl::string_view name() const override { return "npy"; }
  absl::Span<const absl::string_view> likely_suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".npy"};
    return kSuffixes;
  }
  absl::StatusOr<absl::optional<FixedShape>> ReadHead(
      const CandidateFile& file, absl::string_view head) const override {
    return ParseNpyHeader(head, file.bytes);
  }
  bool LooksLike(absl::string_view head) const override {
    return absl::StartsWith(head, "\x93NUMPY");
  }
};

class Idx : public RecordFormat {
 public:
  absl::string_view name() const override { return "idx"; }
  absl::Span<const absl::string_view> likely_suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {"-ubyte", ".ubyte",
                                                      ".idx"};
    return kSuffixes;
  }
  absl::StatusOr<absl::optional<FixedShape>> ReadHead(
      const CandidateFile& file, absl::string_view head) const override {
    return ParseIdxHeader(head, file.bytes);
  }
  bool LooksLike(absl::string_view head) const override {
    return absl::StartsWith(head, absl::string_view("\0\0", 2));
  }
};

}  // namespace

const RecordFormat& FixedFormat() {
  static const Fixed format;
  return format;
}

const RecordFormat& NpyFormat() {
  static const Npy format;
  return format;
}

const RecordFormat& IdxFormat() {
  static const Idx format;
  return format;
}

}  // namespace shufflefs
