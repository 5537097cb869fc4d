// SPDX-License-Identifier: Apache-2.0
#include "core/peers/peers.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/io/make_reader.h"

namespace shufflefs {
namespace {

// Threads that look at files before they are given from memory. A server that
// hangs keeps some of them.
constexpr size_t kLooking = 16;
constexpr std::chrono::milliseconds kTellWithin{1000};

// Returns what differs, or "".
std::string Difference(const PeerIdentity& ours, const PeerIdentity& theirs) {
  if (ours.version != theirs.version) {
    return absl::StrCat("version ", ours.version, " here and ", theirs.version,
                        " there");
  }
  if (ours.files != theirs.files) {
    return absl::StrCat("another dataset: ", ours.files, " files here and ",
                        theirs.files, " there");
  }
  if (ours.dataset != theirs.dataset) {
    return "another dataset: names, sizes or times of its files differ";
  }
  for (size_t i = 0; i < ours.keys.size() && i < theirs.keys.size(); ++i) {
    if (ours.keys[i] == theirs.keys[i]) continue;
    if (ours.keys[i].first != theirs.keys[i].first) break;
    return absl::StrCat(ours.keys[i].first, " = ", ours.keys[i].second,
                        " here and ", theirs.keys[i].second, " there");
  }
  return ours.keys == theirs.keys ? "" : "other views";
}

absl::Status LeftGroup() { return absl::UnavailableError("the daemon stops"); }

}  // namespace

absl::StatusOr<std::unique_ptr<Peers>> Peers::Start(Parts parts) {
  std::unique_ptr<Peers> peers(new Peers(std::move(parts)));
  PeerTransportParts transport;
  transport.config = peers->parts_.config;
  transport.identity = peers->parts_.identity;
  transport.service = peers.get();
  transport.log = [](LogLevel level, const std::string& text) {
    Log(level, absl::StrCat("peers: ", text));
  };
  ASSIGN_OR_RETURN(peers->transport_,
                   peers->parts_.make_transport(std::move(transport)));
  return peers;
}

Peers::Peers(Parts parts)
    : parts_(std::move(parts)),
      kept_(KeptExtents::Make(parts_.catalogue, parts_.share)),
      reader_(MakeFileReader(*parts_.source, FileReaderOptions{})),
      worker_("sfs-peers", kLooking),
      owners_(std::make_shared<const Owners>(std::make_shared<PeerGroup>())) {}

Peers::~Peers() { Stop(); }

void Peers::Stop() {
  if (stopped_.exchange(true)) return;
  if (transport_ != nullptr) transport_->Stop();
  reader_->Cancel();
}

std::unique_ptr<FileReader> Peers::Over(std::unique_ptr<FileReader> local) {
  PeerReader::Parts reader;
  reader.local = std::move(local);
  reader.source = parts_.source;
  reader.catalogue = parts_.catalogue;
  reader.kept = kept_;
  reader.transport = transport_.get();
  reader.counts = &counts_;
  reader.worker = &worker_;
  reader.owners = [this] { return owners(); };
  reader.holder = parts_.holder;
  return std::make_unique<PeerReader>(std::move(reader));
}

void Peers::Tell(const std::shared_ptr<const PeerGroup>& group, size_t index,
                 const EpochMessage& message) {
  if (stopped_) return;
  transport_->Tell(group, index, message, kTellWithin,
                   [](const absl::Status&) {});
}

void Peers::AskNames(const std::shared_ptr<const PeerGroup>& group,
                     size_t index, const NameQuestion& question,
                     std::chrono::milliseconds within,
                     PeerService::Samples done) {
  if (stopped_) return done(LeftGroup());
  transport_->BindNames(group, index, question, within, std::move(done));
}

void Peers::Hear(EpochMessage message) {
  if (parts_.hear != nullptr && !stopped_) parts_.hear(std::move(message));
}

void Peers::BindNames(const NameQuestion& question, Samples done) {
  if (stopped_) return done(LeftGroup());
  if (parts_.bind == nullptr) {
    return done(absl::FailedPreconditionError("no names are bound for others"));
  }
  done(parts_.bind(question));
}

PeersStatus Peers::status() const {
  PeersStatus status;
  status.group = transport_->group();
  status.traffic = transport_->traffic();
  status.kept_bytes = kept_->bytes();
  status.source_bytes = reader_->stats().bytes;
  status.reads_from_peers = counts_.reads_from_peers;
  status.bytes_from_peers = counts_.bytes_from_peers;
  status.reads_from_memory = counts_.reads_from_memory;
  status.bytes_from_memory = counts_.bytes_from_memory;
  status.reads_from_source = counts_.reads_from_source;
  status.own_source_bytes = SourceBytes();
  status.group_source_bytes = status.own_source_bytes;
  for (const auto& [member, traffic] : status.traffic) {
    status.group_source_bytes += traffic.source_bytes;
  }
  return status;
}

uint64_t Peers::SourceBytes() const {
  return counts_.bytes_from_source + reader_->stats().bytes;
}

std::shared_ptr<const Owners> Peers::owners() const {
  std::shared_ptr<const PeerGroup> group = transport_->group();
  MutexLock lock(mu_);
  if (owners_->group() != group) {
    owners_ = std::make_shared<const Owners>(std::move(group));
  }
  return owners_;
}

absl::Status Peers::Welcome(const PeerIdentity& theirs) {
  const std::string difference = Difference(parts_.identity, theirs);
  if (difference.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(difference);
}

// A member asks for what this daemon owns, as far as the member knows. Anything
// that does not fit is NotFound: the member reads the source itself.
void Peers::ReadExtent(const PeerExtent& extent, Extent done) {
  const Catalogue& catalogue = *parts_.catalogue;
  const absl::optional<EntryId> file = catalogue.FindPath(extent.path);
  const bool known =
      file && catalogue.kind(*file) == EntryKind::kFile &&
      catalogue.attributes(*file).size == extent.size &&
      catalogue.attributes(*file).mtime_ns == extent.mtime_ns &&
      extent.length > 0 && extent.offset < extent.size &&
      extent.length <= extent.size - extent.offset &&
      extent.offset % ExtentId::kBytes + extent.length <= ExtentId::kBytes;
  if (!known || stopped_) return done(absl::NotFoundError("not kept here"));
  if (parts_.read_held &&
      parts_.read_held(*file, extent.offset, extent.length, done)) {
    return;
  }
  const ExtentId id = {*file,
                       static_cast<uint32_t>(extent.offset / ExtentId::kBytes)};
  auto answer = std::make_shared<Extent>(std::move(done));
  const uint64_t begin = extent.offset % ExtentId::kBytes;
  const auto give = [answer, begin,
                     length = extent.length](absl::StatusOr<PeerBytes> whole) {
    if (!whole.ok()) return (*answer)(whole.status());
    (*answer)(PeerBytes{SlicePieces(whole->pieces, begin, length),
                        std::move(whole->owner)});
  };
  KeptExtents::Claim claim = kept_->Take(id, give);
  switch (claim.what) {
    case KeptExtents::Claim::What::kKept:
      return give(std::move(claim.bytes));
    case KeptExtents::Claim::What::kComing:
      return;
    case KeptExtents::Claim::What::kRead: {
      std::vector<FileRead> reads;
      reads.push_back(std::move(claim.read));
      return reader_->Submit(std::move(reads));
    }
    case KeptExtents::Claim::What::kFull:
      return (*answer)(absl::NotFoundError("no memory for it"));
  }
}

}  // namespace shufflefs
