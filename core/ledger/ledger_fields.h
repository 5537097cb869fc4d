// SPDX-License-Identifier: Apache-2.0
// The fields of a ledger's record, one after the other. Only for
// core/ledger/ledger_format.cc and the files of the other records.
#ifndef SHUFFLEFS_CORE_LEDGER_LEDGER_FIELDS_H_
#define SHUFFLEFS_CORE_LEDGER_LEDGER_FIELDS_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/files/append_log.h"
#include "core/ledger/ledger_format.h"

namespace shufflefs::ledger_format {

inline constexpr uint64_t kRecordTag = 0xff;

// A record's first word, without its length.
constexpr uint64_t FirstWord(RecordType type, uint8_t view) {
  return kRecordTag << 56 | static_cast<uint64_t>(type) << 48 |
         uint64_t{view} << 16;
}

// Appends fields to a record.
class RecordWriter {
 public:
  RecordWriter(RecordType type, uint8_t view) : words_{FirstWord(type, view)} {}

  void Put(uint64_t value) { words_.push_back(value); }
  void Put(absl::string_view text) {
    // A longer text makes the record too long, so Finish refuses it. (The bound
    // also keeps gcc 12 from warning of an impossible overflow.)
    text = text.substr(0, kMaxRecordWords * 8);
    Put(text.size());
    const size_t at = words_.size();
    words_.resize(at + (text.size() + 7) / 8);
    if (!text.empty()) std::memcpy(&words_[at], text.data(), text.size());
  }
  void Put(absl::Span<const uint64_t> values) {
    words_.insert(words_.end(), values.begin(), values.end());
  }

  absl::StatusOr<Words> Finish(uint64_t at) && {
    const uint64_t length = words_.size() + 1;
    if (length > kMaxRecordWords) {
      return absl::InvalidArgumentError(
          absl::StrCat("a ledger record of ", length, " words is too long"));
    }
    words_[0] |= length << 24;
    return Sealed(std::move(words_), at);
  }

 private:
  Words words_;
};

// Reads fields from a record. After one failed, all further ones are zero.
class RecordFields {
 public:
  explicit RecordFields(absl::Span<const uint64_t> record)
      : rest_(record.subspan(1, record.size() - 2)) {}

  uint64_t Number() {
    if (rest_.empty()) {
      failed_ = true;
      return 0;
    }
    const uint64_t value = rest_.front();
    rest_.remove_prefix(1);
    return value;
  }
  uint64_t NumberBelow(uint64_t limit) {
    const uint64_t value = Number();
    if (value >= limit) failed_ = true;
    return failed_ ? 0 : value;
  }
  std::string Text() {
    const uint64_t size = NumberBelow(rest_.size() * 8 + 1);
    const uint64_t words = (size + 7) / 8;
    if (failed_ || words > rest_.size()) {
      failed_ = true;
      return "";
    }
    std::string text(size, '\0');
    if (size > 0) std::memcpy(text.data(), rest_.data(), size);
    rest_.remove_prefix(words);
    return text;
  }
  Words Numbers(uint64_t count) {
    if (failed_ || count > rest_.size()) {
      failed_ = true;
      return {};
    }
    const auto taken = rest_.first(count);
    rest_.remove_prefix(count);
    return {taken.begin(), taken.end()};
  }
  uint64_t left() const { return rest_.size(); }

  // Returns OK if every field fitted and none is left over.
  absl::Status Done(absl::string_view what) const {
    if (!failed_ && rest_.empty()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat(what, " record has fields that do not fit"));
  }

 private:
  absl::Span<const uint64_t> rest_;
  bool failed_ = false;
};

}  // namespace shufflefs::ledger_format

#endif  // SHUFFLEFS_CORE_LEDGER_LEDGER_FIELDS_H_
