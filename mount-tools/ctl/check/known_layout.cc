// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/known_layout.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/config/value_text.h"
#include "core/dataset/file_kinds.h"
#include "core/dataset/splits.h"
#include "core/formats/fixed_formats.h"
#include "core/formats/table/formats.h"

namespace shufflefs {
namespace {

// Returns whether a file at or below `dir` is of that kind.
bool HoldsKind(const Catalogue& catalogue, DirId dir, FileKind kind) {
  const uint32_t end = catalogue.entries_end(dir).value();
  for (uint32_t e = catalogue.first_entry(dir).value(); e < end; ++e) {
    const EntryId entry(e);
    if (catalogue.kind(entry) == EntryKind::kFile &&
        KindOfFile(catalogue.name(entry)) == kind) {
      return true;
    }
  }
  return false;
}

absl::optional<KnownLayout> FindYolo(const Catalogue& catalogue) {
  for (uint32_t d = 1; d < catalogue.dir_count(); ++d) {
    const DirId labels(d);
    const EntryId entry = *catalogue.entry_of(labels);
    if (catalogue.name(entry) != "labels") continue;
    const absl::optional<EntryId> beside =
        catalogue.Find(catalogue.parent(labels), "images");
    if (!beside || catalogue.kind(*beside) != EntryKind::kDirectory) continue;
    if (HoldsKind(catalogue, labels, FileKind::kText) &&
        HoldsKind(catalogue, catalogue.as_dir(*beside), FileKind::kImage)) {
      return KnownLayout{"YOLO",
                         absl::StrCat("the boxes of ", catalogue.path(*beside),
                                      " are in ", catalogue.path(entry))};
    }
  }
  return absl::nullopt;
}

bool IsCocoName(absl::string_view name) {
  if (!absl::EndsWith(name, ".json")) return false;
  return absl::StartsWith(name, "instances_") ||
         absl::StartsWith(name, "captions_") ||
         absl::StartsWith(name, "person_keypoints_") ||
         absl::StartsWith(name, "panoptic_") ||
         absl::EndsWith(name, "_annotations.coco.json");
}

absl::optional<KnownLayout> FindCoco(const Catalogue& catalogue) {
  for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
    const EntryId entry(e);
    if (catalogue.kind(entry) != EntryKind::kFile ||
        !IsCocoName(catalogue.name(entry))) {
      continue;
    }
    return KnownLayout{
        "COCO", absl::StrCat("the annotations are in ", catalogue.path(entry))};
  }
  return absl::nullopt;
}

// "train-000012.tar"
bool IsShard(absl::string_view name) {
  return absl::ConsumeSuffix(&name, ".tar") && !name.empty() &&
         absl::ascii_isdigit(static_cast<unsigned char>(name.back()));
}

absl::optional<KnownLayout> FindWebDataset(const Catalogue& catalogue) {
  uint64_t shards = 0;
  absl::optional<EntryId> first;
  for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
    const EntryId entry(e);
    if (catalogue.kind(entry) != EntryKind::kFile ||
        !IsShard(catalogue.name(entry))) {
      continue;
    }
    if (shards++ == 0) first = entry;
  }
  if (!first) return absl::nullopt;
  return KnownLayout{
      "WebDataset",
      absl::StrCat("its records are in ", Counted(shards, "shard", "shards"),
                   ", such as ", catalogue.path(*first))};
}

constexpr uint64_t kFewFiles = 16;
constexpr uint64_t kSmallFile = uint64_t{64} << 10;

// The rule for a file whose name indicates a format. "" if none does, or if the
// file needs no rule.
std::string RuleFor(absl::string_view name) {
  const FileKind kind = KindOfFile(name);
  if (kind == FileKind::kImage || kind == FileKind::kAudio ||
      kind == FileKind::kHidden || kind == FileKind::kDocument ||
      FormatByName(name) != nullptr) {
    return "";
  }
  for (const RecordFormat* format : RecordFormats()) {
    for (const absl::string_view suffix : format->likely_suffixes()) {
      if (!absl::EndsWithIgnoreCase(name, suffix)) continue;
      const bool has_header = suffix == ".csv" || suffix == ".tsv";
      return absl::StrCat("*", name.substr(name.size() - suffix.size()), ":",
                          format->name(), has_header ? ",header=1" : "",
                          format == &FixedFormat() ? ",bytes=SIZE" : "");
    }
  }
  return "";
}

}  // namespace

absl::optional<RecordHint> FindRecordHint(const Catalogue& catalogue) {
  const std::vector<bool> in_split = SplitDirs(catalogue);
  RecordHint hint;
  std::set<std::string> rules;
  uint64_t bytes = 0;
  uint64_t all_bytes = 0;
  for (uint32_t e = 0; e < catalogue.entry_count(); ++e) {
    const EntryId entry(e);
    const absl::string_view name = catalogue.name(entry);
    if (catalogue.kind(entry) != EntryKind::kFile || IsSplitName(name) ||
        in_split[catalogue.parent(entry).value()]) {
      continue;
    }
    all_bytes += catalogue.file_size(entry);
    std::string rule = RuleFor(name);
    if (rule.empty()) continue;
    bytes += catalogue.file_size(entry);
    if (hint.files++ == 0) hint.first = catalogue.path(entry);
    rules.insert(std::move(rule));
  }
  const bool are_samples =
      hint.files > kFewFiles && bytes / hint.files < kSmallFile;
  if (bytes <= all_bytes / 2 || are_samples) return absl::nullopt;
  hint.rules = absl::StrJoin(rules, ";");
  return hint;
}

absl::optional<KnownLayout> FindKnownLayout(const Catalogue& catalogue) {
  if (absl::optional<KnownLayout> yolo = FindYolo(catalogue)) return yolo;
  if (absl::optional<KnownLayout> coco = FindCoco(catalogue)) return coco;
  return FindWebDataset(catalogue);
}

}  // namespace shufflefs
