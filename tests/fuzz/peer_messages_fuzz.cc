// SPDX-License-Identifier: Apache-2.0
// Messages of peers as they come off the wire, in any pieces. Whatever is
// accepted is within its bounds and is sent and read back as the same; answers
// read by hand are what protobuf reads.
//
// The first byte says which message it is, the second how long its pieces are,
// the third and fourth what the asker expects of an answer.
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/peers/epoch_message.h"
#include "core/peers/name_question.h"
#include "core/peers/peer_transport.h"
#include "peers/transport/wire.h"

namespace {

using shufflefs::NameAnswer;
using shufflefs::PeerExtent;
using shufflefs::PeerIdentity;
namespace wire = shufflefs::peers;
namespace v1 = shufflefs::peers::v1;

void Check(bool holds) {
  if (!holds) std::abort();
}

grpc::ByteBuffer Sliced(absl::string_view bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    slices.emplace_back(std::string(bytes.substr(at, piece)));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

template <typename Message>
bool Parse(const grpc::ByteBuffer& buffer, Message& message) {
  const absl::StatusOr<std::string> bytes = wire::FromBuffer(buffer);
  if (!bytes.ok()) return false;
  Check(bytes->size() <= wire::kMostRequest);
  return message.ParseFromString(*bytes);
}

void CheckExtent(const grpc::ByteBuffer& buffer) {
  v1::ExtentRequest message, again;
  if (!Parse(buffer, message)) return;
  const absl::StatusOr<PeerExtent> extent = wire::FromMessage(message);
  if (!extent.ok()) return;
  Check(wire::CheckExtent(*extent).ok());
  Check(extent->path.front() != '/' && extent->path.back() != '/');
  Check(extent->length > 0 && extent->length <= shufflefs::kMostPeerExtent);
  Check(extent->offset + extent->length <= extent->size);
  wire::ToMessage(*extent, again);
  again.set_dataset(message.dataset());
  again.set_group(message.group());
  Check(again.SerializeAsString().size() <= wire::kMostRequest);
  const absl::StatusOr<PeerExtent> back = wire::FromMessage(again);
  Check(back.ok() && back->path == extent->path && back->size == extent->size &&
        back->mtime_ns == extent->mtime_ns && back->offset == extent->offset &&
        back->length == extent->length);
}

void CheckTell(const grpc::ByteBuffer& buffer) {
  v1::TellRequest message, again;
  if (!Parse(buffer, message)) return;
  const auto epoch = wire::FromMessage(message);
  if (!epoch.ok()) return;
  Check(epoch->opens.size() + epoch->names.size() + epoch->opened.size() +
            epoch->pairs.size() <=
        shufflefs::kMostEpochEntries);
  Check(shufflefs::FitsMessage(epoch->members));
  wire::ToMessage(*epoch, again);
  const auto back = wire::FromMessage(again);
  Check(back.ok() && *back == *epoch);
}

void CheckNames(const grpc::ByteBuffer& buffer) {
  v1::NamesRequest message, again;
  if (!Parse(buffer, message)) return;
  const auto question = wire::FromMessage(message);
  if (!question.ok()) return;
  Check(!question->names.empty() &&
        question->names.size() <= shufflefs::kMostAskedNames);
  wire::ToMessage(*question, again);
  const auto back = wire::FromMessage(again);
  Check(back.ok() && *back == *question);
}

void CheckIdentity(const grpc::ByteBuffer& buffer) {
  v1::Identity message;
  if (!Parse(buffer, message)) return;
  const absl::StatusOr<PeerIdentity> identity = wire::FromMessage(message);
  if (!identity.ok()) return;
  const absl::StatusOr<PeerIdentity> back =
      wire::FromMessage(wire::ToMessage(*identity));
  Check(back.ok() && back->version == identity->version &&
        back->dataset == identity->dataset && back->files == identity->files &&
        back->keys == identity->keys);
}

void CheckExtentAnswer(absl::string_view bytes, const grpc::ByteBuffer& buffer,
                       uint64_t length) {
  constexpr char kUntouched = '?';
  std::string into(length + 1, kUntouched);
  std::vector<iovec> pieces;
  for (size_t at = 0; at < length; at += 100) {
    pieces.push_back({into.data() + at, std::min<size_t>(100, length - at)});
  }
  const absl::Status read = wire::FromAnswer(buffer, length, pieces);
  Check(into.back() == kUntouched);
  if (!read.ok()) return;
  into.pop_back();
  v1::ExtentAnswer message;
  Check(message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  Check(message.data() == into);
}

std::string Joined(const NameAnswer& answer) {
  std::string bytes;
  for (const iovec& piece : answer.bytes.pieces) {
    bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  return bytes;
}

void CheckNamesAnswer(absl::string_view bytes, const grpc::ByteBuffer& buffer,
                      size_t count, uint64_t room) {
  const absl::StatusOr<NameAnswer> answer =
      wire::FromAnswer(buffer, count, room);
  if (!answer.ok()) return;
  Check(answer->samples.size() == count && answer->length <= room);
  const std::string data = Joined(*answer);
  Check(data.size() == answer->length);
  uint64_t next = 0;
  for (const uint32_t index : answer->carried) {
    Check(index >= next && index < count);
    next = index + uint64_t{1};
  }
  Check(answer->carried.empty() == (answer->length == 0));
  v1::NamesAnswer message;
  Check(message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  Check(std::equal(answer->samples.begin(), answer->samples.end(),
                   message.samples().begin(), message.samples().end()));
  Check(std::equal(answer->carried.begin(), answer->carried.end(),
                   message.carried().begin(), message.carried().end()));
  Check(message.data() == data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 4,
                                size - 4);
  const grpc::ByteBuffer buffer = Sliced(bytes, data[1] + size_t{1});
  switch (data[0] % 6) {
    case 0:
      CheckExtent(buffer);
      break;
    case 1:
      CheckTell(buffer);
      break;
    case 2:
      CheckNames(buffer);
      break;
    case 3:
      CheckIdentity(buffer);
      break;
    case 4:
      CheckExtentAnswer(bytes, buffer, data[2] + (data[3] << 8));
      break;
    default:
      CheckNamesAnswer(bytes, buffer, data[2], data[3] << 4);
  }
  return 0;
}
