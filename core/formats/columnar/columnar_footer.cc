// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/columnar_footer.h"

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMaxFooterBytes = uint64_t{256} << 20;

}  // namespace

absl::Status CheckFooterLength(uint64_t bytes) {
  if (bytes <= kMaxFooterBytes) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("its footer has ", bytes, " bytes"));
}

absl::Status CheckFooterSizes(const FooterSizes& sizes) {
  if (sizes.wanted > sizes.file || sizes.head > sizes.file - sizes.wanted) {
    return absl::DataLossError(
        absl::StrCat("by its last bytes, its footer has ", sizes.wanted,
                     " bytes, but it ends at byte ", sizes.file));
  }
  if (sizes.wanted != sizes.read) {
    return absl::DataLossError(absl::StrCat("its footer has ", sizes.wanted,
                                            " bytes, of which ", sizes.read,
                                            " were read"));
  }
  return absl::OkStatus();
}

}  // namespace shufflefs
