// SPDX-License-Identifier: Apache-2.0
// The containers of a view whose records are mixed with each other's.
#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/catalogue.h"
#include "core/records/container_set.h"

namespace shufflefs {
namespace {

// "train-00003-of-00128.tar": the name without its number, and the numbers.
struct Shard {
  std::string name;
  uint64_t number = 0;
  uint64_t of = 0;
};

size_t DigitsFrom(absl::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(text[end]))) {
    ++end;
  }
  return end - at;
}

absl::optional<Shard> ShardOf(absl::string_view name) {
  const size_t of = name.rfind("-of-");
  if (of == absl::string_view::npos) return absl::nullopt;
  const size_t dash = name.substr(0, of).rfind('-');
  if (dash == absl::string_view::npos) return absl::nullopt;
  const size_t digits = DigitsFrom(name, of + 4);
  Shard shard;
  if (DigitsFrom(name, dash + 1) != of - dash - 1 ||
      !absl::SimpleAtoi(name.substr(dash + 1, of - dash - 1), &shard.number) ||
      !absl::SimpleAtoi(name.substr(of + 4, digits), &shard.of)) {
    return absl::nullopt;
  }
  shard.name = absl::StrCat(name.substr(0, dash), name.substr(of));
  return shard;
}

}  // namespace

void ContainerSet::Group(RecordScope scope) {
  const Catalogue& catalogue = dataset_->catalogue();
  using Key = std::tuple<RecordFormat, uint32_t, std::string>;
  struct Found {
    std::map<uint64_t, size_t> members;  // by number, in containers_
    uint64_t wanted = 0;
  };
  std::map<Key, Found> families;
  for (size_t c = 0; c < containers_.size(); ++c) {
    const Container& container = containers_[c];
    if (scope == RecordScope::kView) {
      families[{container.format, 0, ""}].members[c] = c;
      continue;
    }
    const auto shard = ShardOf(catalogue.name(container.file));
    if (!shard) continue;  // it shows its own
    const uint32_t dir = catalogue.parent(container.file).value();
    Found& found = families[{container.format, dir, shard->name}];
    found.members[shard->number] = c;
    found.wanted = shard->of;
  }
  for (const auto& [key, found] : families) {
    Alignment family;
    family.is_family = true;
    for (const auto& [number, c] : found.members) {
      containers_[c].alignment = alignments_.size();
      containers_[c].key = containers_[found.members.begin()->second].key;
      family.members.push_back(c);
    }
    if (scope == RecordScope::kSet &&
        (found.members.size() != found.wanted ||
         found.members.rbegin()->first >= found.wanted)) {
      family.why_not =
          absl::StrCat("record.scope: of its set ", found.members.size(),
                       " containers of ", found.wanted, " are there");
    }
    alignments_.push_back(std::move(family));
  }
}

void ContainerSet::Join(Alignment& family) const {
  const Catalogue& catalogue = dataset_->catalogue();
  std::string why = family.why_not;
  std::vector<ContainerShape> shapes;
  std::vector<EntryId> files;
  for (const size_t member : family.members) {
    const absl::StatusOr<ContainerShape>& found = family.found.at(member);
    const EntryId file = containers_[member].file;
    const std::string path = catalogue.path(file);
    if (!why.empty()) break;
    if (!found.ok()) {
      why =
          absl::StrCat("record.scope: ", path, ": ", found.status().message());
    } else if (found->records == nullptr || found->columnar != nullptr) {
      why = absl::StrCat("record.scope: ", path,
                         ": its records cannot be mixed with others");
    } else if (!shapes.empty() &&
               found->head_hash != shapes.front().head_hash) {
      why = absl::StrCat("record.scope: ", path, " begins with another header",
                         " than ", catalogue.path(files.front()));
    } else {
      shapes.push_back(*found);
      files.push_back(file);
    }
  }
  if (!why.empty()) {
    for (auto& [member, found] : family.found) {
      found = absl::FailedPreconditionError(why);
    }
    return;
  }
  auto joined = std::make_shared<ContainerFamily>();
  joined->table = std::make_shared<FamilyTable>(std::move(shapes));
  joined->files = std::make_shared<const std::vector<EntryId>>(files);
  for (size_t m = 0; m < family.members.size(); ++m) {
    absl::StatusOr<ContainerShape>& found = family.found.at(family.members[m]);
    found->family = joined;
    found->member = m;
  }
}

}  // namespace shufflefs
