// SPDX-License-Identifier: Apache-2.0
// PeerTransport joins the daemons of a job. Core decides what to ask a peer and
// what to answer it. How members find each other and how bytes travel is the
// business of a module that the daemon loads if the key `peers` is set.
#ifndef SHUFFLEFS_CORE_PEERS_PEER_TRANSPORT_H_
#define SHUFFLEFS_CORE_PEERS_PEER_TRANSPORT_H_

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/log.h"
#include "core/config/config.h"
#include "core/peers/epoch_message.h"
#include "core/peers/name_question.h"

namespace shufflefs {

// The members of a job as one daemon sees them. Never changed once made.
struct PeerGroup {
  struct Member {
    std::string name;    // host:port, the same on all nodes
    bool self = false;   // this daemon
    bool joined = true;  // it welcomed us, and answers; true for self
    std::string why;  // if not joined, for people: "refused: …", "no answer"
  };
  uint64_t revision = 0;        // grows with each change of names
  std::vector<Member> members;  // ordered by name, at most one is self
};

// Grows with each change of what members say to each other, or of what it
// means.
inline constexpr int kPeerMessages = 5;

// What members must agree on. A member that differs is refused at joining.
struct PeerIdentity {
  std::string version;   // of the program and of its messages (kPeerMessages)
  uint64_t dataset = 0;  // fingerprint of the names and sizes of all files
  uint64_t files = 0;    // in the dataset
  // The keys that change which sample a name shows, with their values, ordered.
  std::vector<std::pair<std::string, std::string>> keys;
};

// The longest extent that one request carries.
inline constexpr uint64_t kMostPeerExtent = uint64_t{16} << 20;  // bytes

// A part of a file of the source.
struct PeerExtent {
  std::string path;  // relative to the source
  // The file as the asker's catalogue knows it. Who answers must know the same.
  uint64_t size = 0;     // bytes
  int64_t mtime_ns = 0;  // since 1970
  uint64_t offset = 0;   // bytes
  uint64_t length = 0;   // bytes, 1 to kMostPeerExtent; within the file
};

// Bytes of an extent, in memory that `owner` keeps.
struct PeerBytes {
  std::vector<iovec> pieces;  // in order; together the length of the extent
  std::shared_ptr<const void> owner;
};

// What the owner of names answers.
struct NameAnswer {
  NameAnswer() = default;
  // Without bytes.
  NameAnswer(std::vector<uint64_t> of_names)  // NOLINT: implicit on purpose
      : samples(std::move(of_names)) {}

  std::vector<uint64_t> samples;  // one per name, in their order
  // The names whose samples' files come with the answer: ascending indices.
  std::vector<uint32_t> carried;
  // Of these files, one after another, `length` in all.
  PeerBytes bytes;
  uint64_t length = 0;
};

// What this daemon answers to its peers. Core implements it. Threads of the
// transport call it, several at a time. No call blocks; each `done` is called
// exactly once, by any thread.
class PeerService {
 public:
  virtual ~PeerService() = default;

  // OK if `theirs` may join. FailedPrecondition says in one line what differs,
  // and is told to both sides.
  virtual absl::Status Welcome(const PeerIdentity& theirs) = 0;

  // Errors: NotFound if this daemon does not keep the extent and does not read
  // it either, so that the asker reads the source itself; those of reading.
  using Extent = std::function<void(absl::StatusOr<PeerBytes>)>;
  virtual void ReadExtent(const PeerExtent& extent, Extent done) = 0;

  // Bytes that this daemon has read from the source so far. Members are told.
  virtual uint64_t SourceBytes() const = 0;

  // A member tells something about the epochs of a view. Messages may come
  // twice, late, and in another order than they were sent.
  virtual void Hear(EpochMessage message) = 0;

  // Binds the names that are not bound yet. Answers with one sample per name,
  // and with bytes that are in memory. The same question may come twice, and
  // late. Errors: FailedPrecondition if this daemon shows another binding;
  // NotFound if it does not own a name.
  using Samples = std::function<void(absl::StatusOr<NameAnswer>)>;
  virtual void BindNames(const NameQuestion& question, Samples done) = 0;
};

// Thread-safe. Made and destroyed by one thread.
class PeerTransport {
 public:
  virtual ~PeerTransport() = default;

  // The newest view of the group. Never blocks.
  virtual std::shared_ptr<const PeerGroup> group() const = 0;

  // Asks the member at `index` of `group` for the extent and writes it into
  // `into`, whose lengths are together at least the extent's. The memory lives
  // until `done` was called. Never blocks. `done` is called exactly once, by a
  // thread of the transport, which it must not block. Errors: Unavailable if
  // the member is not joined, is gone or does not answer before `within`;
  // FailedPrecondition if it is another member by now; those of
  // PeerService::ReadExtent.
  using Done = std::function<void(absl::Status)>;
  virtual void ReadExtent(const std::shared_ptr<const PeerGroup>& group,
                          size_t index, const PeerExtent& extent,
                          std::chrono::milliseconds within,
                          std::vector<iovec> into, Done done) = 0;

  // Tells the member at `index` of `group`. Never blocks. `done` is called
  // exactly once, by a thread of the transport, which it must not block.
  // Unavailable if it is not known that the member heard it before `within`.
  virtual void Tell(const std::shared_ptr<const PeerGroup>& group, size_t index,
                    const EpochMessage& message,
                    std::chrono::milliseconds within, Done done) = 0;

  // Asks the member at `index` of `group`. Never blocks. `done` is called
  // exactly once, by a thread of the transport, which it must not block.
  // Errors as ReadExtent: after Unavailable it is not known whether the member
  // bound the names. DataLoss if the samples are not as many as the names, or
  // if there are more bytes than question.room; those of
  // PeerService::BindNames. Each sample may be any number, and the bytes may
  // be of any length: whoever asks checks it. `carried` fits.
  virtual void BindNames(const std::shared_ptr<const PeerGroup>& group,
                         size_t index, const NameQuestion& question,
                         std::chrono::milliseconds within,
                         PeerService::Samples done) = 0;

  // What came from and went to each member, in the order of group().
  struct Traffic {
    uint64_t received = 0;
    uint64_t sent = 0;
    uint64_t requests = 0;  // asked of it
    uint64_t failed = 0;    // of these, without an answer
    // Bytes that it has read from the source, as it told last.
    uint64_t source_bytes = 0;
  };
  virtual std::vector<std::pair<std::string, Traffic>> traffic() const = 0;

  // Leaves the group: answers all that waits with Unavailable and calls the
  // service no more. Waits for nobody but calls of the service that run.
  virtual void Stop() = 0;
};

struct PeerTransportParts {
  PeersConfig config;
  PeerIdentity identity;
  PeerService* service = nullptr;  // outlives the transport
  // Writes to the daemon's log. The module has no log of its own.
  std::function<void(LogLevel, const std::string&)> log;
};

// Starts to listen and to look for the others, and waits for none of them.
// Errors: InvalidArgument for a value of `peers` that makes no sense, naming
// the key; FailedPrecondition without TLS, secret or `insecure` on an address
// that others reach; those of listening.
using PeerTransportMaker =
    std::function<absl::StatusOr<std::unique_ptr<PeerTransport>>(
        PeerTransportParts parts)>;
// The same as the module exports it, by the name kPeerTransportMaker.
using PeerTransportFunction =
    absl::StatusOr<std::unique_ptr<PeerTransport>> (*)(
        PeerTransportParts parts);
inline constexpr char kPeerTransportMaker[] = "ShufflefsMakePeerTransport";

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_PEER_TRANSPORT_H_
