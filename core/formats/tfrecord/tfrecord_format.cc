// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/tfrecord_format.h"

#include <memory>

#include "core/formats/tfrecord/tfrecord_scanner.h"

namespace shufflefs {
namespace {

class Tfrecord : public RecordFormat {
 public:
  absl::string_view name() const override { return "tfrecord"; }
  absl::Span<const absl::string_view> suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".tfrecord",
                                                      ".tfrecords"};
    return kSuffixes;
  }
  bool names_shards() const override { return true; }
  // As tfrecord2idx and others write them.
  absl::Span<const absl::string_view> index_suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".idx", ".index",
                                                      ".tfindex"};
    return kSuffixes;
  }
  absl::string_view rewritten_index() const override { return ".idx"; }
  absl::Span<const absl::string_view> directory_suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".tfrecord"};
    return kSuffixes;
  }
  bool may_be_padded() const override { return true; }
  bool LooksLike(absl::string_view head) const override {
    return LooksLikeTfrecord(head);
  }
  std::unique_ptr<RecordScanner> MakeScanner(
      const CandidateFile& file) const override {
    return MakeTfrecordScanner(file.bytes);
  }
};

}  // namespace

const RecordFormat& TfrecordFormat() {
  static const Tfrecord format;
  return format;
}

}  // namespace shufflefs
