// SPDX-License-Identifier: Apache-2.0
// PeerReader reads files of the source through the memory of all members. Each
// part of a file has an owner (Owners). Parts that this daemon owns are kept
// (KeptExtents). Those of others are requested from them. What no peer answers
// is read from the source: slower, never wrong.
#ifndef SHUFFLEFS_CORE_PEERS_PEER_READER_H_
#define SHUFFLEFS_CORE_PEERS_PEER_READER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/base/worker.h"
#include "core/catalogue/catalogue.h"
#include "core/io/file_reader.h"
#include "core/io/read_queue.h"
#include "core/peers/checked_files.h"
#include "core/peers/kept_extents.h"
#include "core/peers/owners.h"
#include "core/peers/peer_transport.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Where the bytes of this daemon's readers came from.
struct PeerCounts {
  std::atomic<uint64_t> reads_from_peers{0};
  std::atomic<uint64_t> bytes_from_peers{0};
  std::atomic<uint64_t> reads_from_memory{0};  // kept here
  std::atomic<uint64_t> bytes_from_memory{0};
  std::atomic<uint64_t> reads_from_source{0};
  std::atomic<uint64_t> bytes_from_source{0};  // requested, also without peers
  // Of reads_from_peers, those of files that came with an answer about names.
  std::atomic<uint64_t> reads_sent_ahead{0};
  // What was asked of peers: which samples names show, and parts of files.
  std::atomic<uint64_t> name_requests{0};
  std::atomic<uint64_t> byte_requests{0};
};

// The member whose pool has a file, because its view binds names to it for all
// nodes. What that member reads of it is kept nowhere else.
struct PeerHolder {
  std::string member;
  bool self = false;
};

// Thread-safe. Its own calls never wait for a device or a peer. `done` is
// called by a thread of the local reader, of the transport or of the worker.
//
// What comes from memory, here or at a peer, is given to a reader only after
// the file was looked at here: it must be the one that the catalogue knows, and
// must not have lost a read permission.
class PeerReader : public FileReader {
 public:
  struct Parts {
    std::unique_ptr<FileReader> local;  // reads the source
    // All of these outlive the reader, but for shared ones.
    const SourceDir* source = nullptr;
    std::shared_ptr<const Catalogue> catalogue;
    std::shared_ptr<KeptExtents> kept;
    std::shared_ptr<CheckedFiles> checked;  // is told what was read here
    PeerTransport* transport = nullptr;
    PeerCounts* counts = nullptr;
    Worker* worker = nullptr;  // looks at files, which may wait
    // The owners as of now. Never blocks, never null.
    std::function<std::shared_ptr<const Owners>()> owners;
    // Never blocks. May be empty.
    std::function<absl::optional<PeerHolder>(EntryId)> holder;
  };
  explicit PeerReader(Parts parts);
  ~PeerReader() override;

  // A member that did not answer a read in time is not asked for so long, and
  // twice as long each time, up to kLongestPause. Then one read is a probe.
  static constexpr std::chrono::milliseconds kPause{10000};
  static constexpr std::chrono::milliseconds kLongestPause{160000};

  void Submit(std::vector<FileRead> reads) override;
  void SubmitUrgent(FileRead read) override;
  void Cancel() override;
  // Of the source: what peers answered does not count.
  FileReaderStats stats() const override { return parts_.local->stats(); }
  std::string how() const override;

 private:
  using Clock = std::chrono::steady_clock;
  // Where the pieces of some reads go. A piece lies within one extent.
  struct Routed {
    std::vector<FileRead> local;
    std::vector<FileRead> remote;
    bool urgent = false;
  };
  void Route(FileRead read, const Owners& owners, Routed& routed);
  void RouteParts(FileRead read, EntryId file, const Owners& owners,
                  Routed& routed);
  void RoutePart(FileRead piece, ExtentId id, const Owners& owners,
                 Routed& routed);
  void RouteOwn(FileRead piece, ExtentId id, Routed& routed);
  // Returns false, with `piece` as it was, if the owner did not send the file.
  bool RouteSent(FileRead& piece, ExtentId id, const Routed& routed);
  struct Owner {
    size_t index = 0;   // in the group
    bool keeps = true;  // what it reads for the others
  };
  // Empty if no member has it.
  absl::optional<Owner> OwnerOf(ExtentId id, const Owners& owners) const;
  void Send(Routed routed);
  // Answers the reader from memory. Look first, unless it was just read.
  void Give(const FileRead& piece, const PeerBytes& bytes);
  // Ends the piece by these bytes, if the file is as it was.
  void GiveChecked(std::shared_ptr<const FileRead> piece, PeerBytes bytes,
                   bool urgent);

  // Asks peers as long as the bounds allow.
  void AskMore() ABSL_LOCKS_EXCLUDED(mu_);
  void Ask(std::shared_ptr<const FileRead> piece);
  void CountAnswer(const FileRead& piece, bool came) ABSL_LOCKS_EXCLUDED(mu_);
  bool IsSilent(const std::string& member) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns whether the member may be asked now, perhaps as a probe.
  bool MayAsk(const std::string& member) ABSL_LOCKS_EXCLUDED(mu_);
  // To a question that was sent at `sent`.
  void NoteAnswer(const std::string& member, Clock::time_point sent,
                  const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  void Answered(const std::shared_ptr<const FileRead>& piece, bool came);
  // Ends the piece by a read of the source.
  void ReadHere(const FileRead& piece);

  // May block. Errors: those of opening the file, and of CheckUnchanged.
  absl::Status Look(const FileRead& read) const;
  ExtentId ExtentOf(const FileRead& piece) const;
  void Begin() ABSL_LOCKS_EXCLUDED(mu_);
  void End() ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const Parts parts_;

  Mutex mu_;
  CondVar idle_;
  ReadQueue remote_ ABSL_GUARDED_BY(mu_);
  size_t busy_ ABSL_GUARDED_BY(mu_) = 0;  // pieces that are not ended here
  // Members that did not answer a read in time, by name.
  struct Silence {
    Clock::time_point until;
    std::chrono::milliseconds pause{0};
  };
  absl::flat_hash_map<std::string, Silence> silent_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_PEER_READER_H_
