// SPDX-License-Identifier: Apache-2.0
// The container formats that there are.
#ifndef SHUFFLEFS_CORE_FORMATS_TABLE_FORMATS_H_
#define SHUFFLEFS_CORE_FORMATS_TABLE_FORMATS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/formats/record_format.h"

namespace shufflefs {

// Those of this project, in the order in which messages list them.
std::vector<const RecordFormat*> OwnFormats();

// Those that the program knows: OwnFormats, unless it links another list in the
// place of format_list.cc.
std::vector<const RecordFormat*> RecordFormats();

// Null if there is none of that name.
const RecordFormat* FormatNamed(absl::string_view name);

// "tfrecord, tar, …"
std::string FormatNames();

// What a file is by its name, of the formats that can be told without being
// asked; it is one only if its first bytes agree. Null: none. `name`: without
// directories.
const RecordFormat* FormatByName(absl::string_view name);

// The same of all formats, for a file of which the user says no more than that
// it holds records.
const RecordFormat* LikelyFormat(absl::string_view name);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TABLE_FORMATS_H_
