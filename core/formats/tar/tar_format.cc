// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/tar_format.h"

#include <memory>

#include "core/formats/tar/tar_scanner.h"

namespace shufflefs {
namespace {

class Tar : public RecordFormat {
 public:
  absl::string_view name() const override { return "tar"; }
  absl::Span<const absl::string_view> suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".tar"};
    return kSuffixes;
  }
  // As DALI's wds2idx and others write them.
  absl::Span<const absl::string_view> index_suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".idx", ".index"};
    return kSuffixes;
  }
  bool LooksLike(absl::string_view head) const override {
    return LooksLikeTar(head);
  }
  std::unique_ptr<RecordScanner> MakeScanner(
      const CandidateFile& file) const override {
    return MakeTarScanner(file.bytes);
  }
  bool has_names() const override { return true; }
};

}  // namespace

const RecordFormat& TarFormat() {
  static const Tar format;
  return format;
}

}  // namespace shufflefs
