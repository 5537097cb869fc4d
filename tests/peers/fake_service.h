// SPDX-License-Identifier: Apache-2.0
// What a daemon of a test answers to its peers: made-up files.
#ifndef SHUFFLEFS_TESTS_PEERS_FAKE_SERVICE_H_
#define SHUFFLEFS_TESTS_PEERS_FAKE_SERVICE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/peers/peer_transport.h"

namespace shufflefs::peers {

// The bytes of a made-up file.
inline std::string ContentOf(const PeerExtent& extent) {
  std::string bytes(extent.length, '\0');
  for (uint64_t i = 0; i < extent.length; ++i) {
    const uint64_t at = extent.offset + i;
    bytes[i] = static_cast<char>(at * 2654435761u >> 13 ^ at ^ extent.path[0]);
  }
  return bytes;
}

// The sample that a name of a made-up view shows.
inline uint64_t SampleOf(uint64_t name) { return name * 2654435761u ^ 5; }

inline PeerExtent WholeFile(const std::string& path, uint64_t size) {
  return {.path = path, .size = size, .mtime_ns = 7, .length = size};
}

// Has each file, but those whose path begins with "absent". Of those that begin
// with "hang" it owes the answer until Release. Of those that begin with "same"
// all bytes are zero, which takes no time to make; they have at most 1 MiB.
//
// Names: the views "absent" and "hang" are as such files. "other" has another
// binding, and the answer about "short" lacks the last sample.
class FakeService : public PeerService {
 public:
  PeerIdentity identity{.version = "1", .dataset = 42, .files = 3, .keys = {}};

  absl::Status Welcome(const PeerIdentity& theirs) override {
    if (theirs.dataset != identity.dataset) {
      return absl::FailedPreconditionError("the dataset differs");
    }
    if (theirs.keys != identity.keys) {
      return absl::FailedPreconditionError("seed differs");
    }
    return absl::OkStatus();
  }

  void ReadExtent(const PeerExtent& extent, Extent done) override {
    asked.fetch_add(1);
    if (extent.path.rfind("absent", 0) == 0) {
      done(absl::NotFoundError("not kept: absent"));
    } else if (extent.path.rfind("hang", 0) == 0) {
      MutexLock lock(mu_);
      owed_.push_back(std::move(done));
    } else if (extent.path.rfind("same", 0) == 0) {
      done(PeerBytes{.pieces = {{same_->data(), extent.length}},
                     .owner = same_});
    } else {
      done(Answer(extent));
    }
  }

  void BindNames(const NameQuestion& question, Samples done) override {
    asked.fetch_add(1);
    if (question.view == "absent") {
      return done(absl::NotFoundError("not owned: absent"));
    }
    if (question.view == "other") {
      return done(absl::FailedPreconditionError("another binding"));
    }
    {
      MutexLock lock(mu_);
      questions_.push_back(question);
      if (question.view == "hang") {
        owed_samples_.push_back(std::move(done));
        return;
      }
    }
    std::vector<uint64_t> samples;
    for (uint64_t name : question.names) samples.push_back(SampleOf(name));
    if (question.view == "short") samples.pop_back();
    NameAnswer answer(std::move(samples));
    if (question.view == "bytes") Carry(question.room, answer);
    done(std::move(answer));
  }
  // As many bytes as there is room, for the first name.
  static void Carry(uint64_t room, NameAnswer& answer) {
    PeerExtent extent;
    extent.path = "sent";
    extent.length = room;
    answer.bytes = Answer(extent);
    answer.length = room;
    answer.carried = {0};
  }
  std::vector<NameQuestion> questions() const {
    MutexLock lock(mu_);
    return questions_;
  }

  uint64_t SourceBytes() const override { return source_bytes; }
  std::atomic<uint64_t> source_bytes{0};

  void Hear(EpochMessage message) override {
    MutexLock lock(mu_);
    heard_.push_back(std::move(message));
  }
  std::vector<EpochMessage> heard() const {
    MutexLock lock(mu_);
    return heard_;
  }

  // In pieces, the last of which may be empty.
  static PeerBytes Answer(const PeerExtent& extent) {
    auto bytes = std::make_shared<std::string>(ContentOf(extent));
    PeerBytes answer;
    const size_t piece = bytes->size() / 3 + 1;
    for (size_t at = 0; at <= bytes->size(); at += piece) {
      answer.pieces.push_back({.iov_base = bytes->data() + at,
                               .iov_len = std::min(piece, bytes->size() - at)});
    }
    answer.owner = std::move(bytes);
    return answer;
  }

  void Release() {
    std::vector<Extent> owed;
    std::vector<Samples> owed_samples;
    {
      MutexLock lock(mu_);
      owed.swap(owed_);
      owed_samples.swap(owed_samples_);
    }
    for (const Extent& done : owed) done(absl::AbortedError("late"));
    for (const Samples& done : owed_samples) done(absl::AbortedError("late"));
  }

  std::atomic<int> asked{0};

 private:
  const std::shared_ptr<std::string> same_ =
      std::make_shared<std::string>(size_t{1} << 20, '\0');
  mutable Mutex mu_;
  std::vector<Extent> owed_ ABSL_GUARDED_BY(mu_);
  std::vector<Samples> owed_samples_ ABSL_GUARDED_BY(mu_);
  std::vector<EpochMessage> heard_ ABSL_GUARDED_BY(mu_);
  std::vector<NameQuestion> questions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_TESTS_PEERS_FAKE_SERVICE_H_
