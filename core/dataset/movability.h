// SPDX-License-Identifier: Apache-2.0
// The verdict behind substitute = auto: whether a subtree is proven to be
// class folders, in which a file's label is the directory it lies in and
// nothing else speaks of its name. Safety before speed: whatever is not
// proven does not move. It looks at names, kinds and sizes only.
#ifndef SHUFFLEFS_CORE_DATASET_MOVABILITY_H_
#define SHUFFLEFS_CORE_DATASET_MOVABILITY_H_

#include <cstdint>
#include <string>

#include "core/base/types.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {

struct MovabilityOptions {
  // A directory with at least this many files whose names are one consecutive
  // sequence of numbers holds frames.
  uint32_t min_frames = 3;
  // Two directories pair if so much of the smaller one's stems, in percent,
  // are in the other.
  uint32_t pair_percent = 50;
};

struct Movability {
  bool moves = false;
  // One clause that names the file, directory or rule that decided.
  std::string reason;
  // One clause that says what was found, such as "10 class folders of 60000
  // images" or "1 directory of 300 containers".
  std::string layout;
  uint64_t classes = 0;  // leaf directories with samples, splits not counted
  // Whether a validation split (not only a test split) lies in the subtree,
  // beside it or beside a directory above it.
  bool has_validation_split = false;
};

// Judges the subtree of `root`. In order, the first that applies refuses:
//  1. the view is in a split or nothing in it can move;
//  2. a container file or directory;
//  3. a manifest (csv, tsv, json, jsonl, xml, parquet, yaml, pickle, lists in
//     txt, …) in the subtree or directly in a directory above it, up to the
//     source's root; READMEs and licences are none, and txt files are samples
//     where the leaf directories hold nothing else;
//  4. a directory beside or below that is annotation by its name (labels,
//     annotations, masks, …);
//  5. files of an unknown kind, or of more than one kind of media;
//  6. fewer than two sibling leaf directories, files beside subdirectories,
//     or no directory with two files;
//  7. a directory whose names are one consecutive sequence of numbers;
//  8. a directory outside every split, anywhere in the source, that shares
//     stems with one of the subtree, or mirrors it file by file.
// Splits are left out of all this; hidden files and directories too.
Movability Judge(const Catalogue& catalogue, DirId root,
                 const MovabilityOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_DATASET_MOVABILITY_H_
