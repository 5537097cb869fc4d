// SPDX-License-Identifier: Apache-2.0
// A catalogue file with any bytes at all: it is refused, or whatever is done
// with it is safe. Every input gets a checksum that fits, as an attacker
// would give it one. The corpus begins with a small catalogue that is valid.
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/catalogue/catalogue.h"
#include "core/catalogue/catalogue_file.h"
#include "core/dataset/grouping.h"
#include "core/dataset/substitution_safety.h"
#include "tests/testing/checked_bytes.h"

namespace shufflefs {
namespace {

void Require(bool holds) {
  if (!holds) abort();
}

void WalkEverything(const Catalogue& catalogue) {
  for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
    EntryId entry(e);
    std::string path = catalogue.path(entry);
    Require(catalogue.FindPath(path) == entry);
    catalogue.attributes(entry);
    if (catalogue.kind(entry) == EntryKind::kDirectory) {
      Require(catalogue.FindDir(path) == catalogue.as_dir(entry));
    }
  }
  for (uint32_t d = 0; d < catalogue.dir_count(); ++d) {
    DirId dir(d);
    catalogue.dir_attributes(dir);
    Require(catalogue.subtree_end(dir) > dir);
    for (uint32_t k = 0; k < catalogue.dir_size(dir); ++k) {
      Require(catalogue.parent(catalogue.in_source_order(dir, k)) == dir);
    }
  }
  Judge(catalogue, DirId(0), SubstitutionSafetyOptions());
  GroupingOptions options;
  options.substitute = Substitute::kTree;
  absl::StatusOr<Grouping> grouping = Grouping::Make(catalogue, options);
  Require(grouping.ok());
  for (uint64_t s = 0; s < grouping->sample_count(); ++s) {
    EntryId entry = grouping->first_member(SampleId(s));
    Require(grouping->sample(entry) == SampleId(s));
  }
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  shufflefs::testing_support::Seal(bytes);
  const std::string path =
      (std::filesystem::temp_directory_path() /
       absl::StrCat("shufflefs-catalogue-fuzz.", ::getpid()))
          .string();
  std::ofstream(path, std::ios::binary) << bytes;
  absl::StatusOr<shufflefs::Catalogue> parsed = shufflefs::LoadCatalogue(path);
  ::unlink(path.c_str());
  if (parsed.ok()) shufflefs::WalkEverything(*parsed);
  return 0;
}
