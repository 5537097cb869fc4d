// SPDX-License-Identifier: Apache-2.0
// Peers of one process, joined by calls instead of a network.
#ifndef SHUFFLEFS_TESTS_CORE_PEERS_FAKE_NETWORK_H_
#define SHUFFLEFS_TESTS_CORE_PEERS_FAKE_NETWORK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/worker.h"
#include "core/peers/kept_extents.h"
#include "core/peers/peer_transport.h"
#include "core/random/random.h"

namespace shufflefs::testing_support {

// Thread-safe. Outlives its transports.
class FakeNetwork {
 public:
  explicit FakeNetwork(size_t members, uint64_t seed = 1)
      : listed_(members),
        members_(members),
        rng_(RandomKey(seed)),
        worker_("network", 4) {}

  // Of each 256 requests so many fail, half of them after they were answered.
  void FailSome(uint64_t of_256) {
    MutexLock lock(mu_);
    failing_ = of_256;
  }
  // From now on the group has only the first members.
  void Resize(size_t members) {
    MutexLock lock(mu_);
    listed_ = members;
    for (Member& each : members_) each.group = nullptr;
  }
  // Whether others find the member.
  void SetJoined(size_t member, bool joined) {
    MutexLock lock(mu_);
    members_[member].joined = joined;
    for (Member& each : members_) each.group = nullptr;
  }
  // Reads of the member end without an answer, as if its source hung.
  void Hang(size_t member) {
    MutexLock lock(mu_);
    members_[member].hangs = true;
  }
  uint64_t requests() const {
    MutexLock lock(mu_);
    return requests_;
  }

  PeerTransportMaker Maker(size_t member) {
    return [this, member](PeerTransportParts parts)
               -> absl::StatusOr<std::unique_ptr<PeerTransport>> {
      Greet(member, parts);
      return std::make_unique<Transport>(this, member);
    };
  }

 private:
  struct Member {
    PeerService* service = nullptr;
    PeerIdentity identity;
    bool joined = true;
    bool hangs = false;
    std::shared_ptr<const PeerGroup> group;  // as it sees it
  };

  class Transport : public PeerTransport {
   public:
    Transport(FakeNetwork* network, size_t self)
        : network_(*network), self_(self) {}
    ~Transport() override { Stop(); }

    std::shared_ptr<const PeerGroup> group() const override {
      return network_.GroupOf(self_);
    }
    void ReadExtent(const std::shared_ptr<const PeerGroup>&, size_t index,
                    const PeerExtent& extent, std::chrono::milliseconds within,
                    std::vector<iovec> into, Done done) override {
      if (network_.Hangs(index)) return network_.EndIn(within, std::move(done));
      network_.Ask(index, extent, std::move(into), std::move(done));
    }
    void Tell(const std::shared_ptr<const PeerGroup>&, size_t index,
              const EpochMessage& message, std::chrono::milliseconds,
              Done done) override {
      network_.Tell(index, message, std::move(done));
    }
    void BindNames(const std::shared_ptr<const PeerGroup>&, size_t index,
                   const NameQuestion& question, std::chrono::milliseconds,
                   PeerService::Samples done) override {
      network_.BindNames(index, question, std::move(done));
    }
    std::vector<std::pair<std::string, Traffic>> traffic() const override {
      return network_.Told(self_);
    }
    void Stop() override { network_.Leave(self_); }

   private:
    FakeNetwork& network_;
    const size_t self_;
  };

  std::shared_ptr<const PeerGroup> GroupOf(size_t self) {
    MutexLock lock(mu_);
    Member& seen_by = members_[self];
    if (seen_by.group == nullptr) {
      auto group = std::make_shared<PeerGroup>();
      group->revision = ++revision_;
      for (size_t i = 0; i < listed_; ++i) {
        group->members.push_back({.name = absl::StrCat("node", i, ":7373"),
                                  .self = i == self,
                                  .joined = i == self || members_[i].joined,
                                  .why = ""});
      }
      seen_by.group = std::move(group);
    }
    return seen_by.group;
  }

  // What the others tell `self` of what they read.
  std::vector<std::pair<std::string, PeerTransport::Traffic>> Told(
      size_t self) {
    std::vector<std::pair<std::string, PeerTransport::Traffic>> told;
    const std::shared_ptr<const PeerGroup> group = GroupOf(self);
    MutexLock lock(mu_);
    for (size_t i = 0; i < listed_; ++i) {
      PeerTransport::Traffic traffic;
      if (i != self && members_[i].service != nullptr) {
        traffic.source_bytes = members_[i].service->SourceBytes();
      }
      told.emplace_back(group->members[i].name, traffic);
    }
    return told;
  }

  bool Hangs(size_t index) const {
    MutexLock lock(mu_);
    return members_[index].hangs;
  }
  // Counts a request that is given up after `time`.
  void EndIn(std::chrono::milliseconds time, PeerTransport::Done done) {
    Fate();
    worker_.Post(
        [time, done = std::move(done)](const absl::Status&) {
          std::this_thread::sleep_for(time);
          done(absl::UnavailableError("no answer in time"));
        },
        false);
  }

  void Ask(size_t index, const PeerExtent& extent, std::vector<iovec> into,
           PeerTransport::Done done) {
    const auto [before, after] = Fate();
    const absl::Status gone = absl::UnavailableError("gone");
    worker_.Post(
        [this, before = before, after = after, gone, index, extent,
         into = std::move(into),
         done = std::move(done)](const absl::Status& turn) {
          PeerService* const service = turn.ok() ? ServiceOf(index) : nullptr;
          if (before || service == nullptr) return done(gone);
          service->ReadExtent(extent, [=](absl::StatusOr<PeerBytes> bytes) {
            if (!bytes.ok()) return done(bytes.status());
            CopyPieces(bytes->pieces, 0, extent.length, into);
            done(after ? gone : absl::OkStatus());
          });
        },
        false);
  }

  void Tell(size_t index, const EpochMessage& message,
            PeerTransport::Done done) {
    worker_.Post(
        [this, index, message, done = std::move(done)](const absl::Status&) {
          PeerService* const service = ServiceOf(index);
          if (service == nullptr) return done(absl::UnavailableError("gone"));
          service->Hear(message);
          done(absl::OkStatus());
        },
        false);
  }

  void BindNames(size_t index, const NameQuestion& question,
                 PeerService::Samples done) {
    const auto [before, after] = Fate();
    const absl::Status gone = absl::UnavailableError("gone");
    worker_.Post(
        [this, before = before, after = after, gone, index, question,
         done = std::move(done)](const absl::Status& turn) {
          PeerService* const service =
              turn.ok() && IsJoined(index) ? ServiceOf(index) : nullptr;
          if (before || service == nullptr) return done(gone);
          service->BindNames(question, [=](absl::StatusOr<NameAnswer> answer) {
            if (after) return done(gone);
            done(std::move(answer));
          });
        },
        false);
  }

  // Counts a request, and draws whether it fails before or after the answer.
  std::pair<bool, bool> Fate() {
    MutexLock lock(mu_);
    ++requests_;
    const bool fails = rng_.Bounded(256) < failing_;
    const bool before = fails && rng_.Bounded(2) == 0;
    return {before, fails && !before};
  }
  bool IsJoined(size_t index) const {
    MutexLock lock(mu_);
    return members_[index].joined;
  }
  PeerService* ServiceOf(size_t index) const {
    MutexLock lock(mu_);
    return members_[index].service;
  }
  // REQUIRES: nobody asks the member any more, or it is joined to no reader.
  void Leave(size_t self) {
    MutexLock lock(mu_);
    members_[self].service = nullptr;
  }

  // All that were there before and the new one welcome each other.
  void Greet(size_t member, const PeerTransportParts& parts) {
    MutexLock lock(mu_);
    for (const Member& other : members_) {
      if (other.service == nullptr) continue;
      other.service->Welcome(parts.identity).IgnoreError();
      parts.service->Welcome(other.identity).IgnoreError();
    }
    members_[member].service = parts.service;
    members_[member].identity = parts.identity;
  }

  mutable Mutex mu_;
  size_t listed_ ABSL_GUARDED_BY(mu_);  // members of the group
  std::vector<Member> members_ ABSL_GUARDED_BY(mu_);
  Rng rng_ ABSL_GUARDED_BY(mu_);
  uint64_t failing_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t requests_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t revision_ ABSL_GUARDED_BY(mu_) = 0;
  Worker worker_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_PEERS_FAKE_NETWORK_H_
