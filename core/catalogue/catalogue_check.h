// SPDX-License-Identifier: Apache-2.0
// Checks whether untrusted tables form a catalogue. Internal to catalogue_file.
#ifndef SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_CHECK_H_
#define SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_CHECK_H_

#include "absl/status/status.h"
#include "core/catalogue/catalogue_tables.h"

namespace shufflefs {

// Checks everything except what DeriveCatalogueTables fills in. REQUIRES: all
// columns of entries have the same length. Errors: DataLoss, which says what is
// wrong where.
absl::Status CheckCatalogueTables(const CatalogueTables& tables);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_CHECK_H_
