// SPDX-License-Identifier: Apache-2.0
#include "core/staging/stager/tier_cuts.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"

namespace shufflefs {
namespace {

// Bytes that have one answer.
struct Stretch {
  uint64_t end = 0;
  bool source = false;
};

class Cutter {
 public:
  Cutter(const FilePiece& piece, const TierBatches& batches,
         const TierStore& store, const StagingRequests* requests)
      : file_(piece.file),
        end_(piece.offset + piece.length),
        batches_(batches),
        store_(store),
        requests_(requests) {}

  Stretch At(uint64_t at) const {
    const TierCover coming = batches_.Around(file_, at);
    const TierCover there = store_.Around(file_, at);
    const uint64_t to = std::max(coming.to, there.to);
    const bool source = to <= at;
    const uint64_t end =
        std::min(end_, source ? std::min(coming.next, there.next) : to);
    const absl::optional<StagedRange> kept = KeptAcross(at, end);
    if (!kept) return {end, source};
    if (kept->from == at) return {kept->end(), true};
    return {kept->from, source};
  }

 private:
  bool IsSomewhere(const StagedRange& range) const {
    return store_.Has(range) ||
           batches_.Around(file_, range.from).to >= range.end();
  }

  // The first wanted range that begins in [at, end), ends after it but inside
  // the piece, and is nowhere yet.
  absl::optional<StagedRange> KeptAcross(uint64_t at, uint64_t end) const {
    if (requests_ == nullptr) return absl::nullopt;
    absl::optional<StagedRange> request = requests_->Next(file_, at);
    while (request && request->from < end && request->end() <= end_) {
      if (request->end() > end && !IsSomewhere(*request)) return request;
      request = requests_->Next(file_, request->from + kTierPage);
    }
    return absl::nullopt;
  }

  const EntryId file_;
  const uint64_t end_;
  const TierBatches& batches_;
  const TierStore& store_;
  const StagingRequests* const requests_;
};

// Ends a piece when all its parts have ended.
class Joint {
 public:
  Joint(std::function<void(absl::Status)> done, size_t parts)
      : done_(std::move(done)), left_(parts) {}

  void End(const absl::Status& status) {
    absl::Status first;
    {
      MutexLock lock(mu_);
      status_.Update(status);
      if (--left_ > 0) return;
      first = std::move(status_);
    }
    done_(std::move(first));
  }

 private:
  const std::function<void(absl::Status)> done_;

  Mutex mu_;
  size_t left_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

// Takes the first `bytes` bytes, or all, from the front of `runs`, which begins
// with run `at`.
std::vector<iovec> TakeRuns(std::vector<iovec>& runs, size_t& at,
                            uint64_t bytes) {
  std::vector<iovec> taken;
  for (; bytes > 0 && at < runs.size(); ++at) {
    iovec& run = runs[at];
    const size_t take = std::min<uint64_t>(run.iov_len, bytes);
    taken.push_back({run.iov_base, take});
    bytes -= take;
    run.iov_base = static_cast<char*>(run.iov_base) + take;
    run.iov_len -= take;
    if (run.iov_len > 0) break;
  }
  return taken;
}

}  // namespace

TierCuts CutsOf(const FilePiece& piece, const TierBatches& batches,
                const TierStore& store, const StagingRequests* requests) {
  TierCuts cuts;
  const Cutter cutter(piece, batches, store, requests);
  const uint64_t end = piece.offset + piece.length;
  bool source = false;  // the source answers the stretch that ends here
  for (uint64_t at = piece.offset; at < end;) {
    const Stretch stretch = cutter.At(at);
    if (at > piece.offset && !(source && stretch.source)) cuts.push_back(at);
    source = stretch.source;
    at = stretch.end;
  }
  return cuts;
}

std::vector<FilePiece> CutPiece(FilePiece piece,
                                absl::Span<const uint64_t> cuts) {
  const uint64_t end = piece.offset + piece.length;
  const auto joint =
      std::make_shared<Joint>(std::move(piece.done), cuts.size() + 1);
  std::vector<FilePiece> parts;
  parts.reserve(cuts.size() + 1);
  size_t run = 0;
  uint64_t at = piece.offset;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    const bool last = i == cuts.size();
    FilePiece part;
    part.file = piece.file;
    part.offset = at;
    part.length = (last ? end : cuts[i]) - at;
    // The last part also takes the rest of a page.
    part.into = TakeRuns(piece.into, run, last ? UINT64_MAX : part.length);
    part.done = [joint](const absl::Status& status) { joint->End(status); };
    at += part.length;
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace shufflefs
