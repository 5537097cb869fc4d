// SPDX-License-Identifier: Apache-2.0
#include "core/engine/device_address_finder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/scan/places_file.h"
#include "core/view/view_setup.h"

namespace shufflefs {

DeviceAddressFinder::DeviceAddressFinder(const SourceDir& source,
                                         FilePlace place, Keep keep)
    : source_(source), place_(std::move(place)), keep_(keep) {}

KnownAddresses DeviceAddressFinder::Saved(const Catalogue& catalogue) const {
  if (!place_.empty()) {
    absl::StatusOr<KnownAddresses> saved = LoadPlaces(catalogue, place_);
    if (saved.ok()) return *std::move(saved);
    if (!absl::IsNotFound(saved.status())) {
      Log(LogLevel::kInfo,
          absl::StrCat("saved places: ", saved.status().message(),
                       ": searching again for the places of files"));
    }
  }
  KnownAddresses nothing;
  nothing.by_entry.assign(catalogue.entry_count(), KnownAddresses::kNotAsked);
  return nothing;
}

absl::StatusOr<DeviceLayout> DeviceAddressFinder::Find(const Dataset& dataset) {
  MutexLock lock(mu_);
  KnownAddresses known = Saved(dataset.catalogue());
  PhysicalOptions options;
  options.known = &known;
  ASSIGN_OR_RETURN(DeviceLayout layout,
                   SampleAddresses(source_, dataset, options));
  if (layout.asked > 0 && !place_.empty() && keep_ == Keep::kYes) {
    if (absl::Status done = SavePlaces(known, dataset.catalogue(), place_);
        !done.ok()) {
      Log(LogLevel::kWarning,
          absl::StrCat("places not saved: ", done.message()));
    }
  }
  return layout;
}

}  // namespace shufflefs
