// SPDX-License-Identifier: Apache-2.0
#include "core/source/backing_choice.h"

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

std::string Kib(uint64_t bytes) { return absl::StrCat(bytes / 1024, " KiB"); }

}  // namespace

BackingChoice ChooseBacking(const BackingFacts& facts) {
  if (!facts.refused.empty()) return {false, facts.refused};
  if (facts.files == 0) return {false, "there are no files"};
  const uint64_t mean = facts.bytes / facts.files;
  if (mean < facts.least) {
    return {false, absl::StrCat("files have ", Kib(mean),
                                " on average, less than ", Kib(facts.least))};
  }
  return {true, absl::StrCat("files have ", Kib(mean), " on average"),
          facts.least};
}

}  // namespace shufflefs
