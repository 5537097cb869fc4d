// SPDX-License-Identifier: Apache-2.0
// What the keys `record.*` hold.
#ifndef SHUFFLEFS_CORE_CONFIG_RECORD_OPTIONS_H_
#define SHUFFLEFS_CORE_CONFIG_RECORD_OPTIONS_H_

#include <cstdint>
#include <string>

namespace shufflefs {

// record.scope: from which containers the records that one shows come.
enum class RecordScope {
  kFile,  // from itself
  kSet,   // from all of a set of shards: X-00000-of-00008, … in one directory
  kView,  // from all of its format
};

// The keys record.*.
struct RecordOptions {
  // record.as: `pattern:format` rules, separated by `;`. A pattern is matched
  // as a shell does, against the path in the view if it has a slash, else
  // against the name alone. The first that matches decides. "" = none.
  std::string as;
  uint64_t bytes = 0;   // record.bytes: of a record of `fixed`
  uint64_t header = 0;  // record.header: bytes of `fixed`, lines of `lines`
  // record.csv: of `lines` in a file called .csv or .tsv. kPlain: one that has
  // a line's end within quotes is not touched; kQuoted: that belongs to its
  // record.
  enum class Csv { kPlain, kQuoted };
  Csv csv = Csv::kPlain;
  // record.align: files whose rows belong together (record_align.h): their
  // records get one order. "" = none.
  std::string align;
  RecordScope scope = RecordScope::kFile;
  friend bool operator==(const RecordOptions&, const RecordOptions&) = default;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CONFIG_RECORD_OPTIONS_H_
