// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/columnar_formats.h"

#include <memory>

#include "core/base/status.h"
#include "core/formats/columnar/arrow_file.h"
#include "core/formats/columnar/arrow_stream.h"
#include "core/formats/columnar/columnar_groups.h"
#include "core/formats/columnar/parquet_footer.h"

namespace shufflefs {
namespace {

class Parquet : public RecordFormat {
 public:
  absl::string_view name() const override { return "parquet"; }
  absl::Span<const absl::string_view> suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".parquet"};
    return kSuffixes;
  }
  absl::Span<const absl::string_view> directory_suffixes() const override {
    return suffixes();
  }
  bool may_list_files() const override { return true; }
  absl::string_view unit() const override { return "row group"; }
  absl::string_view units() const override { return "row groups"; }
  bool is_columnar() const override { return true; }
  uint64_t tail_bytes() const override { return kColumnarTailBytes; }
  absl::StatusOr<std::shared_ptr<const ColumnarGroups>> ReadFooter(
      int fd, const CandidateFile& file, absl::string_view tail) const override {
    return ReadColumnarGroups(fd, file.bytes, ColumnarFormat::kParquet, tail);
  }
  bool LooksLike(absl::string_view head) const override {
    return LooksLikeParquet(head);
  }
};

class Arrow : public RecordFormat {
 public:
  absl::string_view name() const override { return "arrow"; }
  absl::Span<const absl::string_view> suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".arrow", ".arrows",
                                                      ".feather"};
    return kSuffixes;
  }
  absl::Span<const absl::string_view> directory_suffixes() const override {
    return suffixes().first(1);
  }
  absl::string_view unit() const override { return "record batch"; }
  absl::string_view units() const override { return "record batches"; }
  bool is_columnar() const override { return true; }
  uint64_t tail_bytes() const override { return kColumnarTailBytes; }
  absl::StatusOr<std::shared_ptr<const ColumnarGroups>> ReadFooter(
      int fd, const CandidateFile& file, absl::string_view tail) const override {
    if (!EndsLikeArrowFile(tail)) {
      return std::shared_ptr<const ColumnarGroups>();
    }
    return ReadColumnarGroups(fd, file.bytes, ColumnarFormat::kArrowFile, tail);
  }
  absl::StatusOr<absl::optional<FixedShape>> ReadHead(
      const CandidateFile&, absl::string_view head) const override {
    // The file begins like an Arrow file, so this error says more.
    if (LooksLikeArrowFile(head)) {
      return absl::DataLossError("it does not end as an Arrow file does");
    }
    return absl::nullopt;
  }
  bool LooksLike(absl::string_view head) const override {
    return LooksLikeArrowStream(head);
  }
  std::unique_ptr<RecordScanner> MakeScanner(
      const CandidateFile& file) const override {
    return MakeArrowStreamScanner(file.bytes);
  }
};

}  // namespace

// Defined here, beside the formats that have a footer.
absl::StatusOr<std::shared_ptr<const ColumnarGroups>> RecordFormat::ReadFooter(
    int, const CandidateFile&, absl::string_view) const {
  return std::shared_ptr<const ColumnarGroups>();
}

const RecordFormat& ParquetFormat() {
  static const Parquet format;
  return format;
}

const RecordFormat& ArrowFormat() {
  static const Arrow format;
  return format;
}

}  // namespace shufflefs
