// SPDX-License-Identifier: Apache-2.0
// Whether tables from outside make a catalogue. Internal to catalogue_file.
#ifndef SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_CHECK_H_
#define SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_CHECK_H_

#include "absl/status/status.h"
#include "core/catalogue/catalogue_tables.h"

namespace shufflefs {

// Checks all but what DeriveCatalogueTables fills in. REQUIRES: the columns
// of entries have one length. Errors: DataLoss that says what is wrong where.
absl::Status CheckCatalogueTables(const CatalogueTables& tables);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_CATALOGUE_CHECK_H_
