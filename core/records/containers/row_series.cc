// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/row_series.h"

#include <string.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "core/catalogue/catalogue.h"
#include "core/dataset/file_kinds.h"
#include "core/formats/table/formats.h"

namespace shufflefs {
namespace {

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

}  // namespace

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

absl::string_view WithoutExtension(absl::string_view name) {
  return name.substr(0, std::min(name.rfind('.'), name.size()));
}

namespace {

// "x-9" is before "x-10".
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    return strverscmp(a.c_str(), b.c_str()) < 0;
  }
};

// Whether they are containers, the format, the directory in the view, and the
// name without its numbers.
using SeriesKey =
    std::tuple<bool, const RecordFormat*, std::string, std::string>;
struct FoundSeries {
  std::map<std::string, size_t, ByNumber> members;  // by name
};
using AllSeries = std::map<SeriesKey, FoundSeries>;

struct SplitPath {
  std::string dir;  // with its last slash
  std::string name;
};

SplitPath Split(const std::string& path) {
  const size_t dir = path.rfind('/') + 1;  // 0 if there is none
  return {path.substr(0, dir), path.substr(dir)};
}

// Arrays, records of one size and lines are containers only if the user names
// them, so that does not tell whether their rows are their own. Records of
// formats that names identify are whole samples.
bool HasRows(const RecordFormat& format, bool asked) {
  return format.is_columnar() ? !asked : format.suffixes().empty();
}

AllSeries SeriesOf(const Dataset& dataset, const RecordRules& rules,
                   const FoundContainers& found) {
  const Catalogue& catalogue = dataset.catalogue();
  AllSeries series;
  for (size_t c = 0; c < found.containers.size(); ++c) {
    const FoundContainer& container = found.containers[c];
    const std::string path =
        PathInView(catalogue, dataset.root(), container.file);
    if (container.group != FoundContainer::kAlone || container.keeps_order ||
        !HasRows(*container.format, rules.Asked(path) != nullptr)) {
      continue;
    }
    const auto [dir, name] = Split(path);
    const SeriesKey key{true, container.format, dir, WithoutNumbers(name)};
    series[key].members[name] = c;
  }
  return series;
}

// Adds the series of files that are no containers and may be alike to those of
// containers, such as y.npy beside X.parquet.
class FilesBeside {
 public:
  FilesBeside(const Dataset& dataset, const RecordRules& rules,
              AllSeries& series)
      : dataset_(dataset), rules_(rules), series_(series) {
    for (const auto& [key, containers] : series) {
      const auto& [is_container, format, dir, name] = key;
      // A list of as many lines may be of something else, as a vocabulary is.
      if (format->ends_lines()) continue;
      dirs_.try_emplace(dir);
      names_.emplace(WithoutExtension(name));
      most_ = std::max(most_, containers.members.size());
    }
  }

  void AddTo(FoundContainers& found) {
    if (series_.empty()) return;
    const Catalogue& catalogue = dataset_.catalogue();
    const DirId root = dataset_.root();
    for (uint32_t e = catalogue.first_entry(root).value();
         e < catalogue.entries_end(root).value(); ++e) {
      const EntryId file(e);
      const RecordFormat* const format = CountedBy(file);
      if (format != nullptr) Add(file, *format, found);
    }
  }

 private:
  // Null: its rows cannot be counted, or it has none, or it may be a container
  // itself.
  const RecordFormat* CountedBy(EntryId file) const {
    const Catalogue& catalogue = dataset_.catalogue();
    const RecordFormat* const format = LikelyFormat(catalogue.name(file));
    if (format == nullptr || format->tail_bytes() > 0 ||
        catalogue.kind(file) != EntryKind::kFile ||
        catalogue.attributes(file).size == 0 ||
        FormatByName(catalogue.name(file)) != nullptr ||
        KindOfFile(catalogue.name(file)) == FileKind::kDocument ||
        KindOfFile(catalogue.name(file)) == FileKind::kHidden ||
        !format->CheckOptions(rules_.options()).ok()) {
      return nullptr;
    }
    return format;
  }

  void Add(EntryId file, const RecordFormat& format, FoundContainers& found) {
    const std::string path =
        PathInView(dataset_.catalogue(), dataset_.root(), file);
    const auto [dir, name] = Split(path);
    const std::string alike = WithoutNumbers(name);
    const bool has_name = names_.contains(std::string(WithoutExtension(alike)));
    const auto beside = dirs_.find(dir);
    if (!has_name && beside == dirs_.end()) return;
    if (rules_.Asked(path) != nullptr || rules_.align().Match(path)) return;
    const SeriesKey key{false, &format, dir, alike};
    // Datasets may have millions of such files. More names than these are no
    // companions, nor are more files than any container has.
    if (!has_name && !series_.contains(key) &&
        beside->second[&format]++ > kMostCompanions) {
      return;
    }
    auto& members = series_[key].members;
    if (members.size() > most_) return;
    members[name] = found.containers.size() + found.beside.size();
    found.beside.emplace_back();
    found.beside.back().file = file;
    found.beside.back().format = &format;
  }

  const Dataset& dataset_;
  const RecordRules& rules_;
  AllSeries& series_;
  // Of containers: their directories, with the number of names there that are
  // none, and their names.
  std::map<std::string, std::map<const RecordFormat*, size_t>> dirs_;
  std::set<std::string> names_;
  size_t most_ = 0;  // files of a series
};

}  // namespace

std::vector<RowSeries> FindRowSeries(const Dataset& dataset,
                                     const RecordRules& rules,
                                     FoundContainers& found) {
  AllSeries all = SeriesOf(dataset, rules, found);
  FilesBeside(dataset, rules, all).AddTo(found);
  std::vector<RowSeries> list;
  for (const auto& [key, series] : all) {
    const auto& [is_container, format, dir, name] = key;
    RowSeries& each =
        list.emplace_back(RowSeries{dir + name, {format, {}, !is_container}});
    for (const auto& [file, number] : series.members) {
      each.series.files.push_back(number);
    }
  }
  return list;
}

}  // namespace shufflefs
