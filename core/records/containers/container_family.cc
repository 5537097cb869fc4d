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
#include "core/catalogue/catalogue.h"
#include "core/records/containers/container_set.h"

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

// What is behind the last dot of a name: "csv" of "a-0-of-2.csv" and of
// "a.csv-0-of-2".
std::string ExtensionOf(absl::string_view name) {
  const absl::optional<Shard> shard = ShardOf(name);
  const std::string whole = shard ? shard->name : std::string(name);
  const size_t dot = whole.rfind('.');
  if (dot == std::string::npos) return "";
  return whole.substr(dot + 1, whole.find("-of-", dot) - dot - 1);
}

// The number is that of the directory, or of who may read.
using FamilyKey = std::tuple<RecordFormat, std::string, uint32_t>;
struct FoundFamily {
  std::map<uint64_t, size_t> members;  // by number, in containers_
  uint64_t wanted = 0;
};

bool SomeDifferInReadersOnly(
    const std::map<FamilyKey, FoundFamily>& families) {
  const auto differ = std::adjacent_find(
      families.begin(), families.end(), [](const auto& a, const auto& b) {
        return std::get<0>(a.first) == std::get<0>(b.first) &&
               std::get<1>(a.first) == std::get<1>(b.first);
      });
  return differ != families.end();
}

}  // namespace

std::string ContainerSet::ScopeObjection(EntryId file,
                                         RecordFormat format) const {
  const RecordScope scope = rules_.options().scope;
  if (!IsColumnar(format) || scope == RecordScope::kFile ||
      (scope == RecordScope::kSet &&
       !ShardOf(dataset_->catalogue().name(file)))) {
    return "";
  }
  return absl::StrCat("record.scope: ", RecordLevelName(format),
                      " are not mixed with those of other files");
}

// A record that somebody may not read would be shown to him as one of a file
// that he may.
std::string ContainerSet::WhyNotShared(
    const std::map<uint64_t, size_t>& members) const {
  const Catalogue& catalogue = dataset_->catalogue();
  const EntryId first = containers_[members.begin()->second].file;
  for (const auto& [number, c] : members) {
    const EntryId file = containers_[c].file;
    if (catalogue.access(file) == catalogue.access(first)) continue;
    return absl::StrCat("record.scope: not all who may read ",
                        catalogue.path(first), " or ", catalogue.path(file),
                        " may read both");
  }
  return "";
}

void ContainerSet::Group() {
  const Catalogue& catalogue = dataset_->catalogue();
  const bool sets = rules_.options().scope == RecordScope::kSet;
  std::map<FamilyKey, FoundFamily> families;
  for (size_t c = 0; c < containers_.size(); ++c) {
    const Container& container = containers_[c];
    if (container.keeps_order) continue;
    const absl::string_view name = catalogue.name(container.file);
    if (!sets) {
      // Lines of other extensions are lines of another kind.
      const bool any = container.format != RecordFormat::kLines;
      families[{container.format, any ? "" : ExtensionOf(name),
                catalogue.access(container.file).value()}]
          .members[c] = c;
      continue;
    }
    const auto shard = ShardOf(name);
    if (!shard) continue;  // it shows its own
    const uint32_t dir = catalogue.parent(container.file).value();
    FoundFamily& found = families[{container.format, shard->name, dir}];
    found.members.try_emplace(shard->number, c);
    found.wanted = shard->of;
  }
  if (!sets && SomeDifferInReadersOnly(families)) {
    parted_ =
        "record.scope: records of files that not the same users may read are "
        "not mixed with each other";
  }
  for (const auto& [key, found] : families) {
    Alignment family;
    family.is_family = true;
    if (sets && (found.members.size() != found.wanted ||
                 found.members.rbegin()->first >= found.wanted)) {
      family.why_not =
          absl::StrCat("record.scope: of its set ", found.members.size(),
                       " containers of ", found.wanted, " are there");
    } else if (found.members.size() == 1) {
      continue;  // all its records are its own
    } else if (sets) {
      family.why_not = WhyNotShared(found.members);
    }
    for (const auto& [number, c] : found.members) {
      containers_[c].alignment = alignments_.size();
      containers_[c].key = containers_[found.members.begin()->second].key;
      family.members.push_back(c);
    }
    alignments_.push_back(std::move(family));
  }
}

void ContainerSet::JoinSet(Alignment& set) const {
  const Catalogue& catalogue = dataset_->catalogue();
  const size_t first = set.members.front();
  std::string why = set.why_not;
  for (const size_t member : set.members) {
    if (!why.empty()) break;
    const absl::StatusOr<ContainerShape>& found = set.found.at(member);
    const std::string path = catalogue.path(containers_[member].file);
    if (!found.ok()) {
      why =
          absl::StrCat("record.scope: ", path, ": ", found.status().message());
    } else if (found->records == nullptr) {
      why = absl::StrCat("record.scope: ", path,
                         ": its records cannot be mixed with others");
    } else if (found->head_hash != set.found.at(first)->head_hash) {
      why = absl::StrCat("record.scope: ", path, " begins with another header",
                         " than ", catalogue.path(containers_[first].file));
    }
  }
  if (why.empty()) return MakeFamily(set, set.members);
  for (auto& [member, found] : set.found) {
    found = absl::FailedPreconditionError(why);
  }
}

void ContainerSet::JoinView(Alignment& view) const {
  std::map<uint64_t, std::vector<size_t>> by_header;
  for (const size_t member : view.members) {
    const absl::StatusOr<ContainerShape>& found = view.found.at(member);
    // What is no container keeps to itself, and says why.
    if (!found.ok() || found->records == nullptr) continue;
    by_header[found->head_hash].push_back(member);
  }
  for (const auto& [header, members] : by_header) {
    if (members.size() > 1) MakeFamily(view, members);
  }
}

void ContainerSet::MakeFamily(Alignment& of,
                              const std::vector<size_t>& members) const {
  std::vector<ContainerShape> shapes;
  auto files = std::make_shared<std::vector<EntryId>>();
  for (const size_t member : members) {
    shapes.push_back(*of.found.at(member));
    files->push_back(containers_[member].file);
  }
  auto family = std::make_shared<ContainerFamily>();
  family->table = std::make_shared<FamilyTable>(std::move(shapes));
  family->files = std::move(files);
  for (size_t m = 0; m < members.size(); ++m) {
    absl::StatusOr<ContainerShape>& found = of.found.at(members[m]);
    found->family = family;
    found->member = m;
  }
}

}  // namespace shufflefs
