// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/row_companions.h"

#include <string.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {
namespace {

// More names than these that are alike are parts of one table.
constexpr size_t kMostCompanions = 8;

// The length of the hexadecimal number that `text` begins with, or 0. Random
// names of files are such numbers of at least eight digits, or UUIDs.
size_t HexNumber(absl::string_view text) {
  const auto run = [&text](size_t from) {
    size_t end = from;
    while (end < text.size() && absl::ascii_isxdigit(text[end])) ++end;
    return end - from;
  };
  const size_t length = run(0);
  const bool whole =
      length == text.size() || !absl::ascii_isalpha(text[length]);
  if (length < 8 || !whole) return 0;
  size_t end = length;
  for (const size_t part : {4, 4, 4, 12}) {
    if (end == text.size() || text[end] != '-' || run(end + 1) != part) {
      const absl::string_view number = text.substr(0, length);
      return std::any_of(number.begin(), number.end(), absl::ascii_isdigit)
                 ? length
                 : 0;
    }
    end += 1 + part;
  }
  return end;
}

// "part-0012.parquet" becomes "part-#.parquet". Tables have other parts that
// are no companions of each other: directories "label=cat", and files with
// random numbers in their names.
std::string WithoutNumbers(absl::string_view name) {
  std::string text;
  bool in_word = false;
  while (!name.empty()) {
    const size_t hex = in_word ? 0 : HexNumber(name);
    in_word = absl::ascii_isalnum(name[0]);
    if (hex > 0 || absl::ascii_isdigit(name[0])) {
      if (text.empty() || text.back() != '#') text.push_back('#');
    } else {
      text.push_back(name[0]);
      if (name[0] == '=') return text + "#";
    }
    name.remove_prefix(std::max<size_t>(hex, 1));
  }
  return text;
}

// "x-9" is before "x-10".
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    return strverscmp(a.c_str(), b.c_str()) < 0;
  }
};

// By format, directory in the view, and name without its numbers.
using SeriesKey = std::tuple<const RecordFormat*, std::string, std::string>;
struct FoundSeries {
  std::map<std::string, size_t, ByNumber> members;  // by name
};

std::map<SeriesKey, FoundSeries> SeriesOf(const Dataset& dataset,
                                          const RecordRules& rules,
                                          const FoundContainers& found) {
  const Catalogue& catalogue = dataset.catalogue();
  std::map<SeriesKey, FoundSeries> series;
  for (size_t c = 0; c < found.containers.size(); ++c) {
    const FoundContainer& container = found.containers[c];
    const std::string path =
        PathInView(catalogue, dataset.root(), container.file);
    if (container.group != FoundContainer::kAlone ||
        !container.format->is_columnar() || container.keeps_order ||
        rules.Asked(path) != nullptr) {
      continue;
    }
    const size_t slash = path.rfind('/');
    const std::string dir =
        slash == std::string::npos ? "" : path.substr(0, slash + 1);
    const std::string name = path.substr(dir.size());
    series[{container.format, dir, WithoutNumbers(name)}].members[name] = c;
  }
  return series;
}

// The key of all series whose paths are alike but for part number `part`, and
// what they have there.
struct Alike {
  std::string key;
  std::string part;
};

Alike AlikeBut(size_t part, std::vector<std::string> parts,
               const SeriesKey& key, size_t files) {
  Alike alike;
  alike.part = WithoutNumbers(parts[part]);
  parts[part] = "*";
  alike.key = absl::StrCat(std::get<0>(key)->name(), " ", files, " ", part, " ",
                           absl::StrJoin(parts, "/"));
  return alike;
}

// Disjoint sets of the numbers below `count`.
class Sets {
 public:
  explicit Sets(size_t count) : parents_(count) {
    for (size_t i = 0; i < count; ++i) parents_[i] = i;
  }
  size_t Of(size_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void Join(size_t a, size_t b) { parents_[Of(a)] = Of(b); }

 private:
  std::vector<size_t> parents_;
};

// The rows of each file, or its batches. Nothing if one is not understood.
absl::optional<std::vector<uint64_t>> RowsOf(const std::vector<size_t>& members,
                                             const MemberShapes& found) {
  std::vector<uint64_t> rows;
  for (const size_t member : members) {
    const absl::StatusOr<ContainerShape>& shape = found.at(member);
    if (!shape.ok() || shape->records == nullptr) return absl::nullopt;
    const auto counted = shape->columnar == nullptr
                             ? absl::nullopt
                             : shape->columnar->footer().rows();
    rows.push_back(counted.value_or(shape->records->count()));
  }
  return rows;
}

}  // namespace

void FindRowCompanions(const Dataset& dataset, const RecordRules& rules,
                       FoundContainers& found) {
  std::vector<std::vector<size_t>> members;
  std::map<std::string, std::vector<ContainerGroup::Alike>> by_key;
  for (const auto& [key, series] : SeriesOf(dataset, rules, found)) {
    const std::string path = absl::StrCat(std::get<1>(key), std::get<2>(key));
    const std::vector<std::string> parts = absl::StrSplit(path, '/');
    for (size_t part = 0; part < parts.size(); ++part) {
      Alike alike = AlikeBut(part, parts, key, series.members.size());
      by_key[alike.key].push_back({members.size(), std::move(alike.part)});
    }
    members.emplace_back();
    for (const auto& [name, c] : series.members) members.back().push_back(c);
  }
  std::erase_if(by_key, [](const auto& entry) {
    std::set<std::string> parts;
    for (const ContainerGroup::Alike& one : entry.second) {
      parts.insert(one.part);
    }
    return parts.size() < 2 || parts.size() > kMostCompanions;
  });
  Sets sets(members.size());
  for (const auto& [key, alike] : by_key) {
    for (const auto& one : alike) sets.Join(one.series, alike.front().series);
  }
  std::map<size_t, size_t> group_of;  // by the set
  for (auto& [key, alike] : by_key) {
    const auto [at, fresh] = group_of.try_emplace(sets.Of(alike.front().series),
                                                  found.groups.size());
    if (fresh) found.groups.emplace_back().kind = ContainerGroup::Kind::kAlike;
    ContainerGroup& group = found.groups[at->second];
    for (const auto& one : alike) {
      if (!group.series.try_emplace(one.series, members[one.series]).second) {
        continue;
      }
      for (const size_t c : members[one.series]) {
        group.members.push_back(c);
        found.containers[c].group = at->second;
      }
    }
    group.alike.push_back(std::move(alike));
  }
}

void LeaveCompanions(const ContainerGroup& group,
                     const std::function<std::string(size_t)>& path_at,
                     MemberShapes& found) {
  std::map<size_t, size_t> companion_of;  // by series
  for (const std::vector<ContainerGroup::Alike>& alike : group.alike) {
    std::map<std::vector<uint64_t>, std::vector<ContainerGroup::Alike>> by_rows;
    for (const auto& one : alike) {
      const auto rows = RowsOf(group.series.at(one.series), found);
      if (rows) by_rows[*rows].push_back(one);
    }
    for (const auto& [rows, same] : by_rows) {
      for (const auto& one : same) {
        const auto other = std::find_if(
            same.begin(), same.end(),
            [&](const auto& each) { return each.part != one.part; });
        if (other != same.end()) companion_of[one.series] = other->series;
      }
    }
  }
  const auto moves = [&](size_t series) {
    const std::vector<size_t>& files = group.series.at(series);
    return std::any_of(files.begin(), files.end(), [&](size_t member) {
      return found.at(member)->records->count() > 1;
    });
  };
  std::vector<std::pair<size_t, size_t>> left;  // member and companion
  for (const auto& [series, other] : companion_of) {
    if (!moves(series) && !moves(other)) continue;
    const std::vector<size_t>& files = group.series.at(series);
    for (size_t i = 0; i < files.size(); ++i) {
      left.emplace_back(files[i], group.series.at(other)[i]);
    }
  }
  for (const auto& [member, companion] : left) {
    found.at(member) = absl::FailedPreconditionError(absl::StrCat(
        "its rows may belong to those of ", path_at(companion),
        ", which has as many; list both in record.align, or name them in "
        "record.as if the rows of each are its own"));
  }
}

}  // namespace shufflefs
