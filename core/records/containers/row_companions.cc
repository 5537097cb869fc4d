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
  parts[part] = std::string("*");
  alike.key = absl::StrCat(files, " ", part, " ", absl::StrJoin(parts, "/"));
  return alike;
}

// Leaves out formats with so many names that these are parts of one table.
// Returns whether there may be companions.
bool LeaveOutTables(const std::vector<RowSeries>& all,
                    std::vector<ContainerGroup::Alike>& alike) {
  std::map<const RecordFormat*, std::set<std::string>> parts;
  const auto series = [&all](const ContainerGroup::Alike& one)
      -> const ContainerGroup::Series& { return all[one.series].series; };
  for (const auto& one : alike) parts[series(one).format].insert(one.part);
  std::erase_if(alike, [&](const ContainerGroup::Alike& one) {
    return parts[series(one).format].size() > kMostCompanions;
  });
  bool are_containers = false;
  bool differ = false;
  for (const auto& one : alike) {
    are_containers |= !series(one).is_beside;
    differ |= one.part != alike.front().part;
  }
  return are_containers && differ;
}

// By key.
using AlikeSeries = std::map<std::string, std::vector<ContainerGroup::Alike>>;

AlikeSeries AlikeAmong(const std::vector<RowSeries>& all) {
  AlikeSeries by_key;
  for (size_t series = 0; series < all.size(); ++series) {
    const std::vector<std::string> parts =
        absl::StrSplit(all[series].path, '/');
    for (size_t part = 0; part < parts.size(); ++part) {
      Alike alike = AlikeBut(part, parts, all[series].series.files.size());
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

bool IsKnown(const absl::StatusOr<ContainerShape>& shape) {
  return shape.ok() && shape->records != nullptr;
}

// The rows of each file of a series. Nothing if it has a columnar file or lines
// that are not understood: these are often no such file at all.
absl::optional<std::vector<Rows>> RowsOf(const ContainerGroup::Series& series,
                                         const MemberShapes& found) {
  const RecordFormat& format = *series.format;
  std::vector<Rows> rows;
  for (const size_t file : series.files) {
    const absl::StatusOr<ContainerShape>& shape = found.at(file);
    const bool is_array = !format.is_columnar() && !format.ends_lines();
    const bool may_be_unknown = series.is_beside || is_array;
    if (!IsKnown(shape) && !may_be_unknown) return absl::nullopt;
    Rows& each = rows.emplace_back();
    if (!IsKnown(shape)) continue;
    const auto counted = shape->columnar == nullptr
                             ? absl::nullopt
                             : shape->columnar->footer().rows();
    each.count = counted.value_or(shape->records->count());
    // The rule of a container says whether it has a header.
    const bool may_have_header = series.is_beside && format.ends_lines();
    each.of = may_have_header                    ? Rows::Of::kLines
              : format.is_columnar() && !counted ? Rows::Of::kBatches
                                                 : Rows::Of::kRows;
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
  for (const auto& [number, series] : group.series) {
    if (auto rows = RowsOf(series, found)) rows_of[number] = *std::move(rows);
  }
  std::map<size_t, Companion> companion_of;
  // Lines that a rule names are compared with what rules name only.
  const auto by_rule = [&group](size_t one, size_t other) {
    const ContainerGroup::Series& lines = group.series.at(one);
    return lines.format->ends_lines() && !lines.is_beside &&
           group.series.at(other).is_beside;
  };
  const auto compare = [&](const ContainerGroup::Alike& one,
                           const ContainerGroup::Alike& other) {
    const auto a = rows_of.find(one.series);
    const auto b = rows_of.find(other.series);
    if (one.part == other.part || by_rule(one.series, other.series) ||
        by_rule(other.series, one.series) || a == rows_of.end() ||
        b == rows_of.end() ||
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

// What to do about `own`, a companion of `other`. Only columnar files are
// aligned with columnar ones, and only these have records without a rule.
std::string Advice(const ContainerGroup::Series& own,
                   const ContainerGroup::Series& other,
                   const std::string& path) {
  const bool own_columnar = own.format->is_columnar();
  const bool other_columnar = other.format->is_columnar();
  if (own_columnar && other_columnar) {
    return "list both in record.align, or name them in record.as if the rows "
           "of each are its own";
  }
  if (own_columnar) return "name it in record.as if its rows are its own";
  if (!other_columnar) return "list both in record.align";
  return absl::StrCat("name ", path,
                      " in record.as if the rows of each are its own");
}

std::string WhyLeft(const ContainerGroup::Series& own,
                    const ContainerGroup::Series& other, bool is_sure,
                    const std::string& path) {
  return absl::StrCat("its rows may belong to those of ", path, ", which ",
                      is_sure ? "has" : "may have", " as many; ",
                      Advice(own, other, path));
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
      const ContainerGroup::Series& series = all[one.series].series;
      if (!group.series.try_emplace(one.series, series).second) continue;
      for (const size_t file : series.files) {
        if (series.is_beside) {
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
  const auto moves = [&found](const ContainerGroup::Series& series) {
    return !series.is_beside &&
           std::any_of(series.files.begin(), series.files.end(),
                       [&found](size_t member) {
                         const auto& shape = found.at(member);
                         return IsKnown(shape) && shape->records->count() > 1;
                       });
  };
  std::map<size_t, std::string> left;  // why, by member
  for (const auto& [number, companion] : companion_of) {
    const ContainerGroup::Series& own = group.series.at(number);
    const ContainerGroup::Series& other = group.series.at(companion.series);
    if (own.is_beside || (!moves(own) && !moves(other))) continue;
    for (size_t i = 0; i < own.files.size(); ++i) {
      if (!found.at(own.files[i]).ok()) continue;  // it has its own reason
      left[own.files[i]] =
          WhyLeft(own, other, companion.is_sure, path_at(other.files[i]));
    }
  }
  for (auto& [member, why] : left) {
    found.at(member) = absl::FailedPreconditionError(std::move(why));
  }
}

}  // namespace shufflefs
