// SPDX-License-Identifier: Apache-2.0
// Messages of peers/proto/peers.proto to and from the types of core, with a
// bound for each size. Everything that arrives is checked here.
#ifndef SHUFFLEFS_PEERS_TRANSPORT_WIRE_H_
#define SHUFFLEFS_PEERS_TRANSPORT_WIRE_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/peers/peer_transport.h"
#include "peers/proto/peers.pb.h"

namespace shufflefs::peers {

inline constexpr size_t kMostRequest = 256 << 10;  // bytes of a message
inline constexpr size_t kMostAnswer = kMostPeerExtent + 1024;
inline constexpr size_t kMostMetadata = 8 << 10;
inline constexpr size_t kIdBytes = 16;  // of an instance, a session, a nonce

// Metadata of calls.
inline constexpr char kSessionKey[] = "sfs-session-bin";
inline constexpr char kMacKey[] = "sfs-mac-bin";
inline constexpr char kServiceKey[] = "sfs-service";
// Of the caller; "" if it sent none.
std::string MetadataOf(const grpc::CallbackServerContext& context,
                       const char* key);

// Names of the methods, for HMACs and raw calls.
inline constexpr char kGreetMethod[] = "/shufflefs.peers.v1.Peers/Greet";
inline constexpr char kJoinMethod[] = "/shufflefs.peers.v1.Peers/Join";
inline constexpr char kPingMethod[] = "/shufflefs.peers.v1.Peers/Ping";
inline constexpr char kExtentMethod[] = "/shufflefs.peers.v1.Peers/ReadExtent";
inline constexpr char kTellMethod[] = "/shufflefs.peers.v1.Peers/Tell";
inline constexpr char kNamesMethod[] = "/shufflefs.peers.v1.Peers/BindNames";

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// Ends a call at once.
grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* context,
                                   const absl::Status& status);

// Why a member is refused, for people.
inline constexpr char kWrongSecretText[] =
    "peers.secret is not the same on both nodes";

v1::Identity ToMessage(const PeerIdentity& identity);
absl::StatusOr<PeerIdentity> FromMessage(const v1::Identity& message);

// `message` has the dataset and the group already.
void ToMessage(const PeerExtent& extent, v1::ExtentRequest& message);
// OK if the transport can carry it: a relative path without dots, a part of the
// file, at most kMostPeerExtent bytes.
absl::Status CheckExtent(const PeerExtent& extent);
absl::StatusOr<PeerExtent> FromMessage(const v1::ExtentRequest& message);

// `message` has the dataset and the group already.
void ToMessage(const EpochMessage& epoch, v1::TellRequest& message);
// InvalidArgument if a text or a list is too long, or lists do not match.
absl::StatusOr<EpochMessage> FromMessage(const v1::TellRequest& message);

// `message` has the dataset and the group already.
void ToMessage(const NameQuestion& question, v1::NamesRequest& message);
// OK if the transport can carry it: 1 to kMostAskedNames names, a short path.
absl::Status CheckQuestion(const NameQuestion& question);
absl::StatusOr<NameQuestion> FromMessage(const v1::NamesRequest& message);

grpc::ByteBuffer ToBuffer(const std::string& bytes);
// InvalidArgument if there are more than kMostRequest.
absl::StatusOr<std::string> FromBuffer(const grpc::ByteBuffer& buffer);

// An ExtentAnswer that refers to the bytes where they are, and keeps them.
// Internal if they are not `length`.
absl::StatusOr<grpc::ByteBuffer> ToAnswer(const PeerBytes& bytes,
                                          uint64_t length);
// Copies the data of an ExtentAnswer. DataLoss, with `into` untouched, if it is
// not one of exactly `length` bytes.
absl::Status FromAnswer(const grpc::ByteBuffer& buffer, uint64_t length,
                        const std::vector<iovec>& into);

// A NamesAnswer that refers to the bytes where they are, and keeps them.
// Internal if they are not as many as it says.
absl::StatusOr<grpc::ByteBuffer> ToAnswer(const NameAnswer& answer);
// The bytes stay where they arrived. DataLoss if it is no NamesAnswer of
// exactly `count` samples, or has more than `room` bytes of files.
absl::StatusOr<NameAnswer> FromAnswer(const grpc::ByteBuffer& buffer,
                                      size_t count, uint64_t room);

// A hash of names of members that all daemons compute alike. They are ordered.
uint64_t HashOf(const PeerGroup& group);
uint64_t HashOf(const std::vector<std::string>& names);

// FailedPrecondition if both hashes are of lists of members, and they differ:
// the names decide who owns what and who leads, so all spell them alike.
absl::Status CheckLists(uint64_t ours, uint64_t theirs);

// What a peer said, for the log: short, and without control characters.
std::string Shown(absl::string_view text);

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_TRANSPORT_WIRE_H_
