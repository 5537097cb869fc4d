// SPDX-License-Identifier: Apache-2.0
// RecordFormat is a container format: how its files are named, how they begin,
// and how their records are found. A new format is a subclass of it and a line
// in core/formats/table/formats.cc (tests/examples has one of less than 120
// lines). A file that no format claims is no container. Names of other files
// that tell of a container, such as those of its indexes, are its format's, too.
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

// CandidateFile is what a format may inspect besides the bytes of a file. Lives
// as long as the call that gets it.
struct CandidateFile {
  absl::string_view path;  // relative to the source
  uint64_t bytes = 0;
  const RecordOptions* options = nullptr;
};

// Stateless; any thread may call. There is one object per format, and it lives
// as long as the program. So its address identifies the format.
//
// Records are found in one of three ways, tried in this order: from the file's
// end (ReadFooter), from its first bytes (ReadHead), or by a pass over all of
// it (MakeScanner). Errors do not name the file. FailedPrecondition: this file
// must not be shuffled, and why. DataLoss: it is damaged, and at which byte.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;

  // The name in record.as and in `status`.
  virtual absl::string_view name() const = 0;
  // Lower-case endings of names that identify the format by themselves. A file
  // with such a name has the format only if its bytes agree.
  virtual absl::Span<const absl::string_view> suffixes() const { return {}; }
  // Endings of names that are taken for this format if the user only says that
  // the file holds records.
  virtual absl::Span<const absl::string_view> likely_suffixes() const {
    return {};
  }
  // Returns whether a shard without a suffix, "train-00000-of-00010", is taken
  // for this format.
  virtual bool names_shards() const { return false; }
  // The unit that is reordered in a file, as `status` names it, in singular and
  // plural.
  virtual absl::string_view unit() const { return "record"; }
  virtual absl::string_view units() const { return "records"; }
  // Returns whether the file describes all of its content, so that what moves
  // must stay in its file.
  virtual bool is_columnar() const { return false; }
  // Returns whether files with other extensions hold another kind of records.
  virtual bool differs_by_extension() const { return false; }
  // Endings of files beside a container, or in place of its suffix, that hold
  // the offsets of its records. A container with such a file is left alone.
  virtual absl::Span<const absl::string_view> index_suffixes() const {
    return {};
  }
  // The one of them whose index is rewritten as records move, so that the
  // container need not be left alone. "": none.
  virtual absl::string_view rewritten_index() const { return ""; }
  // Endings of directories that are one data set, as Spark writes x.parquet.
  virtual absl::Span<const absl::string_view> directory_suffixes() const {
    return {};
  }
  // Returns whether a file with such a suffix may be a table of other files.
  virtual bool may_list_files() const { return false; }
  // Returns whether `shufflectl pack --align` writes it with padding.
  virtual bool may_be_padded() const { return false; }
  // The options that a rule for this format may have: of bytes, header, csv.
  virtual absl::Span<const absl::string_view> options() const { return {}; }
  // InvalidArgument if a rule for this format needs an option that is not set,
  // in a few words that follow the rule.
  virtual absl::Status CheckOptions(const RecordOptions&) const {
    return absl::OkStatus();
  }

  // The number of last bytes that ReadFooter gets. 0: ReadFooter is not called.
  virtual uint64_t tail_bytes() const { return 0; }
  // The groups that the footer of the open file `fd` lists. `tail` holds the
  // file's last tail_bytes(), or all of it. Null: there is no footer, and the
  // other ways are tried. May read more of the file, and blocks for that.
  virtual absl::StatusOr<std::shared_ptr<const ColumnarGroups>> ReadFooter(
      int /*fd*/, const CandidateFile& /*file*/,
      absl::string_view /*tail*/) const;
  // The shape of a file whose records have one size, else nothing. `head` is
  // the first 16 KiB, or all of a smaller file.
  virtual absl::StatusOr<absl::optional<FixedShape>> ReadHead(
      const CandidateFile& /*file*/, absl::string_view /*head*/) const {
    return absl::nullopt;
  }
  // Returns whether a file may begin with `head`. Other files are not scanned.
  virtual bool LooksLike(absl::string_view head) const = 0;
  // REQUIRES: neither ReadFooter nor ReadHead returned anything.
  virtual std::unique_ptr<RecordScanner> MakeScanner(
      const CandidateFile& /*file*/) const {
    return nullptr;
  }
  // The text of everything that determines the scanner's result besides the
  // file: the name, and what the options add. A saved index is used only if its
  // key is equal.
  virtual std::string ScanKey(const CandidateFile& /*file*/) const {
    return std::string(name());
  }
  // Returns whether records end with a line end. The last record of a file may
  // lack it; whichever record comes last then gives it its own.
  virtual bool ends_lines() const { return false; }
  // Returns whether readers tell records apart by names in them. Then files
  // that have a name in common are not mixed (RecordScanner::TakeNames).
  virtual bool has_names() const { return false; }
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_RECORD_FORMAT_H_
