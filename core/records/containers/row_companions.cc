// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/row_companions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "core/catalogue/catalogue.h"
#include "core/records/containers/row_series.h"

namespace shufflefs {
namespace {

// The key of all series whose paths are alike but for part number `part`, and
// what they have there.
struct Alike {
  std::string key;
  std::string part;
};

Alike AlikeBut(size_t part, std::vector<std::string> parts, size_t files) {
  Alike alike;
  alike.part = WithoutNumbers(parts[part]);
  // Companions in two directories may have two formats.
  parts.back() = std::string(WithoutExtension(parts.back()));
  parts[part] = "*";
  alike.key = absl::StrCat(files, " ", part, " ", absl::StrJoin(parts, "/"));
  return alike;
}

// Leaves out formats with so many names that these are parts of one table.
// Returns whether there may be companions.
bool LeaveOutTables(const std::vector<RowSeries>& all,
                    std::vector<ContainerGroup::Alike>& alike) {
  std::map<const RecordFormat*, std::set<std::string>> parts;
  for (const auto& one : alike) parts[all[one.series].format].insert(one.part);
  std::erase_if(alike, [&](const ContainerGroup::Alike& one) {
    return parts[all[one.series].format].size() > kMostCompanions;
  });
  bool is_columnar = false;
  bool differ = false;
  for (const auto& one : alike) {
    is_columnar |= all[one.series].format->is_columnar();
    differ |= one.part != alike.front().part;
  }
  return is_columnar && differ;
}

// By key.
using AlikeSeries = std::map<std::string, std::vector<ContainerGroup::Alike>>;

AlikeSeries AlikeAmong(const std::vector<RowSeries>& all) {
  AlikeSeries by_key;
  for (size_t series = 0; series < all.size(); ++series) {
    const std::vector<std::string> parts =
        absl::StrSplit(all[series].path, '/');
    for (size_t part = 0; part < parts.size(); ++part) {
      Alike alike = AlikeBut(part, parts, all[series].files.size());
      by_key[alike.key].push_back({series, std::move(alike.part)});
    }
  }
  for (auto at = by_key.begin(); at != by_key.end();) {
    at = LeaveOutTables(all, at->second) ? std::next(at) : by_key.erase(at);
  }
  return by_key;
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

// How many rows a file has, as far as is known.
struct Rows {
  enum class Of {
    kRows,
    kLines,    // one of them may be a header
    kBatches,  // each of some rows
    kUnknown,
  };
  Of of = Of::kUnknown;
  uint64_t count = 0;
  bool operator==(const Rows&) const = default;
};

bool MayBeAsMany(const Rows& a, const Rows& b) {
  using Of = Rows::Of;
  if (a.of == Of::kUnknown || b.of == Of::kUnknown) return true;
  if ((a.of == Of::kBatches) != (b.of == Of::kBatches)) {
    return a.of == Of::kBatches ? a.count <= b.count : b.count <= a.count;
  }
  return a.count == b.count || (a.of == Of::kLines && a.count == b.count + 1) ||
         (b.of == Of::kLines && b.count == a.count + 1);
}

// The rows of each file of a series. Nothing if a container is not understood,
// as nothing of it moves.
absl::optional<std::vector<Rows>> RowsOf(const ContainerGroup& group,
                                         size_t series,
                                         const MemberShapes& found) {
  std::vector<Rows> rows;
  for (const size_t member : group.series.at(series)) {
    const absl::StatusOr<ContainerShape>& shape = found.at(member);
    const bool is_known = shape.ok() && shape->records != nullptr;
    const auto beside = group.beside.find(member);
    const bool is_beside = beside != group.beside.end();
    if (!is_known && !is_beside) return absl::nullopt;
    Rows& each = rows.emplace_back();
    if (!is_known) continue;
    const auto counted = shape->columnar == nullptr
                             ? absl::nullopt
                             : shape->columnar->footer().rows();
    each.count = counted.value_or(shape->records->count());
    each.of = is_beside && beside->second->ends_lines() ? Rows::Of::kLines
              : is_beside || counted                    ? Rows::Of::kRows
                                                        : Rows::Of::kBatches;
  }
  return rows;
}

// A series that may be a companion of another.
struct Companion {
  size_t series = 0;
  bool is_sure = false;  // their rows are known to be as many
};

// By series.
std::map<size_t, Companion> CompanionsIn(const ContainerGroup& group,
                                         const MemberShapes& found) {
  std::map<size_t, std::vector<Rows>> rows_of;
  for (const auto& [series, files] : group.series) {
    if (auto rows = RowsOf(group, series, found)) {
      rows_of[series] = *std::move(rows);
    }
  }
  std::map<size_t, Companion> companion_of;
  const auto compare = [&](const ContainerGroup::Alike& one,
                           const ContainerGroup::Alike& other) {
    const auto a = rows_of.find(one.series);
    const auto b = rows_of.find(other.series);
    if (one.part == other.part || a == rows_of.end() || b == rows_of.end() ||
        !std::equal(a->second.begin(), a->second.end(), b->second.begin(),
                    b->second.end(), MayBeAsMany)) {
      return;
    }
    Companion& known = companion_of[one.series];
    if (!known.is_sure) known = {other.series, a->second == b->second};
  };
  for (const std::vector<ContainerGroup::Alike>& alike : group.alike) {
    for (const auto& one : alike) {
      for (const auto& other : alike) compare(one, other);
    }
  }
  return companion_of;
}

std::string WhyLeft(const std::string& companion, bool is_sure,
                    bool is_beside) {
  return absl::StrCat(
      "its rows may belong to those of ", companion, ", which ",
      is_sure ? "has" : "may have", " as many; ",
      is_beside ? "name it in record.as if its rows are its own"
                : "list both in record.align, or name them in record.as if the "
                  "rows of each are its own");
}

}  // namespace

void FindRowCompanions(const Dataset& dataset, const RecordRules& rules,
                       FoundContainers& found) {
  const std::vector<RowSeries> all = FindRowSeries(dataset, rules, found);
  const AlikeSeries by_key = AlikeAmong(all);
  Sets sets(all.size());
  for (const auto& [key, alike] : by_key) {
    for (const auto& one : alike) sets.Join(one.series, alike.front().series);
  }
  std::map<size_t, size_t> group_of;  // by the set
  for (const auto& [key, alike] : by_key) {
    const auto [at, fresh] = group_of.try_emplace(sets.Of(alike.front().series),
                                                  found.groups.size());
    if (fresh) found.groups.emplace_back().kind = ContainerGroup::Kind::kAlike;
    ContainerGroup& group = found.groups[at->second];
    for (const auto& one : alike) {
      const RowSeries& series = all[one.series];
      if (!group.series.try_emplace(one.series, series.files).second) continue;
      for (const size_t file : series.files) {
        if (file >= found.containers.size()) {
          group.beside.emplace(file, series.format);
          continue;
        }
        group.members.push_back(file);
        found.containers[file].group = at->second;
      }
    }
    group.alike.push_back(alike);
  }
}

void LeaveCompanions(const ContainerGroup& group,
                     const std::function<std::string(size_t)>& path_at,
                     MemberShapes& found) {
  const std::map<size_t, Companion> companion_of = CompanionsIn(group, found);
  const auto is_beside = [&](size_t series) {
    return group.beside.contains(group.series.at(series).front());
  };
  const auto moves = [&](size_t series) {
    const std::vector<size_t>& files = group.series.at(series);
    return !is_beside(series) &&
           std::any_of(files.begin(), files.end(), [&](size_t member) {
             return found.at(member)->records->count() > 1;
           });
  };
  std::map<size_t, std::string> left;  // why, by member
  for (const auto& [series, other] : companion_of) {
    if (is_beside(series) || (!moves(series) && !moves(other.series))) continue;
    const std::vector<size_t>& files = group.series.at(series);
    for (size_t i = 0; i < files.size(); ++i) {
      left[files[i]] = WhyLeft(path_at(group.series.at(other.series)[i]),
                               other.is_sure, is_beside(other.series));
    }
  }
  for (auto& [member, why] : left) {
    found.at(member) = absl::FailedPreconditionError(std::move(why));
  }
}

}  // namespace shufflefs
