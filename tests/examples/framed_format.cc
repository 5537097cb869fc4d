// SPDX-License-Identifier: Apache-2.0
#include "tests/examples/framed_format.h"

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr uint64_t kLengthBytes = 4;

class FramedScanner : public RecordScanner {
 public:
  explicit FramedScanner(uint64_t file_bytes) : file_bytes_(file_bytes) {}

  absl::Status Feed(absl::string_view bytes, RecordSink& sink) override {
    while (!bytes.empty()) {
      EndMessage(sink);
      if (at_ < kFramedMagic.size()) {  // LooksLike saw it
        Take(bytes, kFramedMagic.size() - at_);
      } else if (length_bytes_ == kLengthBytes) {
        unread_ -= Take(bytes, unread_);
      } else {
        message_ |= uint64_t{static_cast<uint8_t>(bytes[0])}
                    << (8 * length_bytes_++);
        Take(bytes, 1);
        if (length_bytes_ < kLengthBytes) continue;
        if (message_ > file_bytes_ - at_) {
          return absl::DataLossError(
              absl::StrCat("the message at byte ", at_ - kLengthBytes,
                           " is longer than the rest of the file"));
        }
        unread_ = message_;
      }
    }
    return absl::OkStatus();
  }
  uint64_t unread() const override { return unread_; }
  void Skip(uint64_t bytes) override {
    at_ += bytes;
    unread_ -= bytes;
  }
  absl::Status Finish(RecordSink& sink) override {
    EndMessage(sink);
    if (length_bytes_ == 0) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("it ends within a message, at byte ", at_));
  }

 private:
  // At most `count` of `bytes`; returns how many.
  uint64_t Take(absl::string_view& bytes, uint64_t count) {
    const uint64_t taken = std::min<uint64_t>(bytes.size(), count);
    bytes.remove_prefix(taken);
    at_ += taken;
    return taken;
  }
  void EndMessage(RecordSink& sink) {
    if (length_bytes_ < kLengthBytes || unread_ > 0) return;
    const uint64_t record = kLengthBytes + message_;
    if (at_ - record == kFramedMagic.size()) sink.Begin(kFramedMagic.size());
    sink.Add(record);
    length_bytes_ = message_ = 0;
  }

  const uint64_t file_bytes_;
  uint64_t at_ = 0;            // in the file
  uint64_t length_bytes_ = 0;  // seen of the length
  uint64_t message_ = 0;       // its bytes
  uint64_t unread_ = 0;        // of them
};

class Framed : public RecordFormat {
 public:
  absl::string_view name() const override { return "framed"; }
  absl::Span<const absl::string_view> suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".framed"};
    return kSuffixes;
  }
  absl::Span<const absl::string_view> index_suffixes() const override {
    static constexpr absl::string_view kSuffixes[] = {".offsets"};
    return kSuffixes;
  }
  bool LooksLike(absl::string_view head) const override {
    return absl::StartsWith(head, kFramedMagic);
  }
  std::unique_ptr<RecordScanner> MakeScanner(
      const CandidateFile& file) const override {
    return std::make_unique<FramedScanner>(file.bytes);
  }
};

}  // namespace

const RecordFormat& FramedFormat() {
  static const Framed format;
  return format;
}

}  // namespace shufflefs
