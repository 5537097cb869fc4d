// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/arrow_stream.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/formats/columnar/flatbuffer_table.h"

namespace shufflefs {
namespace {

constexpr uint32_t kContinuation = 0xFFFFFFFF;
constexpr uint64_t kMarkerBytes = 4;
constexpr uint64_t kPrefixBytes = 8;  // a marker and a size
constexpr uint64_t kMaxMetadataBytes = 64 << 20;
constexpr uint64_t kAlignment = 8;

// Fields of the table Message and values of its union, in Message.fbs.
constexpr int kHeaderType = 1;
constexpr int kBodyLength = 3;
enum HeaderType : uint8_t { kSchema = 1, kDictionary = 2, kRecordBatch = 3 };

uint32_t Word(const char* at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

class ArrowStreamScanner : public RecordScanner {
 public:
  explicit ArrowStreamScanner(uint64_t file_bytes) : file_bytes_(file_bytes) {}

  absl::Status Feed(absl::string_view bytes, RecordSink& sink) override {
    if (bytes.size() > file_bytes_ - at_) {
      return absl::DataLossError(
          absl::StrCat("it has more than its ", file_bytes_, " bytes"));
    }
    while (!bytes.empty()) {
      if (ended_ || at_ < message_) {
        const uint64_t skip = ended_ ? bytes.size() : message_ - at_;
        const size_t part = std::min<uint64_t>(skip, bytes.size());
        at_ += part;
        bytes.remove_prefix(part);
        continue;
      }
      const size_t part =
          std::min<uint64_t>(wanted_ - held_.size(), bytes.size());
      held_.append(bytes.data(), part);
      at_ += part;
      bytes.remove_prefix(part);
      if (held_.size() == wanted_) RETURN_IF_ERROR(Take(sink));
    }
    return absl::OkStatus();
  }

  uint64_t unread() const override {
    // What lies behind the end may be a hole of many TiB.
    if (ended_) return file_bytes_ - at_;
    return message_ - std::min(at_, message_);
  }
  void Skip(uint64_t bytes) override { at_ += bytes; }

  absl::Status Finish(RecordSink& /*sink*/) override {
    if (at_ != file_bytes_) {
      return absl::DataLossError(
          absl::StrCat("it has ", at_, " bytes, not its ", file_bytes_));
    }
    if (!held_.empty()) {
      return absl::DataLossError(
          absl::StrCat("it ends inside the message at byte ", message_));
    }
    return absl::OkStatus();
  }

 private:
  // Called when the first wanted_ bytes of a message are held.
  absl::Status Take(RecordSink& sink) {
    if (wanted_ == kMarkerBytes) return TakeMarker();
    if (wanted_ == kPrefixBytes) return TakePrefix();
    return TakeMetadata(sink);
  }

  absl::Status TakeMarker() {
    const uint32_t marker = Word(held_.data());
    wanted_ = kPrefixBytes;
    if (marker == kContinuation) return absl::OkStatus();
    if (!has_schema_) {
      return absl::FailedPreconditionError(
          "it does not begin as a stream of Arrow 0.15 or later");
    }
    if (marker == 0) return End();  // the end of streams before 0.15
    return absl::DataLossError(
        absl::StrCat("no message begins at byte ", message_));
  }

  absl::Status TakePrefix() {
    const uint64_t bytes = Word(held_.data() + kMarkerBytes);
    if (bytes == 0) {
      if (has_schema_) return End();
      return absl::DataLossError("it has no schema");
    }
    if (bytes > file_bytes_ - at_) {
      return Damaged(absl::StrCat(
          bytes, " bytes of metadata, which go past the end of the file"));
    }
    if (bytes > kMaxMetadataBytes) {
      return Refused(absl::StrCat(bytes, " bytes of metadata"));
    }
    wanted_ = kPrefixBytes + bytes;
    return absl::OkStatus();
  }

  absl::Status TakeMetadata(RecordSink& sink) {
    ASSIGN_OR_RETURN(
        const FlatbufferTable message,
        FlatbufferTable::Root(absl::string_view(held_).substr(kPrefixBytes),
                              message_ + kPrefixBytes));
    ASSIGN_OR_RETURN(const auto type, message.Number<uint8_t>(kHeaderType, 0));
    ASSIGN_OR_RETURN(const auto body, message.Number<int64_t>(kBodyLength, 0));
    if (body < 0 || static_cast<uint64_t>(body) > file_bytes_ - at_) {
      return Damaged(absl::StrCat("a body of ", body,
                                  " bytes, which go past the end of the file"));
    }
    RETURN_IF_ERROR(CheckOrder(type));
    const uint64_t bytes = held_.size() + static_cast<uint64_t>(body);
    if (type == kRecordBatch) {
      if (bytes % kAlignment != 0) {
        return Refused(
            absl::StrCat(bytes, " bytes, which is not a multiple of 8"));
      }
      if (!begun_) sink.Begin(message_);
      begun_ = true;
      sink.Add(bytes);
    }
    message_ += bytes;
    held_.clear();
    wanted_ = kMarkerBytes;
    return absl::OkStatus();
  }

  // Checks whether a message of this type may come here.
  absl::Status CheckOrder(uint8_t type) {
    if (!has_schema_) {
      if (type != kSchema) return Refused("no schema comes before it");
      has_schema_ = true;
      return absl::OkStatus();
    }
    switch (type) {
      case kSchema:
        return Refused("a second schema");
      case kDictionary:
        if (begun_) return Refused("a dictionary after a record batch");
        return absl::OkStatus();
      case kRecordBatch:
        return absl::OkStatus();
      default:
        return Refused(absl::StrCat("a message of type ", int{type}));
    }
  }

  absl::Status End() {
    ended_ = true;
    held_.clear();
    return absl::OkStatus();
  }

  std::string Located(absl::string_view what) const {
    return absl::StrCat("the message at byte ", message_, ": ", what);
  }
  absl::Status Refused(absl::string_view why) const {
    return absl::FailedPreconditionError(Located(why));
  }
  absl::Status Damaged(absl::string_view why) const {
    return absl::DataLossError(Located(why));
  }

  const uint64_t file_bytes_;

  uint64_t at_ = 0;                 // bytes of the file that were taken
  uint64_t message_ = 0;            // where the current or next message begins
  std::string held_;                // its first bytes
  uint64_t wanted_ = kMarkerBytes;  // number of bytes to hold
  bool has_schema_ = false;
  bool begun_ = false;  // a record batch was seen
  bool ended_ = false;  // the end-of-stream marker was seen
};

}  // namespace

std::unique_ptr<RecordScanner> MakeArrowStreamScanner(uint64_t file_bytes) {
  return std::make_unique<ArrowStreamScanner>(file_bytes);
}

bool LooksLikeArrowStream(absl::string_view head) {
  if (head.size() < kPrefixBytes || Word(head.data()) != kContinuation) {
    return false;
  }
  const uint32_t bytes = Word(head.data() + kMarkerBytes);
  // Builders put the fields that are read here before the columns' names.
  const auto message =
      FlatbufferTable::Root(head.substr(kPrefixBytes, bytes), kPrefixBytes);
  if (!message.ok()) return false;
  const auto type = message->Number<uint8_t>(kHeaderType, 0);
  return type.ok() && *type == kSchema;
}

}  // namespace shufflefs
