// SPDX-License-Identifier: Apache-2.0
// A container format: how its files are named, how they begin, and how their
// records are found. A new one is a class of this and a line in
// core/formats/table/formats.cc (tests/examples has one of less than 120
// lines); what no format claims is no container.
#ifndef SHUFFLEFS_CORE_FORMATS_RECORD_FORMAT_H_
#define SHUFFLEFS_CORE_FORMATS_RECORD_FORMAT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/config/record_options.h"
#include "core/formats/fixed_shape.h"
#include "core/formats/record_scanner.h"

namespace shufflefs {

class ColumnarGroups;  // core/formats/columnar/columnar_groups.h

// What a format may look at beside the bytes of a file. Lives as long as the
// call it is given to.
struct CandidateFile {
  absl::string_view path;  // below the source
  uint64_t bytes = 0;
  const RecordOptions* options = nullptr;
};

// Stateless; any thread may call. One object a format, which lives as long as
// the program, so that its address stands for the format.
//
// Its records are found in one of three ways, which are asked in this order:
// from its end (ReadFooter), from its first bytes (ReadHead), or by a pass over
// all of it (MakeScanner). Errors name no file: FailedPrecondition: this file
// is not to be shuffled, and why; DataLoss: it is damaged, and at which byte.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // In record.as and in `status`.
  virtual absl::string_view name() const = 0;
  // How names end that say so themselves, in lower case. A file with such a
  // name is one only if its bytes agree.
  virtual absl::Span<const absl::string_view> suffixes() const { return {}; }
  // How names end that are taken for one where the user says no more than that
  // the file holds records.
  virtual absl::Span<const absl::string_view> likely_suffixes() const {
    return {};
  }
  // Whether "train-00000-of-00010", without a suffix, is taken for one.
  virtual bool names_shards() const { return false; }
  // What of a file comes in another order, as `status` says, of one and of
  // several.
  virtual absl::string_view unit() const { return "record"; }
  virtual absl::string_view units() const { return "records"; }
  // Whether all of a file is described in it, so that what moves must stay in
  // its file.
  virtual bool is_columnar() const { return false; }
  // Whether files of other extensions hold records of another kind.
  virtual bool differs_by_extension() const { return false; }
  // Whether a file beside it may hold the index of its records.
  virtual bool has_index_beside() const { return false; }
  // What a rule for this format lacks in the options. InvalidArgument, in a few
  // words that follow the rule.
  virtual absl::Status CheckOptions(const RecordOptions&) const {
    return absl::OkStatus();
  }

  // How many of the last bytes ReadFooter is given; 0: none, it is not called.
  virtual uint64_t tail_bytes() const { return 0; }
  // The groups that the footer lists of the open file `fd`, of which `tail`
  // holds the last tail_bytes(), or all. Null: there is no footer, and the
  // other ways are tried. May read more of it, and blocks for that.
  virtual absl::StatusOr<std::shared_ptr<const ColumnarGroups>> ReadFooter(
      int /*fd*/, const CandidateFile& /*file*/, absl::string_view /*tail*/) const;
  // Of files whose records have one size, where they are; else nothing. `head`:
  // the first 16 KiB, or all of a smaller file.
  virtual absl::StatusOr<absl::optional<FixedShape>> ReadHead(
      const CandidateFile& /*file*/, absl::string_view /*head*/) const {
    return absl::nullopt;
  }
  // Whether a file may begin so: what does not is not scanned.
  virtual bool LooksLike(absl::string_view head) const = 0;
  // REQUIRES: neither ReadFooter nor ReadHead gave anything.
  virtual std::unique_ptr<RecordScanner> MakeScanner(
      const CandidateFile& /*file*/) const {
    return nullptr;
  }
  // What decides where the scanner finds records, beside the file: a saved
  // index is used only with the same. The name, and what the options add.
  virtual std::string ScanKey(const CandidateFile& /*file*/) const {
    return std::string(name());
  }
  // Whether records end in a line's end, which the last of a file may lack and
  // then gets from whichever comes last.
  virtual bool ends_lines() const { return false; }
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_RECORD_FORMAT_H_
