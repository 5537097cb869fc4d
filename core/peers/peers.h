// SPDX-License-Identifier: Apache-2.0
// Peers joins this daemon to the others of its job, so that each byte of the
// dataset leaves the source once. It answers the requests of the others, and
// makes the readers through which this daemon reads.
#ifndef SHUFFLEFS_CORE_PEERS_PEERS_H_
#define SHUFFLEFS_CORE_PEERS_PEERS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/base/worker.h"
#include "core/catalogue/catalogue.h"
#include "core/config/config.h"
#include "core/io/file_reader.h"
#include "core/io/reader_options.h"
#include "core/peers/checked_files.h"
#include "core/peers/epoch_message.h"
#include "core/peers/kept_extents.h"
#include "core/peers/name_question.h"
#include "core/peers/owners.h"
#include "core/peers/peer_reader.h"
#include "core/peers/peer_transport.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// For status and metrics.
struct PeersStatus {
  std::shared_ptr<const PeerGroup> group;
  std::vector<std::pair<std::string, PeerTransport::Traffic>> traffic;
  uint64_t kept_bytes = 0;  // of memory, for all members
  // Read from the source to answer others.
  uint64_t source_bytes = 0;
  // Read from the source by this daemon, and by all members together: by each
  // of the others as it told last, some seconds ago.
  uint64_t own_source_bytes = 0;
  uint64_t group_source_bytes = 0;
  // As PeerCounts.
  uint64_t reads_from_peers = 0;
  uint64_t bytes_from_peers = 0;
  uint64_t reads_from_memory = 0;
  uint64_t bytes_from_memory = 0;
  uint64_t reads_from_source = 0;
  uint64_t reads_sent_ahead = 0;
  uint64_t name_requests = 0;
  uint64_t byte_requests = 0;
  // Of the views whose names the members share: shown first by this daemon.
  uint64_t samples_shown = 0;
};

// Thread-safe. Outlives the readers that it makes.
class Peers : private PeerService {
 public:
  using ExtentDone = PeerService::Extent;
  struct Parts {
    PeersConfig config;
    PeerIdentity identity;
    PeerTransportMaker make_transport;
    const SourceDir* source = nullptr;  // outlives the object
    std::shared_ptr<const Catalogue> catalogue;
    std::shared_ptr<PoolShare> share;  // memory for what others may ask
    // Told what members say about epochs, until Stop. Must not block. May be
    // null.
    std::function<void(EpochMessage)> hear;
    // As PeerReader::Parts::holder.
    std::function<absl::optional<PeerHolder>(EntryId)> holder;
    // Reads a part of a file that this daemon holds. Returns false if it does
    // not hold it; else `done` will be called. Bytes without an owner are gone
    // when that returns. Never blocks. May be empty.
    std::function<bool(EntryId file, uint64_t offset, uint64_t length,
                       const ExtentDone& done)>
        read_held;
    // Answers as PeerService::BindNames, until Stop. Must not block. May be
    // null: then no names are bound for others.
    std::function<absl::StatusOr<std::vector<uint64_t>>(const NameQuestion&)>
        bind;
    // Of a view whose names the members share. None of them blocks. If one is
    // empty, no answer brings bytes. The sample may be any number.
    struct Samples {
      // The files of the sample, in order. None if there is no such sample.
      std::function<std::vector<EntryId>(const std::string& view,
                                         uint64_t sample)>
          files;
      // The bytes of all these files, if this daemon owns the sample and has it
      // in memory, and if they are at most `most`. The asker reads them now.
      std::function<absl::optional<PeerBytes>(const std::string& view,
                                              uint64_t sample, uint64_t most)>
          take;
      // How many samples this daemon has shown first, in all views.
      std::function<uint64_t()> shown;
    };
    Samples samples;
  };
  // Begins to listen and to look for the others. Waits for none. Errors: those
  // of the transport's maker.
  static absl::StatusOr<std::unique_ptr<Peers>> Start(Parts parts);
  ~Peers() override;

  // Returns a reader that asks the owners. It reads the source by `local`.
  std::unique_ptr<FileReader> Over(std::unique_ptr<FileReader> local);

  // The members as they are now.
  std::shared_ptr<const PeerGroup> group() const { return transport_->group(); }
  // Tells the member at `index` of `group`. Whether it hears it is not known.
  void Tell(const std::shared_ptr<const PeerGroup>& group, size_t index,
            const EpochMessage& message);
  using Bound = std::function<void(absl::StatusOr<std::vector<uint64_t>>)>;
  // Asks the member at `index` of `group`, as PeerTransport::BindNames. Sets
  // question.room. Bytes that come with the answer are kept before `done` is
  // called, for readers of this epoch (BeginEpoch). After Stop, `done` is
  // called by this thread, with Unavailable.
  void AskNames(const std::shared_ptr<const PeerGroup>& group, size_t index,
                NameQuestion question, std::chrono::milliseconds within,
                Bound done);
  // For the files of how many names there is memory, if they are of the usual
  // size and nothing else takes it.
  uint64_t NamesAhead() const;
  // The same for a memory of `bytes` and files of `mean_file` bytes.
  static uint64_t NamesAheadIn(uint64_t bytes, uint64_t mean_file);
  // Another epoch of the view began. Only answers about `binding` bring bytes
  // from now on. Those that came for earlier epochs go.
  void BeginEpoch(const std::string& view, uint64_t binding) {
    kept_->BeginSent({view, binding});
  }

  PeersStatus status() const;

  // Leaves the group. Nobody is asked or answered any more. Readers that live
  // on read the source.
  void Stop();

 private:
  explicit Peers(Parts parts);

  absl::Status Welcome(const PeerIdentity& theirs) override;
  void ReadExtent(const PeerExtent& extent, Extent done) override;
  uint64_t SourceBytes() const override;
  void Hear(EpochMessage message) override;
  void BindNames(const NameQuestion& question, Samples done) override;

  std::shared_ptr<const Owners> owners() const ABSL_LOCKS_EXCLUDED(mu_);
  // What a member asked for. It fits the catalogue.
  struct Asked {
    EntryId file;
    uint64_t offset = 0;  // bytes
    uint64_t length = 0;
    Extent done;
  };
  // Returns whether a view of this daemon has the file for all members.
  bool IsHolderOf(EntryId file) const;
  void ReadKept(const std::shared_ptr<const Asked>& asked);
  void GiveKept(const std::shared_ptr<const Asked>& asked, PeerBytes whole);
  // Calls `then`, which must not block. NotFound if the file is another one
  // than the catalogue knows, or cannot be opened.
  void IfUnchanged(EntryId file, std::function<void(absl::Status)> then);
  absl::Status Look(EntryId file);  // the same. May block.
  // Returns whether the bytes of the sample may come with an answer.
  bool MayCarry(const std::string& view, uint64_t sample) const;
  uint64_t RoomOf(const NameQuestion& question) const;
  uint64_t MeanFile() const;  // bytes, at least 1
  // Appends what is in memory of the samples.
  void AppendHeld(const NameQuestion& question, NameAnswer& answer) const;
  void KeepSent(const NameQuestion& question, const NameAnswer& answer);

  // Constant after Start.
  const Parts parts_;
  std::unique_ptr<PeerTransport> transport_;

  // Self-synchronised.
  const std::shared_ptr<KeptExtents> kept_;
  const std::shared_ptr<CheckedFiles> checked_;
  PeerCounts counts_;
  Worker lookers_;                      // for requests of others
  std::unique_ptr<FileReader> reader_;  // for the same
  Worker worker_;
  std::atomic<bool> stopped_{false};

  mutable Mutex mu_;
  // Of the newest group that was seen.
  mutable std::shared_ptr<const Owners> owners_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_PEERS_PEERS_H_
