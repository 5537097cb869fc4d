// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/check/known_layout.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/config/value_text.h"
#include "core/dataset/file_kinds.h"

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

}  // namespace

absl::optional<KnownLayout> FindKnownLayout(const Catalogue& catalogue) {
  if (absl::optional<KnownLayout> yolo = FindYolo(catalogue)) return yolo;
  if (absl::optional<KnownLayout> coco = FindCoco(catalogue)) return coco;
  return FindWebDataset(catalogue);
}

}  // namespace shufflefs
