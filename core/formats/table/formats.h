// SPDX-License-Identifier: Apache-2.0
// The list of container formats.
#ifndef SHUFFLEFS_CORE_FORMATS_TABLE_FORMATS_H_
#define SHUFFLEFS_CORE_FORMATS_TABLE_FORMATS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/formats/record_format.h"

namespace shufflefs {

// The formats of this project, in the order of messages.
std::vector<const RecordFormat*> OwnFormats();

// The formats of this program: OwnFormats, unless it links another list instead
// of format_list.cc.
std::vector<const RecordFormat*> RecordFormats();

// Null if there is none of that name.
const RecordFormat* FormatNamed(absl::string_view name);

// "tfrecord, tar, …"
std::string FormatNames();

// The format that a file's name indicates, among the formats that names
// identify. The file has it only if its first bytes agree. Null: none. `name`
// has no directories.
const RecordFormat* FormatByName(absl::string_view name);

// The same among all formats, for a file of which the user only says that it
// holds records.
const RecordFormat* LikelyFormat(absl::string_view name);

// The format of a directory that is one data set. Null: none.
const RecordFormat* FormatOfDirectory(absl::string_view name);

// The format that files with padding have. Null: none.
const RecordFormat* PaddedFormat();

// Of all formats: RecordFormat::index_suffixes.
std::vector<absl::string_view> IndexSuffixes();

// The endings of names of which such an index is: "", and those of the formats
// that have one.
std::vector<absl::string_view> IndexedSuffixes();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TABLE_FORMATS_H_
