// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/groups_file.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

class Parser {
 public:
  Parser(const Catalogue& catalogue, DirId root, absl::string_view name)
      : catalogue_(catalogue), prefix_(catalogue.path(root)), name_(name) {
    if (!prefix_.empty()) prefix_ += '/';
    numbers_.emplace("", GroupLabels::kNone);
  }

  absl::Status AddLine(absl::string_view line, uint32_t number) {
    size_t tab = line.rfind('\t');
    if (tab == absl::string_view::npos) {
      return Refuse(number, "no tab between the path and the group");
    }
    absl::string_view path = line.substr(0, tab);
    absl::string_view label = line.substr(tab + 1);
    if (label.empty()) return Refuse(number, "an empty group");
    absl::optional<EntryId> entry =
        catalogue_.FindPath(absl::StrCat(prefix_, path));
    if (!entry || catalogue_.kind(*entry) != EntryKind::kFile) {
      return Refuse(number, absl::StrCat(path, " is no file of the view"));
    }
    auto [known, fresh] =
        numbers_.emplace(std::string(label), result_.labels.size());
    if (fresh) result_.labels.emplace_back(label);
    auto [at, first] = result_.label_of.emplace(*entry, known->second);
    if (!first && at->second != known->second) {
      return Refuse(number, absl::StrCat(path, " already has a group, in line ",
                                         result_.line_of[*entry]));
    }
    result_.line_of.emplace(*entry, number);
    return absl::OkStatus();
  }

  GroupLabels Take() { return std::move(result_); }

 private:
  absl::Status Refuse(uint32_t number, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ":", number, ": ", what));
  }

  const Catalogue& catalogue_;
  std::string prefix_;
  const absl::string_view name_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
  GroupLabels result_;
};

}  // namespace

absl::StatusOr<GroupLabels> ParseGroupsFile(const Catalogue& catalogue,
                                            DirId root, absl::string_view text,
                                            absl::string_view name) {
  Parser parser(catalogue, root, name);
  for (uint32_t number = 1; !text.empty(); ++number) {
    size_t end = text.find('\n');
    absl::string_view line = text.substr(0, end);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
    absl::ConsumeSuffix(&line, "\r");
    if (line.empty()) continue;
    RETURN_IF_ERROR(parser.AddLine(line, number));
  }
  return parser.Take();
}

}  // namespace shufflefs
