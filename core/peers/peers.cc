// SPDX-License-Identifier: Apache-2.0
#include "core/peers/peers.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/io/make_reader.h"
#include "core/source/file_check.h"

namespace shufflefs {
namespace {

// Threads that look at files before they are given from memory. A server that
// hangs keeps some of them.
constexpr size_t kLooking = 16;
constexpr std::chrono::milliseconds kTellWithin{1000};
// Memory that is reserved for the files of one name. Larger ones do not come
// with an answer.
constexpr uint64_t kRoomOfName = ExtentId::kBytes;

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
    Log(level, text);
  };
  ASSIGN_OR_RETURN(peers->transport_,
                   peers->parts_.make_transport(std::move(transport)));
  return peers;
}

Peers::Peers(Parts parts)
    : parts_(std::move(parts)),
      kept_(KeptExtents::Make(parts_.catalogue, parts_.share,
                              [this] { return owners(); })),
      checked_(CheckedFiles::Make(*parts_.catalogue)),
      lookers_("sfs-peers-look", kLooking),
      reader_(MakeFileReader(*parts_.source, FileReaderOptions{})),
      worker_("sfs-peers", kLooking),
      owners_(std::make_shared<const Owners>(std::make_shared<PeerGroup>())) {}

Peers::~Peers() { Stop(); }

void Peers::Stop() {
  if (stopped_.exchange(true)) return;
  if (transport_ != nullptr) transport_->Stop();
  lookers_.Stop();  // nobody asks the views any more
  reader_->Cancel();
}

std::unique_ptr<FileReader> Peers::Over(std::unique_ptr<FileReader> local) {
  PeerReader::Parts reader;
  reader.local = std::move(local);
  reader.source = parts_.source;
  reader.catalogue = parts_.catalogue;
  reader.kept = kept_;
  reader.checked = checked_;
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
                     size_t index, NameQuestion question,
                     std::chrono::milliseconds within, Bound done) {
  if (stopped_) return done(LeftGroup());
  if (parts_.samples.files != nullptr) {
    question.room = kept_->ReserveSent(RoomOf(question));
  }
  ++counts_.name_requests;
  transport_->BindNames(
      group, index, question, within,
      [this, question, done = std::move(done)](absl::StatusOr<NameAnswer> got) {
        if (got.ok()) KeepSent(question, *got);
        kept_->EndSent(question.room);
        if (!got.ok()) return done(got.status());
        done(std::move(got->samples));
      });
}

uint64_t Peers::RoomOf(const NameQuestion& question) const {
  if (question.purpose != NamePurpose::kAhead) {
    return std::min<uint64_t>(kMostCarried,
                              question.names.size() * kRoomOfName);
  }
  return std::min(kMostCarried, question.names.size() * 2 * MeanFile());
}

uint64_t Peers::MeanFile() const {
  const Catalogue& catalogue = *parts_.catalogue;
  return catalogue.total_bytes() /
             std::max<uint64_t>(1, catalogue.file_count()) +
         1;
}

uint64_t Peers::NamesAhead() const {
  return NamesAheadIn(parts_.share->guarantee(), MeanFile());
}

uint64_t Peers::NamesAheadIn(uint64_t bytes, uint64_t mean_file) {
  return bytes / 4 * 3 / Arena::Footprint(mean_file);
}

// The answer may say anything. Files whose bytes are not all there are not
// kept.
void Peers::KeepSent(const NameQuestion& question, const NameAnswer& answer) {
  uint64_t offset = 0;
  for (const uint32_t index : answer.carried) {
    for (const EntryId file :
         parts_.samples.files(question.view, answer.samples[index])) {
      const uint64_t length = parts_.catalogue->file_size(file);
      if (length > answer.length - offset) return;
      if (length > 0 && length <= ExtentId::kBytes) {
        kept_->TakeSent({question.view, question.binding}, file, answer.bytes,
                        offset);
      }
      offset += length;
    }
  }
}

void Peers::Hear(EpochMessage message) {
  if (parts_.hear != nullptr && !stopped_) parts_.hear(std::move(message));
}

void Peers::BindNames(const NameQuestion& question, Samples done) {
  if (stopped_) return done(LeftGroup());
  if (parts_.bind == nullptr) {
    return done(absl::FailedPreconditionError("no names are bound for others"));
  }
  absl::StatusOr<std::vector<uint64_t>> samples = parts_.bind(question);
  if (!samples.ok()) return done(samples.status());
  NameAnswer answer(*std::move(samples));
  AppendHeld(question, answer);
  done(std::move(answer));
}

void Peers::AppendHeld(const NameQuestion& question, NameAnswer& answer) const {
  if (!parts_.samples.take || !parts_.samples.files) return;
  const uint64_t most = std::min(question.room, kMostCarried);
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (uint32_t i = 0; i < answer.samples.size(); ++i) {
    if (answer.length == most) break;
    if (!MayCarry(question.view, answer.samples[i])) continue;
    const absl::optional<PeerBytes> held = parts_.samples.take(
        question.view, answer.samples[i], most - answer.length);
    if (!held) continue;
    for (const iovec& piece : held->pieces) {
      answer.bytes.pieces.push_back(piece);
      answer.length += piece.iov_len;
    }
    owners->push_back(held->owner);
    answer.carried.push_back(i);
  }
  answer.bytes.owner = std::move(owners);
}

// An answer about names does not wait for the source. What was not looked at
// is requested by itself, and looked at then.
bool Peers::MayCarry(const std::string& view, uint64_t sample) const {
  const std::vector<EntryId> files = parts_.samples.files(view, sample);
  return std::all_of(files.begin(), files.end(),
                     [this](EntryId file) { return checked_->Has(file); });
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
  status.reads_sent_ahead = counts_.reads_sent_ahead;
  status.name_requests = counts_.name_requests;
  status.byte_requests = counts_.byte_requests;
  if (parts_.samples.shown) status.samples_shown = parts_.samples.shown();
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
  if (!difference.empty()) return absl::FailedPreconditionError(difference);
  checked_->BeginRound();
  return absl::OkStatus();
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
  const auto asked = std::make_shared<const Asked>(
      Asked{*file, extent.offset, extent.length, std::move(done)});
  if (!IsHolderOf(*file)) return ReadKept(asked);
  IfUnchanged(*file, [this, asked](const absl::Status& same) {
    if (!same.ok()) return asked->done(same);
    // What is on its way to a member counts as memory, however slow it is.
    const auto give = [asked, kept = kept_](absl::StatusOr<PeerBytes> bytes) {
      if (bytes.ok() && bytes->owner == nullptr) {
        bytes = kept->CopyOf(bytes->pieces, asked->length);
      }
      asked->done(std::move(bytes));
    };
    if (!parts_.read_held(asked->file, asked->offset, asked->length, give)) {
      ReadKept(asked);
    }
  });
}

bool Peers::IsHolderOf(EntryId file) const {
  if (!parts_.holder || !parts_.read_held) return false;
  const absl::optional<PeerHolder> holder = parts_.holder(file);
  return holder && holder->self;
}

void Peers::ReadKept(const std::shared_ptr<const Asked>& asked) {
  const ExtentId id = {asked->file,
                       static_cast<uint32_t>(asked->offset / ExtentId::kBytes)};
  KeptExtents::Claim claim =
      kept_->Take(id, [this, asked](absl::StatusOr<PeerBytes> whole) {
        if (!whole.ok()) return asked->done(whole.status());
        GiveKept(asked, *std::move(whole));
      });
  switch (claim.what) {
    case KeptExtents::Claim::What::kKept:
      return GiveKept(asked, std::move(claim.bytes));
    case KeptExtents::Claim::What::kComing:
      return;
    case KeptExtents::Claim::What::kRead: {
      checked_->NoteWhenRead(asked->file, claim.read);
      std::vector<FileRead> reads;
      reads.push_back(std::move(claim.read));
      return reader_->Submit(std::move(reads));
    }
    case KeptExtents::Claim::What::kFull:
      return asked->done(absl::NotFoundError("no memory for it"));
  }
}

void Peers::GiveKept(const std::shared_ptr<const Asked>& asked,
                     PeerBytes whole) {
  IfUnchanged(asked->file,
              [asked, whole = std::move(whole)](const absl::Status& same) {
                if (!same.ok()) return asked->done(same);
                asked->done(PeerBytes{
                    SlicePieces(whole.pieces, asked->offset % ExtentId::kBytes,
                                asked->length),
                    whole.owner});
              });
}

void Peers::IfUnchanged(EntryId file, std::function<void(absl::Status)> then) {
  if (checked_->Has(file)) return then(absl::OkStatus());
  lookers_.Post(
      [this, file, then = std::move(then)](const absl::Status& turn) {
        then(turn.ok() ? Look(file) : LeftGroup());
      },
      /*urgent=*/false);
}

absl::Status Peers::Look(EntryId file) {
  const uint64_t round = checked_->round();
  const Catalogue& catalogue = *parts_.catalogue;
  const absl::StatusOr<UniqueFd> fd =
      parts_.source->Open(catalogue.path(file), O_RDONLY);
  const absl::Status same =
      fd.ok() ? CheckUnchanged(fd->get(), catalogue.attributes(file))
              : fd.status();
  if (same.ok()) {
    checked_->Note(file, round);
    return same;
  }
  // Nobody can use what is kept of it.
  if (ErrnoOf(same) == ESTALE) kept_->Drop(file);
  return absl::NotFoundError("not the file that is known here");
}

}  // namespace shufflefs
