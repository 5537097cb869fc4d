// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/container_families.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace shufflefs {
namespace {

// For "train-00003-of-00128.tar": the name without its number, and the numbers.
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

// The part after the last dot of a name: "csv" for "a-0-of-2.csv" and
// "a.csv-0-of-2".
std::string ExtensionOf(absl::string_view name) {
  const absl::optional<Shard> shard = ShardOf(name);
  const std::string whole = shard ? shard->name : std::string(name);
  const size_t dot = whole.rfind('.');
  if (dot == std::string::npos) return "";
  return whole.substr(dot + 1, whole.find("-of-", dot) - dot - 1);
}

// Format, name, and the number of the directory or of the users who may read.
using FamilyKey = std::tuple<std::string, std::string, uint32_t>;
struct FoundFamily {
  std::map<uint64_t, size_t> members;  // container indices by shard number
  uint64_t wanted = 0;
};

bool SomeDifferInReadersOnly(const std::map<FamilyKey, FoundFamily>& families) {
  const auto differ = std::adjacent_find(
      families.begin(), families.end(), [](const auto& a, const auto& b) {
        return std::get<0>(a.first) == std::get<0>(b.first) &&
               std::get<1>(a.first) == std::get<1>(b.first);
      });
  return differ != families.end();
}

// Otherwise a record would be shown, as part of a readable file, to a user who
// may not read it.
std::string WhyNotShared(const Catalogue& catalogue,
                         const std::vector<FoundContainer>& containers,
                         const std::map<uint64_t, size_t>& members) {
  const EntryId first = containers[members.begin()->second].file;
  for (const auto& [number, c] : members) {
    const EntryId file = containers[c].file;
    if (catalogue.access(file) == catalogue.access(first)) continue;
    return absl::StrCat("record.scope: not all who may read ",
                        catalogue.path(first), " or ", catalogue.path(file),
                        " may read both");
  }
  return "";
}

// Rules give files options of their own. Records that are cut by other options
// would tear those of the file that shows them.
std::string FormatKey(const RecordFormat& format,
                      const RecordOptions& options) {
  return absl::StrCat(format.name(), " ", options.bytes, " ", options.header,
                      " ", static_cast<int>(options.csv));
}

std::string WhyNotAlike(
    const std::vector<FoundContainer>& containers,
    const std::map<uint64_t, size_t>& members,
    absl::FunctionRef<const RecordOptions&(EntryId)> options_of) {
  const RecordOptions& first =
      options_of(containers[members.begin()->second].file);
  for (const auto& [number, c] : members) {
    if (options_of(containers[c].file) == first) continue;
    return "record.as: the files of its set have different options";
  }
  return "";
}

}  // namespace

std::string ScopeObjection(absl::string_view name, const RecordFormat& format,
                           RecordScope scope) {
  if (!format.is_columnar() || scope == RecordScope::kFile ||
      (scope == RecordScope::kSet && !ShardOf(name))) {
    return "";
  }
  return absl::StrCat("record.scope: ", format.units(),
                      " are not mixed with those of other files");
}

void MakeFamilies(const Dataset& dataset, const RecordRules& rules,
                  FoundContainers& found) {
  const Catalogue& catalogue = dataset.catalogue();
  const bool sets = rules.options().scope == RecordScope::kSet;
  const auto options_of = [&](EntryId file) -> const RecordOptions& {
    return rules.OptionsOf(PathInView(catalogue, dataset.root(), file));
  };
  std::vector<FoundContainer>& containers = found.containers;
  std::map<FamilyKey, FoundFamily> families;
  for (size_t c = 0; c < containers.size(); ++c) {
    const FoundContainer& container = containers[c];
    if (container.keeps_order) continue;
    const absl::string_view name = catalogue.name(container.file);
    if (!sets) {
      const bool differs = container.format->differs_by_extension();
      families[{FormatKey(*container.format, options_of(container.file)),
                differs ? ExtensionOf(name) : "",
                catalogue.access(container.file).value()}]
          .members[c] = c;
      continue;
    }
    const auto shard = ShardOf(name);
    if (!shard) continue;  // it shows its own records
    const uint32_t dir = catalogue.parent(container.file).value();
    FoundFamily& shared =
        families[{std::string(container.format->name()), shard->name, dir}];
    shared.members.try_emplace(shard->number, c);
    shared.wanted = shard->of;
  }
  if (!sets && SomeDifferInReadersOnly(families)) {
    found.parted =
        "record.scope: records of files are not mixed if different users may "
        "read them";
  }
  for (const auto& [key, shared] : families) {
    ContainerGroup family;
    family.kind = ContainerGroup::Kind::kFamily;
    if (sets && (shared.members.size() != shared.wanted ||
                 shared.members.rbegin()->first >= shared.wanted)) {
      family.why_not =
          absl::StrCat("record.scope: of its set ", shared.members.size(),
                       " containers of ", shared.wanted, " are there");
    } else if (shared.members.size() == 1) {
      continue;  // all its records are its own
    } else if (sets) {
      family.why_not = WhyNotShared(catalogue, containers, shared.members);
      if (family.why_not.empty()) {
        family.why_not = WhyNotAlike(containers, shared.members, options_of);
      }
    }
    for (const auto& [number, c] : shared.members) {
      containers[c].group = found.groups.size();
      containers[c].key = containers[shared.members.begin()->second].key;
      family.members.push_back(c);
    }
    found.groups.push_back(std::move(family));
  }
}

}  // namespace shufflefs
