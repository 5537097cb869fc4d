// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/tar_scanner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/formats/tar/tar_header.h"
#include "core/formats/tar/tar_names.h"
#include "core/formats/tar/webdataset_key.h"

namespace shufflefs {
namespace {

using Kind = TarHeader::Kind;

constexpr uint64_t kMaxExtensionBytes = 1024 * 1024;

// What headers before a member say about it.
struct Extension {
  bool long_name = false;
  bool long_link = false;
  bool pax = false;
  absl::optional<std::string> name;
  absl::optional<uint64_t> size;

  bool any() const { return long_name || long_link || pax; }
};

class ShardMachine : public RecordScanner {
 public:
  explicit ShardMachine(uint64_t file_bytes) : file_bytes_(file_bytes) {}

  absl::Status Feed(absl::string_view bytes, RecordSink& sink) override;
  uint64_t unread() const override {
    // What lies behind the end may be a hole of many TiB.
    if (end_ == End::kSeen) return file_bytes_ - at_;
    return skip_until_ - std::min(at_, skip_until_);
  }
  void Skip(uint64_t bytes) override { at_ += bytes; }
  absl::Status Finish(RecordSink& sink) override;
  NameHashes TakeNames() override { return names_.Take(); }

 private:
  // Processes the next bytes: a header, or the data of an extension.
  absl::Status Take(absl::string_view bytes, RecordSink& sink);
  absl::Status TakeHeader(absl::string_view block, RecordSink& sink);
  absl::Status TakeExtension(absl::string_view data);
  absl::Status TakeZeroBlock(RecordSink& sink);
  absl::Status BeginExtension(const TarHeader& header);
  absl::Status AddMember(const TarHeader& header, RecordSink& sink);
  // The end of `size` bytes of data after the header at `at_`, with padding.
  absl::StatusOr<uint64_t> DataEnd(uint64_t size) const;
  void AddRecord(RecordSink& sink);
  // Adds the position of the current member to the status.
  absl::Status Located(const absl::Status& status) const;
  absl::Status Refused(absl::string_view why) const {
    return Located(absl::FailedPreconditionError(why));
  }

  const uint64_t file_bytes_;

  uint64_t at_ = 0;          // bytes of the file that were taken
  uint64_t skip_until_ = 0;  // bytes before this offset are skipped
  std::string partial_;      // the first of `wanted_` bytes
  uint64_t wanted_ = kTarBlockBytes;
  enum class End { kNotYet, kOneBlock, kSeen } end_ = End::kNotYet;

  uint64_t member_begin_ = 0;  // with its extensions
  Extension extension_;
  absl::optional<Kind> reading_;  // the extension whose data is wanted

  // The current record. There is none if it ends at 0.
  std::string key_;
  uint64_t record_begin_ = 0;
  uint64_t record_end_ = 0;
  bool begun_ = false;
  TarNames names_;
};

absl::Status ShardMachine::Feed(absl::string_view bytes, RecordSink& sink) {
  if (bytes.size() > file_bytes_ - at_) {
    return absl::DataLossError(
        absl::StrCat("it has more than its ", file_bytes_, " bytes"));
  }
  while (!bytes.empty()) {
    if (end_ == End::kSeen || at_ < skip_until_) {
      const uint64_t skip =
          end_ == End::kSeen ? bytes.size() : skip_until_ - at_;
      const size_t part = std::min<uint64_t>(skip, bytes.size());
      at_ += part;
      bytes.remove_prefix(part);
      continue;
    }
    const size_t part =
        std::min<uint64_t>(wanted_ - partial_.size(), bytes.size());
    absl::string_view whole = bytes.substr(0, part);
    bytes.remove_prefix(part);
    at_ += part;
    if (part < wanted_) {
      partial_.append(whole.data(), whole.size());
      if (partial_.size() < wanted_) return absl::OkStatus();
      whole = partial_;
    }
    RETURN_IF_ERROR(Take(whole, sink));
    partial_.clear();
  }
  return absl::OkStatus();
}

absl::Status ShardMachine::Finish(RecordSink& sink) {
  if (at_ != file_bytes_) {
    return absl::DataLossError(
        absl::StrCat("it has ", at_, " bytes, not its ", file_bytes_));
  }
  if (end_ == End::kNotYet) {
    if (!partial_.empty() || extension_.any()) {
      return absl::DataLossError(absl::StrCat(
          "it ends inside the member at byte ",
          extension_.any() ? member_begin_ : at_ - partial_.size()));
    }
    AddRecord(sink);
  }
  return absl::OkStatus();
}

absl::Status ShardMachine::Take(absl::string_view bytes, RecordSink& sink) {
  if (reading_) return Located(TakeExtension(bytes));
  return TakeHeader(bytes, sink);
}

absl::Status ShardMachine::TakeHeader(absl::string_view block,
                                      RecordSink& sink) {
  if (IsZeroTarBlock(block)) return TakeZeroBlock(sink);
  if (!extension_.any()) member_begin_ = at_ - kTarBlockBytes;
  if (end_ == End::kOneBlock) return Refused("a member after a zero block");
  absl::StatusOr<TarHeader> header = ParseTarHeader(block);
  if (!header.ok()) return Located(header.status());
  if (header->kind != Kind::kFile && header->kind != Kind::kDirectory) {
    return Located(BeginExtension(*header));
  }
  if (extension_.name) header->name = *std::move(extension_.name);
  if (extension_.size) header->size = *extension_.size;
  extension_ = Extension();
  return Located(AddMember(*header, sink));
}

// A single zero block ends the archive for some readers and not for others, so
// nothing may follow it.
absl::Status ShardMachine::TakeZeroBlock(RecordSink& sink) {
  if (extension_.any()) {
    return Located(absl::DataLossError("a header of no member"));
  }
  if (end_ == End::kNotYet) {
    AddRecord(sink);
    end_ = End::kOneBlock;
  } else {
    end_ = End::kSeen;
  }
  return absl::OkStatus();
}

// Readers disagree on which of two headers of one kind counts.
absl::Status ShardMachine::BeginExtension(const TarHeader& header) {
  bool& given = header.kind == Kind::kLongName   ? extension_.long_name
                : header.kind == Kind::kLongLink ? extension_.long_link
                                                 : extension_.pax;
  if (given) {
    return absl::FailedPreconditionError("two headers for one member");
  }
  given = true;
  if (header.size == 0) {
    return absl::DataLossError("a header that holds nothing");
  }
  if (header.size > kMaxExtensionBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("a header of ", header.size, " bytes"));
  }
  RETURN_IF_ERROR(DataEnd(header.size).status());
  reading_ = header.kind;
  wanted_ = header.size;
  return absl::OkStatus();
}

absl::Status ShardMachine::TakeExtension(absl::string_view data) {
  const Kind kind = *reading_;
  reading_.reset();
  wanted_ = kTarBlockBytes;
  const uint64_t rest = data.size() % kTarBlockBytes;
  skip_until_ = at_ + (rest == 0 ? 0 : kTarBlockBytes - rest);
  absl::optional<std::string> name;
  if (kind == Kind::kLongName) {
    name = std::string(data.substr(0, data.find('\0')));
  } else if (kind == Kind::kExtended) {
    ASSIGN_OR_RETURN(PaxFields fields, ParsePaxRecords(data));
    name = std::move(fields.path);
    extension_.size = fields.size;
  }
  if (!name) return absl::OkStatus();
  if (extension_.name) {
    return absl::FailedPreconditionError(
        "two headers that name the same member");
  }
  extension_.name = std::move(name);
  return absl::OkStatus();
}

absl::Status ShardMachine::AddMember(const TarHeader& member,
                                     RecordSink& sink) {
  RETURN_IF_ERROR(TarNames::Check(member));
  ASSIGN_OR_RETURN(const uint64_t end, DataEnd(member.size));
  skip_until_ = end;
  if (member.kind == Kind::kDirectory) return absl::OkStatus();
  const absl::optional<absl::string_view> key = WebDatasetKey(member.name);
  if (!key) return names_.RememberName(member.name);
  if (record_end_ > 0 && *key == key_) {
    names_.EndRecord();
    record_end_ = end;
    return absl::OkStatus();
  }
  if (record_end_ == 0) names_.EndHead();
  RETURN_IF_ERROR(names_.RememberKey(*key));
  names_.EndRecord();
  // Members between two records belong to the second.
  const uint64_t begin = record_end_ > 0 ? record_end_ : member_begin_;
  AddRecord(sink);
  key_ = std::string(*key);
  record_begin_ = begin;
  record_end_ = end;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ShardMachine::DataEnd(uint64_t size) const {
  const uint64_t left = file_bytes_ - at_;
  const uint64_t padding =
      (kTarBlockBytes - size % kTarBlockBytes) % kTarBlockBytes;
  if (size > left || padding > left - size) {
    return absl::DataLossError(absl::StrCat(
        size, " bytes of data, which go past the end of the file"));
  }
  return at_ + size + padding;
}

void ShardMachine::AddRecord(RecordSink& sink) {
  if (record_end_ == 0) return;
  if (!begun_) sink.Begin(record_begin_);
  begun_ = true;
  sink.Add(record_end_ - record_begin_);
}

absl::Status ShardMachine::Located(const absl::Status& status) const {
  if (status.ok()) return status;
  return Annotate(status, absl::StrCat("the member at byte ", member_begin_));
}

}  // namespace

bool LooksLikeTar(absl::string_view head) {
  return head.size() >= kTarBlockBytes &&
         HasTarChecksum(head.substr(0, kTarBlockBytes));
}

std::unique_ptr<RecordScanner> MakeTarScanner(uint64_t file_bytes) {
  return std::make_unique<ShardMachine>(file_bytes);
}

}  // namespace shufflefs
