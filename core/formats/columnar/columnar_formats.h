// SPDX-License-Identifier: Apache-2.0
// Formats that store rows in groups, column by column.
#ifndef SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_FORMATS_H_
#define SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_FORMATS_H_

#include "core/formats/record_format.h"

namespace shufflefs {

// "parquet"
const RecordFormat& ParquetFormat();
// "arrow". An IPC file, whose footer lists its batches, or an IPC stream, whose
// batches are its records.
const RecordFormat& ArrowFormat();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_COLUMNAR_COLUMNAR_FORMATS_H_
