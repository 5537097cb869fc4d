// SPDX-License-Identifier: Apache-2.0
// The verdict behind substitute = auto. Judge decides whether a subtree is
// proven to consist of class folders: a file's label is its directory, and
// nothing else refers to its name. Safety before speed: what is not proven does
// not move. Judge looks at names, kinds and sizes only.
#ifndef SHUFFLEFS_CORE_DATASET_SUBSTITUTION_SAFETY_H_
#define SHUFFLEFS_CORE_DATASET_SUBSTITUTION_SAFETY_H_

#include <cstdint>
#include <map>
#include <string>

#include "core/base/types.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

struct SubstitutionSafetyOptions {
  // A directory holds frames if it has at least this many files and their names
  // are one consecutive sequence of numbers.
  uint32_t min_frames = 3;
  // Two directories pair if this percentage of the smaller one's stems are in
  // the other.
  uint32_t pair_percent = 50;
};

struct SubstitutionSafety {
  bool moves = false;
  // One clause that names the deciding file, directory or rule.
  std::string reason;
  // One clause with what was found, such as "10 class folders of 60000 images"
  // or "1 directory of 300 containers".
  std::string layout;
  uint64_t classes = 0;  // leaf directories with samples, without splits
  // There is a validation split (not only a test split) in the subtree, beside
  // it, or beside a directory above it.
  bool has_validation_split = false;
};

// Judges the subtree of `root`. These rules refuse; the first that applies, in
// this order, decides:
//   1. the view is in a split, or nothing in it can move;
//   2. a container file or directory;
//   3. a manifest (csv, tsv, json, jsonl, xml, parquet, yaml, pickle, lists in
//      txt, …) in the subtree or directly in a directory above it, up to the
//      source's root. READMEs and licences are no manifests. txt files are
//      samples if the leaf directories hold nothing else;
//   4. a directory beside or below that is annotation by its name (labels,
//      annotations, masks, …). Links count here as files and directories do.
//      They may lead to samples that move. So a link to media in a split
//      refuses, and so does a directory that holds only links;
//   5. files of an unknown kind, or of more than one kind of media;
//   6. fewer than two sibling leaf directories, files beside subdirectories,
//      no directory with two files, or directories whose names are no labels
//      (part1 and part2; query and gallery);
//   7. a directory whose names are one consecutive sequence of numbers;
//   8. a directory of pairs that differ in an ending (1.png and 1_mask.png).
//      Also one outside every split, anywhere in the source, that shares stems
//      with one of the subtree, or mirrors it file by file.
// All rules ignore splits, hidden files and hidden directories.
SubstitutionSafety Judge(const Catalogue& catalogue, DirId root,
                         const SubstitutionSafetyOptions& options);

// What Judge says of some roots, with the usual options.
using SafetyByDir = std::map<DirId, SubstitutionSafety>;

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_SUBSTITUTION_SAFETY_H_
