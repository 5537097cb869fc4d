// SPDX-License-Identifier: Apache-2.0
#include "peers/transport/wire.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "core/base/status.h"

namespace shufflefs::peers {
namespace {

constexpr size_t kMostPath = 4096;
constexpr size_t kMostText = 4096;  // bytes of a key, a value or a version
constexpr int kMostKeys = 256;
constexpr size_t kMostShown = 500;
constexpr size_t kMostNamesHead = 32 << 10;  // a NamesAnswer without its data
// Of fields with a length.
constexpr unsigned char kDataTag = 1 << 3 | 2;      // ExtentAnswer.data
constexpr unsigned char kSentDataTag = 3 << 3 | 2;  // NamesAnswer.data

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("peer: wrong ", what));
}

// What stands before the data of an answer: tag, and length as a varint.
std::string DataHead(unsigned char tag, uint64_t length) {
  std::string head(1, static_cast<char>(tag));
  for (; length >= 0x80; length >>= 7) {
    head.push_back(static_cast<char>(length | 0x80));
  }
  head.push_back(static_cast<char>(length));
  return head;
}

// Hands out the bytes of slices, in order.
class SliceReader {
 public:
  explicit SliceReader(const std::vector<grpc::Slice>& slices)
      : slices_(slices) {}

  // Returns false if there are not that many.
  bool Copy(char* to, size_t size) {
    while (size > 0) {
      if (at_ == slices_.size()) return false;
      const grpc::Slice& slice = slices_[at_];
      const size_t part = std::min(size, slice.size() - used_);
      if (part > 0) std::memcpy(to, slice.begin() + used_, part);
      to += part;
      size -= part;
      used_ += part;
      if (used_ == slice.size()) {
        ++at_;
        used_ = 0;
      }
    }
    return true;
  }

 private:
  const std::vector<grpc::Slice>& slices_;
  size_t at_ = 0;
  size_t used_ = 0;  // bytes of that slice
};

// An answer of `head` and then the bytes, which stay where they are.
absl::StatusOr<grpc::ByteBuffer> AnswerOf(std::string head,
                                          const PeerBytes& bytes,
                                          uint64_t length) {
  std::vector<grpc::Slice> slices = {grpc::Slice(std::move(head))};
  uint64_t sum = 0;
  for (const iovec& piece : bytes.pieces) {
    if (piece.iov_len == 0) continue;
    sum += piece.iov_len;
    // Each slice has a share in the memory.
    auto* owner = new std::shared_ptr<const void>(bytes.owner);
    slices.emplace_back(
        piece.iov_base, piece.iov_len,
        [](void* share) {
          delete static_cast<std::shared_ptr<const void>*>(share);
        },
        owner);
  }
  if (sum != length) {
    return absl::InternalError(
        absl::StrCat(length, " bytes of files were answered with ", sum));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

// Reads a varint of `bytes` at `at`, and moves `at` past it.
absl::optional<uint64_t> TakeVarint(const std::string& bytes, size_t& at) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return absl::nullopt;
}

// Where a NamesAnswer of `length` bytes, which begins with `head`, has its
// data.
struct SentData {
  size_t fields = 0;  // bytes of the other fields, which stand before it
  size_t begin = 0;   // of the data itself, which reaches to the end
};

// Empty if it is no NamesAnswer, or if its data is not the last field.
absl::optional<SentData> FindSentData(const std::string& head, size_t length) {
  size_t at = 0;
  while (at < length) {
    const size_t field = at;
    if (at >= head.size()) return absl::nullopt;
    const auto tag = static_cast<unsigned char>(head[at++]);
    const absl::optional<uint64_t> value = TakeVarint(head, at);
    if (!value) return absl::nullopt;
    if (tag == kSentDataTag) {
      if (*value != length - at) return absl::nullopt;
      return SentData{field, at};
    }
    if (tag >= 0x80) return absl::nullopt;  // a field of no NamesAnswer
    if ((tag & 7) == 0) continue;           // a number
    if ((tag & 7) != 2 || *value > length - at) return absl::nullopt;
    at += *value;
  }
  return SentData{at, at};
}

// The indices are ascending and below `count`.
bool AreIndices(const google::protobuf::RepeatedField<uint32_t>& indices,
                size_t count) {
  int64_t before = -1;
  for (const uint32_t index : indices) {
    if (index <= before || index >= count) return false;
    before = index;
  }
  return true;
}

}  // namespace

std::string MetadataOf(const grpc::CallbackServerContext& context,
                       const char* key) {
  const auto& all = context.client_metadata();
  const auto found = all.find(key);
  if (found == all.end()) return "";
  return std::string(found->second.data(), found->second.size());
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message().substr(0, 2048)));
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      Shown(status.error_message()));
}

grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* context,
                                   const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

v1::Identity ToMessage(const PeerIdentity& identity) {
  v1::Identity message;
  message.set_version(identity.version);
  message.set_dataset(identity.dataset);
  message.set_files(identity.files);
  for (const auto& [name, value] : identity.keys) {
    v1::Identity::Key* key = message.add_keys();
    key->set_name(name);
    key->set_value(value);
  }
  return message;
}

absl::StatusOr<PeerIdentity> FromMessage(const v1::Identity& message) {
  if (message.version().size() > kMostText || message.keys_size() > kMostKeys) {
    return Wrong("identity");
  }
  PeerIdentity identity{.version = message.version(),
                        .dataset = message.dataset(),
                        .files = message.files(),
                        .keys = {}};
  for (const v1::Identity::Key& key : message.keys()) {
    if (key.name().size() > kMostText || key.value().size() > kMostText) {
      return Wrong("identity");
    }
    identity.keys.emplace_back(key.name(), key.value());
  }
  return identity;
}

void ToMessage(const PeerExtent& extent, v1::ExtentRequest& message) {
  message.set_path(extent.path);
  message.set_size(extent.size);
  message.set_mtime_ns(extent.mtime_ns);
  message.set_offset(extent.offset);
  message.set_length(extent.length);
}

absl::Status CheckExtent(const PeerExtent& extent) {
  if (extent.path.size() > kMostPath ||
      extent.path.find('\0') != std::string::npos) {
    return Wrong("path");
  }
  for (absl::string_view part : absl::StrSplit(extent.path, '/')) {
    if (part.empty() || part == "." || part == "..") return Wrong("path");
  }
  if (extent.length == 0 || extent.length > kMostPeerExtent ||
      extent.length > extent.size ||
      extent.offset > extent.size - extent.length) {
    return Wrong("extent");
  }
  return absl::OkStatus();
}

absl::StatusOr<PeerExtent> FromMessage(const v1::ExtentRequest& message) {
  PeerExtent extent{.path = message.path(),
                    .size = message.size(),
                    .mtime_ns = message.mtime_ns(),
                    .offset = message.offset(),
                    .length = message.length()};
  if (absl::Status checked = CheckExtent(extent); !checked.ok()) return checked;
  return extent;
}

void ToMessage(const EpochMessage& epoch, v1::TellRequest& message) {
  message.set_kind(static_cast<uint32_t>(epoch.kind));
  message.set_from(epoch.from);
  message.set_view(epoch.view);
  message.set_epoch(epoch.epoch);
  message.set_binding(epoch.binding);
  message.set_wanted(epoch.wanted);
  message.set_round(epoch.round);
  message.set_first(epoch.first);
  message.set_next(epoch.next);
  message.set_reason(epoch.reason);
  message.set_shown(epoch.shown);
  message.set_stream(epoch.stream);
  message.set_keys(epoch.keys);
  message.set_shows(epoch.shows);
  message.set_fresh(epoch.fresh);
  for (const std::string& member : epoch.members) message.add_members(member);
  for (const EpochOpen& open : epoch.opens) {
    message.add_open_names(open.name);
    message.add_open_readers(open.reader);
    message.add_open_jobs(uint64_t{open.job} << 1 | (open.foreign ? 1 : 0));
  }
  const bool samples = absl::c_any_of(
      epoch.opens, [](const EpochOpen& open) { return open.sample != 0; });
  for (const EpochOpen& open : epoch.opens) {
    if (samples) message.add_open_samples(open.sample);
  }
  message.mutable_names()->Add(epoch.names.begin(), epoch.names.end());
  message.mutable_opened()->Add(epoch.opened.begin(), epoch.opened.end());
  for (const EpochPair& pair : epoch.pairs) {
    message.add_pair_names(pair.name);
    message.add_pair_samples(pair.sample);
  }
}

absl::StatusOr<EpochMessage> FromMessage(const v1::TellRequest& message) {
  const int opens = message.open_names_size();
  const int pairs = message.pair_names_size();
  const uint64_t entries = uint64_t{0} + opens + pairs + message.names_size() +
                           message.opened_size();
  if (message.from().size() > kMostEpochText ||
      message.view().size() > kMostEpochText ||
      message.reason().size() > kMostEpochText || entries > kMostEpochEntries ||
      message.open_readers_size() != opens ||
      message.open_jobs_size() != opens ||
      (message.open_samples_size() != opens &&
       message.open_samples_size() != 0) ||
      message.pair_samples_size() != pairs ||
      !FitsMessage({message.members().begin(), message.members().end()})) {
    return Wrong("message about an epoch");
  }
  EpochMessage epoch;
  epoch.kind = static_cast<EpochMessage::Kind>(message.kind());
  epoch.from = message.from();
  epoch.view = message.view();
  epoch.epoch = message.epoch();
  epoch.binding = message.binding();
  epoch.wanted = message.wanted();
  epoch.round = message.round();
  epoch.first = message.first();
  epoch.next = message.next();
  epoch.reason = message.reason();
  epoch.shown = message.shown();
  epoch.stream = message.stream();
  epoch.keys = message.keys();
  epoch.shows = message.shows();
  epoch.fresh = message.fresh();
  epoch.members.assign(message.members().begin(), message.members().end());
  for (int i = 0; i < opens; ++i) {
    const uint64_t job = message.open_jobs(i);
    epoch.opens.push_back({.name = message.open_names(i),
                           .sample = message.open_samples_size() > 0
                                         ? message.open_samples(i)
                                         : 0,
                           .reader = message.open_readers(i),
                           .job = static_cast<uint32_t>(job >> 1),
                           .foreign = (job & 1) != 0});
  }
  epoch.names.assign(message.names().begin(), message.names().end());
  epoch.opened.assign(message.opened().begin(), message.opened().end());
  for (int i = 0; i < pairs; ++i) {
    epoch.pairs.push_back({message.pair_names(i), message.pair_samples(i)});
  }
  return epoch;
}

void ToMessage(const NameQuestion& question, v1::NamesRequest& message) {
  message.set_view(question.view);
  message.set_binding(question.binding);
  message.mutable_names()->Add(question.names.begin(), question.names.end());
  message.set_room(question.room);
  message.set_purpose(static_cast<uint32_t>(question.purpose));
  message.set_wanted(question.wanted);
  message.set_asker(question.asker);
}

absl::Status CheckQuestion(const NameQuestion& question) {
  if (question.view.size() > kMostEpochText || question.names.empty() ||
      question.names.size() > kMostAskedNames ||
      question.wanted > question.names.size() ||
      question.asker.size() > kMostEpochText) {
    return Wrong("question about names");
  }
  return absl::OkStatus();
}

absl::StatusOr<NameQuestion> FromMessage(const v1::NamesRequest& message) {
  if (message.purpose() >= kNamePurposes) return Wrong("question about names");
  NameQuestion question{
      .view = message.view(),
      .binding = message.binding(),
      .names = {message.names().begin(), message.names().end()},
      .room = message.room(),
      .purpose = static_cast<NamePurpose>(message.purpose()),
      .wanted = message.wanted(),
      .asker = message.asker()};
  RETURN_IF_ERROR(CheckQuestion(question));
  return question;
}

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

absl::StatusOr<std::string> FromBuffer(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (buffer.Length() > kMostRequest || !buffer.Dump(&slices).ok()) {
    return Wrong("message");
  }
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

absl::StatusOr<grpc::ByteBuffer> ToAnswer(const PeerBytes& bytes,
                                          uint64_t length) {
  return AnswerOf(DataHead(kDataTag, length), bytes, length);
}

absl::Status FromAnswer(const grpc::ByteBuffer& buffer, uint64_t length,
                        const std::vector<iovec>& into) {
  const std::string expected = DataHead(kDataTag, length);
  std::vector<grpc::Slice> slices;
  if (!buffer.Valid() || buffer.Length() != expected.size() + length ||
      !buffer.Dump(&slices).ok()) {
    return absl::DataLossError("peer: an answer of another length");
  }
  SliceReader reader(slices);
  std::string head(expected.size(), '\0');
  if (!reader.Copy(head.data(), head.size()) || head != expected) {
    return absl::DataLossError("peer: an answer that is none");
  }
  for (const iovec& piece : into) {
    const size_t part = std::min<uint64_t>(piece.iov_len, length);
    if (!reader.Copy(static_cast<char*>(piece.iov_base), part)) {
      return absl::DataLossError("peer: an answer that is too short");
    }
    length -= part;
  }
  if (length == 0) return absl::OkStatus();
  return absl::InternalError("peer: not enough memory for an extent");
}

absl::StatusOr<grpc::ByteBuffer> ToAnswer(const NameAnswer& answer) {
  v1::NamesAnswer message;
  message.mutable_samples()->Add(answer.samples.begin(), answer.samples.end());
  message.mutable_carried()->Add(answer.carried.begin(), answer.carried.end());
  std::string head = message.SerializeAsString();
  if (answer.length > 0) head += DataHead(kSentDataTag, answer.length);
  return AnswerOf(std::move(head), answer.bytes, answer.length);
}

absl::StatusOr<NameAnswer> FromAnswer(const grpc::ByteBuffer& buffer,
                                      size_t count, uint64_t room) {
  const auto none = absl::DataLossError("peer: an answer that is none");
  auto slices = std::make_shared<std::vector<grpc::Slice>>();
  if (!buffer.Valid()) {
    if (count == 0) return NameAnswer();
    return none;
  }
  if (!buffer.Dump(slices.get()).ok()) return none;
  const size_t length = buffer.Length();
  std::string head(std::min(length, kMostNamesHead), '\0');
  if (!SliceReader(*slices).Copy(head.data(), head.size())) return none;
  const absl::optional<SentData> data = FindSentData(head, length);
  v1::NamesAnswer message;
  if (!data || data->fields > head.size() ||
      !message.ParseFromArray(head.data(), static_cast<int>(data->fields))) {
    return none;
  }
  const auto& samples = message.samples();
  if (static_cast<size_t>(samples.size()) != count) {
    return absl::DataLossError(absl::StrCat("peer: ", samples.size(),
                                            " samples for ", count, " names"));
  }
  NameAnswer answer(std::vector<uint64_t>(samples.begin(), samples.end()));
  answer.length = length - data->begin;
  if (answer.length > room || !AreIndices(message.carried(), count) ||
      message.carried().empty() != (answer.length == 0)) {
    return absl::DataLossError("peer: bytes that nobody asked for");
  }
  answer.carried.assign(message.carried().begin(), message.carried().end());
  size_t skip = data->begin;
  for (const grpc::Slice& slice : *slices) {
    const size_t part = std::min(skip, slice.size());
    skip -= part;
    if (part == slice.size()) continue;
    answer.bytes.pieces.push_back(
        {const_cast<uint8_t*>(slice.begin()) + part, slice.size() - part});
  }
  answer.bytes.owner = std::move(slices);
  return answer;
}

uint64_t HashOf(const PeerGroup& group) {
  std::vector<std::string> names;
  for (const PeerGroup::Member& member : group.members) {
    names.push_back(member.name);
  }
  return HashOf(names);
}

uint64_t HashOf(const std::vector<std::string>& names) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&hash](unsigned char byte) {
    hash = (hash ^ byte) * 0x100000001b3;
  };
  for (const std::string& name : names) {
    for (char c : name) add(static_cast<unsigned char>(c));
    add(0);
  }
  return hash;
}

absl::Status CheckLists(uint64_t ours, uint64_t theirs) {
  if (ours == 0 || theirs == 0 || ours == theirs) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "another list of members: name the same ones, spelt alike, on all nodes");
}

std::string Shown(absl::string_view text) {
  std::string shown(text.substr(0, kMostShown));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return shown;
}

}  // namespace shufflefs::peers
