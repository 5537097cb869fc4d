// SPDX-License-Identifier: Apache-2.0
// FindCatalogue returns the catalogue of a source: the saved one while it fits,
// otherwise a new scan.
#ifndef SHUFFLEFS_CORE_ENGINE_CATALOGUE_LOADER_H_
#define SHUFFLEFS_CORE_ENGINE_CATALOGUE_LOADER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/statusor.h"
#include "core/base/files/owned_dir.h"
#include "core/catalogue/catalogue.h"
#include "core/config/config.h"
#include "core/dataset/substitution_safety.h"
#include "core/source/source_dir.h"

namespace shufflefs {

struct CatalogueRequest {
  const MountConfig* config = nullptr;
  const SourceDir* source = nullptr;
  FilePlace saved;  // empty: nothing is loaded or saved
  // Called from time to time with the entries found so far. May be empty.
  std::function<void(uint64_t entries)> progress;
  std::stop_token stop;
};

struct FoundCatalogue {
  std::shared_ptr<const Catalogue> catalogue;
  bool was_saved = false;
  // On the views, of a saved catalogue. They were found while the source was
  // asked whether it has changed.
  SafetyByDir verdicts;
};

// Blocks for the scan. If a catalogue cannot be saved, logs a line. Errors:
// those of Scan.
absl::StatusOr<FoundCatalogue> FindCatalogue(const CatalogueRequest& request);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_ENGINE_CATALOGUE_LOADER_H_
