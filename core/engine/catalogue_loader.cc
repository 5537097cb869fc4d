// SPDX-License-Identifier: Apache-2.0
#include "core/engine/catalogue_loader.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/exhaustion.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/catalogue/catalogue_file.h"
#include "core/scan/scan.h"
#include "core/scan/staleness_check.h"

namespace shufflefs {
namespace {

// A mountpoint inside the source is not part of it.
std::string PathInside(const std::string& source,
                       const std::string& mountpoint) {
  const std::string prefix = source == "/" ? source : source + "/";
  if (!absl::StartsWith(mountpoint, prefix)) return "";
  return mountpoint.substr(prefix.size());
}

// Empty if there is no memory for it. Then who needs a verdict finds it, and
// says so.
SafetyByDir JudgeViews(const Catalogue& catalogue, const MountConfig& config) {
  SafetyByDir verdicts;
  const absl::Status judged = OrExhausted("views", [&] {
    for (const ViewConfig& view : config.views) {
      const absl::optional<DirId> root = catalogue.FindDir(view.path);
      if (root) verdicts.emplace(*root, Judge(catalogue, *root, {}));
    }
    return absl::OkStatus();
  });
  return judged.ok() ? verdicts : SafetyByDir();
}

// Errors: NotFound if there is no saved catalogue.
absl::StatusOr<FoundCatalogue> LoadSaved(const CatalogueRequest& request) {
  if (request.saved.empty()) return absl::NotFoundError("no state");
  absl::StatusOr<Catalogue> loaded = LoadCatalogue(request.saved);
  if (!loaded.ok()) return Annotate(loaded.status(), "saved catalogue");
  FoundCatalogue found;
  found.catalogue = std::make_shared<const Catalogue>(*std::move(loaded));
  found.was_saved = true;
  StalenessOptions options;
  options.serves_others = request.config->allow_other;
  absl::optional<std::string> staleness;
  {
    const auto judge = TryStartThread("judge", [&](std::stop_token) {
      found.verdicts = JudgeViews(*found.catalogue, *request.config);
    });
    staleness = FindStaleness(*request.source, *found.catalogue, options);
  }
  if (staleness) {
    return absl::FailedPreconditionError(
        absl::StrCat(*staleness, "; rescanning"));
  }
  return found;
}

}  // namespace

absl::StatusOr<FoundCatalogue> FindCatalogue(const CatalogueRequest& request) {
  absl::StatusOr<FoundCatalogue> saved = LoadSaved(request);
  if (saved.ok()) return saved;
  if (!absl::IsNotFound(saved.status())) {
    Log(LogLevel::kInfo, saved.status().message());
  }
  ScanOptions options;
  options.skip_path =
      PathInside(request.config->source, request.config->mountpoint);
  options.progress = request.progress;
  options.stop = request.stop;
  options.serves_others = request.config->allow_other;
  ASSIGN_OR_RETURN(Catalogue scanned, Scan(*request.source, options));
  if (!request.saved.empty()) {
    if (absl::Status done = SaveCatalogue(scanned, request.saved); !done.ok()) {
      Log(LogLevel::kWarning,
          absl::StrCat("catalogue not saved: ", done.message()));
    }
  }
  return FoundCatalogue{
      std::make_shared<const Catalogue>(std::move(scanned)), false, {}};
}

}  // namespace shufflefs
