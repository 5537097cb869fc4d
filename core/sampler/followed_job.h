// SPDX-License-Identifier: Apache-2.0
// FollowedJob is one job that reads the files of one index, epoch after epoch.
// It recognises the order of each epoch and says what to prefetch.
//
// A search of all seeds takes longer than a short epoch. So it may find the
// seed of an epoch that is over. From this seed the job learns where the
// generator that drew it may be, and so the orders of all later epochs
// (generator_trail.h).
//
// Pure except for what it is given: no I/O, no threads, no clock. Use it from
// one thread, or under a lock of its owner.
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
  std::string order;  // as text; "" if it is not known
  uint64_t after_opens = 0;
  std::string evidence;
  uint64_t epochs = 0;             // epochs that began
  uint64_t recognised_epochs = 0;  // of these
  std::string warning;             // "" if there is none
};

class FollowedJob {
 public:
  // Memory of a job, in bytes per file.
  static constexpr uint64_t kBytesPerFile = FileIndex::kBytesPerFile + 40;

  using Candidates = std::shared_ptr<const std::vector<CandidateOrder>>;
  // `candidates` are those of Recogniser.
  FollowedJob(FileIndex index, Candidates candidates,
              NewReaders::IsGone is_gone);

  const FileIndex& index() const { return index_; }

  // A thread opened the file with this index. Returns how this fits the order
  // that is followed. REQUIRES: index < index().size().
  OpenStep Opened(uint32_t index, uint64_t thread);
  // Tests a few orders, for some ms at most. Returns false if there is nothing
  // to do.
  bool Work();

  // The query for a search of all seeds, and its epoch. WantsSearch returns
  // nothing if the order is known or a search cannot help. It pauses for some
  // epochs if several searches in a row were useless.
  struct Search {
    uint64_t epoch = 0;
    SeedQuery query;
  };
  std::optional<Search> WantsSearch() const;
  // Returns whether a search for this epoch can still help.
  bool AwaitsSearch(uint64_t epoch) const;
  // The search for this epoch ended. `seed` is the one that it found, if any.
  void Searched(uint64_t epoch, std::optional<uint32_t> seed);

  // Searches for the generator that drew a seed. WantsEarlyGenerators comes
  // first. The owner looks at once among the first outputs of generators with
  // common seeds. Then WantsGenerator asks for long streams of these
  // generators. With `of_all` it also asks for the first outputs of all
  // generators, once per job because that takes minutes.
  std::optional<DrawnSeed> WantsEarlyGenerators();
  struct GeneratorQuery {
    DrawnSeed drawn;
    bool of_all = false;
  };
  std::optional<GeneratorQuery> WantsGenerator();
  // Returns whether a search for this seed can still help.
  bool AwaitsGenerator(const DrawnSeed& drawn) const;
  // A search found a place where the seed may have been drawn. Call it at once,
  // also while the search goes on.
  void FoundGenerator(const DrawnSeed& drawn, const GeneratorPlace& place);

  // Null if the order of the epoch is not known.
  ReadPlan* plan() { return plan_.get(); }
  bool is_foreseen() const { return plan_ != nullptr; }
  // Returns how many more files may be opened in this epoch if it ends as early
  // as the last one.
  uint64_t FilesToCome() const;
  FollowedJobStatus status() const;

  // Epochs that really began, without those that only looked like it. claims()
  // counts the orders that were found.
  uint64_t begun_epochs() const { return begun_epochs_; }
  uint64_t claims() const { return claims_; }

 private:
  // Returns the first opens of a new epoch if this open shows that one began.
  // Otherwise returns nothing.
  std::vector<EpochOpens::Open> FirstOpens(const EpochOpens::Open& open);
  void BeginEpoch(const std::vector<EpochOpens::Open>& first);
  OpenStep Feed(const EpochOpens::Open& open);
  void TakeClaim();
  void LearnSeed(const DrawnSeed& drawn);
  void MakePlan();
  // The opens contradict the order. The last opens may be the first of another
  // order.
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
  uint64_t barren_ = 0;       // epochs in a row in which no order was found
  uint64_t last_count_ = 0;   // files of the last epoch; 0: all
  uint64_t epochs_claimed_ = 0;
  std::string order_;  // of the last claim
  std::string evidence_;
  uint64_t after_opens_ = 0;
  std::string warning_;
  bool last_was_shuffled_ = false;  // the last named order was a shuffle

  // Searches.
  uint64_t searched_epoch_ = ~uint64_t{0};  // the last one
  uint64_t search_from_ = 0;                // no search before this epoch
  uint64_t useless_searches_ = 0;           // in a row

  GeneratorTrail trail_;
  // Where to search for trail_.Wanted() next.
  enum class Streams { kEarly, kLong, kNone };
  Streams next_streams_ = Streams::kNone;
  bool all_were_looked_at_ = false;
};

// Returns for example "DistributedSampler, seed + epoch = 45, rank 1 of 4".
std::string OrderInWords(const OrderClaim& claim);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_FOLLOWED_JOB_H_
