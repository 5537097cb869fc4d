// SPDX-License-Identifier: Apache-2.0
// Indexes of offsets that lie in another directory than what they are of.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/catalogue.h"
#include "core/records/container_set.h"

namespace shufflefs {
namespace {

// Of the indexes of offsets that DALI's wds2idx, tfrecord2idx and others make.
constexpr absl::string_view kIndexExtensions[] = {".idx", ".index", ".tfindex"};

// What an index of offsets is called without its extension; "" if this is none.
absl::string_view IndexedName(absl::string_view name) {
  for (const absl::string_view extension : kIndexExtensions) {
    if (absl::EndsWith(name, extension)) {
      return name.substr(0, name.size() - extension.size());
    }
  }
  return "";
}

}  // namespace

void ContainerSet::FindLoneIndexes() {
  const Catalogue& catalogue = dataset_->catalogue();
  const DirId root = dataset_->root();
  for (uint32_t e = catalogue.first_entry(root).value();
       e < catalogue.entries_end(root).value(); ++e) {
    const EntryId file(e);
    const absl::string_view indexed = IndexedName(catalogue.name(file));
    if (indexed.empty() || catalogue.kind(file) != EntryKind::kFile) continue;
    const DirId dir = catalogue.parent(file);
    bool is_beside = false;
    for (const absl::string_view extension :
         {"", ".tfrecord", ".tfrecords", ".tar"}) {
      is_beside |=
          catalogue.Find(dir, absl::StrCat(indexed, extension)).has_value();
    }
    if (is_beside) continue;
    lone_indexes_.try_emplace(std::string(indexed), catalogue.path(file));
  }
}

}  // namespace shufflefs
