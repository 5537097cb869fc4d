// SPDX-License-Identifier: Apache-2.0
// One job that reads the files of one index, epoch after epoch: in which order
// it reads them, as far as it was found out, and what of them to read ahead.
//
// A search of all seeds takes longer than a short epoch, so what one finds may
// be the seed of an epoch that is over. But it tells where the generator that
// drew it may stand, and so the orders of all epochs to come
// (generator_trail.h).
//
// Pure but for what it is given: no I/O, no threads, no clock. Belongs to one
// thread, or to a lock of the owner's.
#ifndef SHUFFLEFS_CORE_SAMPLER_FOLLOWED_JOB_H_
#define SHUFFLEFS_CORE_SAMPLER_FOLLOWED_JOB_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/sampler/epoch_opens.h"
#include "core/sampler/file_index.h"
#include "core/sampler/new_readers.h"
#include "core/sampler/read_plan.h"
#include "core/sampler/search/generator_search.h"
#include "core/sampler/search/generator_trail.h"
#include "core/sampler/search/recogniser.h"

namespace shufflefs {

// For `status`.
struct FollowedJobStatus {
  std::string path;  // of the directory
  uint64_t files = 0;
  std::string state;  // watching, recognised, unknown
  std::string order;  // in words; "" if it is not known
  uint64_t after_opens = 0;
  std::string evidence;
  uint64_t epochs = 0;             // that began
  uint64_t recognised_epochs = 0;  // of these
  std::string warning;             // "" if there is none
};

class FollowedJob {
 public:
  // Bytes a file of what is kept of a job.
  static constexpr uint64_t kBytesPerFile = FileIndex::kBytesPerFile + 40;

  using Candidates = std::shared_ptr<const std::vector<CandidateOrder>>;
  // `candidates`: as Recogniser's.
  FollowedJob(FileIndex index, Candidates candidates,
              NewReaders::IsGone is_gone);

  const FileIndex& index() const { return index_; }

  // What it is in the order that is followed. REQUIRES: index < index().size().
  OpenStep Opened(uint32_t index, uint64_t thread);
  // Looks at a few orders (some ms at most); false if there is nothing to do.
  bool Work();

  // What to search all seeds for now, and for which epoch. Nothing where that
  // was of no use for so long that it is not worth the time.
  struct Search {
    uint64_t epoch = 0;
    SeedQuery query;
  };
  std::optional<Search> WantsSearch() const;
  // Whether it is still of use to go on with a search for that epoch.
  bool AwaitsSearch(uint64_t epoch) const;
  // The search for that epoch ended: with the one seed that it found, or none.
  void Searched(uint64_t epoch, std::optional<uint32_t> seed);

  // Which generator drew a seed: to be looked for at once among the first
  // outputs of those that were seeded in a usual way, then, at leisure, in long
  // streams of these and, which takes minutes and is wanted once of a job,
  // among the first outputs of all.
  std::optional<DrawnSeed> WantsEarlyGenerators();
  struct GeneratorQuery {
    DrawnSeed drawn;
    bool of_all = false;
  };
  std::optional<GeneratorQuery> WantsGenerator();
  // Whether it is still of use to look for that.
  bool AwaitsGenerator(const DrawnSeed& drawn) const;
  // It may have been drawn there; told at once.
  void FoundGenerator(const DrawnSeed& drawn, const GeneratorPlace& place);

  // Null where the epoch's order is not known.
  ReadPlan* plan() { return plan_.get(); }
  bool is_foreseen() const { return plan_ != nullptr; }
  // How many more files may be opened in the epoch, if it ends as early as the
  // last one.
  uint64_t FilesToCome() const;
  FollowedJobStatus status() const;

  // Epochs that began, not those that merely looked like it; orders that were
  // found.
  uint64_t begun_epochs() const { return begun_epochs_; }
  uint64_t claims() const { return claims_; }

 private:
  // The first opens of an epoch, where this open shows that one began.
  std::vector<EpochOpens::Open> FirstOpens(const EpochOpens::Open& open);
  void BeginEpoch(const std::vector<EpochOpens::Open>& first);
  OpenStep Feed(const EpochOpens::Open& open);
  void TakeClaim();
  void LearnSeed(const DrawnSeed& drawn);
  void MakePlan();
  // The order was not borne out: the last opens may be the first of another.
  void LookAgain();

  // Constant after construction.
  const FileIndex index_;

  Recogniser recogniser_;
  EpochOpens opens_;
  NewReaders readers_;
  std::deque<EpochOpens::Open> last_;
  std::unique_ptr<ReadPlan> plan_;
  size_t planned_ranks_ = 0;
  uint64_t planned_files_ = 0;

  uint64_t epoch_ = 0;  // counts from 0
  uint64_t begun_epochs_ = 0;
  uint64_t claims_ = 0;
  bool looked_again_ = false;
  bool was_claimed_ = false;  // in this epoch
  uint64_t barren_ = 0;       // epochs in a row in which nothing was found
  uint64_t last_count_ = 0;   // files of the last epoch; 0: all
  uint64_t epochs_claimed_ = 0;
  std::string order_;  // of the last claim
  std::string evidence_;
  uint64_t after_opens_ = 0;
  std::string warning_;
  bool last_was_shuffled_ = false;  // the last order that was claimed by name

  // Searches.
  uint64_t searched_epoch_ = ~uint64_t{0};  // the last one
  uint64_t search_from_ = 0;                // no sooner than this epoch
  uint64_t useless_searches_ = 0;           // in a row

  GeneratorTrail trail_;
  // Where to look for trail_.Wanted() next.
  enum class Streams { kEarly, kLong, kNone };
  Streams next_streams_ = Streams::kNone;
  bool all_were_looked_at_ = false;
};

// "DistributedSampler, seed + epoch = 45, rank 1 of 4".
std::string OrderInWords(const OrderClaim& claim);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_FOLLOWED_JOB_H_
