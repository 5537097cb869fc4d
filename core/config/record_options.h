// SPDX-License-Identifier: Apache-2.0
// The values of the keys `record.*`.
#ifndef SHUFFLEFS_CORE_CONFIG_RECORD_OPTIONS_H_
#define SHUFFLEFS_CORE_CONFIG_RECORD_OPTIONS_H_

#include <cstdint>
#include <string>

namespace shufflefs {

// record.scope: the containers from which the records of one container come.
enum class RecordScope {
  kFile,  // only itself
  kSet,   // all of its set of shards: X-00000-of-00008, … in one directory
  kView,  // all of its format
};

// The keys record.*.
struct RecordOptions {
  static constexpr uint64_t kMost = uint64_t{1} << 40;  // bytes, or lines

  // record.as: `pattern:format` rules, separated by `;`. A pattern is matched
  // as in a shell: against the path in the view if it has a slash, else against
  // the name. The first matching rule decides. A format may have options of its
  // own behind it, as in `*.bin:fixed,bytes=785,header=16`; what it leaves open
  // has the values below. "" = none.
  std::string as;
  uint64_t bytes = 0;   // record.bytes: record size of `fixed`
  uint64_t header = 0;  // record.header: bytes for `fixed`, lines for `lines`
  // record.csv: for `lines` in a file called .csv or .tsv. kPlain: a file with
  // a line end within quotes is not shuffled. kQuoted: such a line end belongs
  // to its record.
  enum class Csv { kPlain, kQuoted };
  Csv csv = Csv::kPlain;
  // record.align: files whose rows correspond (record_align.h). Their records
  // get one order. "" = none.
  std::string align;
  RecordScope scope = RecordScope::kFile;
  friend bool operator==(const RecordOptions&, const RecordOptions&) = default;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CONFIG_RECORD_OPTIONS_H_
