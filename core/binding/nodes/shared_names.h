// SPDX-License-Identifier: Apache-2.0
// SharedNames binds the names of a reactive view together with the other nodes
// of a job, so that over all nodes each sample is shown once.
//
// Each name has one owner among the nodes (NodeShares), and only the owner
// binds it, to a sample of its own. A node that is asked for a name of another
// one asks that node, and remembers the answer for the rest of the epoch. So
// whoever asks, and however often, a name shows one sample on all nodes. It
// does not matter which node asks for which name, nor how fast the nodes are.
//
// With `locality`, a node asks the owner to pass it the name, and then binds it
// to a sample of its own, so that no file travels (PassedNames). The owner
// remembers to whom it passed a name. It still decides: whoever else asks is
// sent to that node.
//
// An owner that does not answer costs no reader an error: after a while its
// names show their own samples. These may come twice, so they are counted.
//
// Until the nodes have agreed who they are, names show their own samples. A
// lookup waits for that, but only for the first seconds.
#ifndef SHUFFLEFS_CORE_BINDING_NODES_SHARED_NAMES_H_
#define SHUFFLEFS_CORE_BINDING_NODES_SHARED_NAMES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/base/published.h"
#include "core/base/types.h"
#include "core/binding/bound_names.h"
#include "core/binding/nodes/epoch_share.h"
#include "core/binding/nodes/loans.h"
#include "core/binding/nodes/name_purpose.h"
#include "core/binding/nodes/node_shares.h"
#include "core/binding/nodes/passed_names.h"
#include "core/binding/nodes/repeated_samples.h"
#include "core/binding/nodes/silent_nodes.h"
#include "core/dataset/grouping.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {

// The names and samples of this node: a pool that can be told what it owns.
// Between TakeShare and the next one it knows each name that the node owns as
// the name's partner, a sample that the node owns (NodeShares). So the names of
// a share are its samples, as those of a whole view are.
class OwnedNames : public BoundNames {
 public:
  // How samples are read together. Constant.
  virtual const NodeShares::Chunks& chunks() const = 0;
  // From the next BeginEpoch on, only samples of the chunks with these numbers
  // are fetched. Of each group, at most as many names are bound. Drops what is
  // in memory.
  virtual void TakeShare(const std::vector<uint32_t>& chunks) = 0;
  // As Binder::IsReady.
  virtual bool IsReady(SampleId name) const { return Bound(name).has_value(); }
  // Returns whether the sample is ever in memory. If not, each node reads it by
  // itself.
  virtual bool Holds(SampleId sample) const = 0;
  // As Binder::BeginEpoch.
  virtual void BeginEpoch(Seed seed, Epoch epoch,
                          absl::Span<const NameBinding> bound) = 0;
};

// Thread-safe. Only Bind blocks, at most for
//   kToAgree   at the first lookups, until the nodes have agreed.
//   kWithin    if the owner is away. After that it does not block for it.
//   kWithin    if no node has a free sample of the group (PassedNames). After
//              that it waits only for the nodes' answers.
//   kToRejoin  if the owner is there, but shows another epoch. After that it
//              waits only for its answer, now and then.
// A node that was restarted within an epoch also waits for kToRejoin.
class SharedNames : public BoundNames,
                    public std::enable_shared_from_this<SharedNames> {
 public:
  static constexpr std::chrono::milliseconds kWithin{1500};
  static constexpr std::chrono::milliseconds kToAgree{2000};
  static constexpr std::chrono::milliseconds kToRejoin{10000};

  struct Question {
    std::string owner;  // the node that is asked
    uint64_t binding = 0;
    std::vector<uint64_t> names;
    NamePurpose purpose = NamePurpose::kBind;
    // The first `wanted` names may be passed to the node `asker`.
    uint32_t wanted = 0;
    std::string asker;
  };
  // What may be answered instead of a sample: the name cannot be bound now, or
  // the n-th member of the epoch binds it (kBoundBy + n).
  static constexpr uint64_t kNotYet = ~uint64_t{0};
  static constexpr uint64_t kBoundBy = uint64_t{1} << 63;
  using Answer = std::function<void(absl::StatusOr<std::vector<uint64_t>>)>;
  // Asks a node for its names, without blocking. `answer` is called exactly
  // once, by any thread. FailedPrecondition: the node shows another binding,
  // and may be asked again. Other errors: it did not answer.
  using Ask =
      std::function<void(const Question& question,
                         std::chrono::milliseconds within, Answer answer)>;

  struct Parts {
    const Grouping* grouping = nullptr;  // outlives this
    uint64_t dataset_key = 0;
    std::shared_ptr<OwnedNames> own;
    Ask ask;  // outlives this
    // 0 to 1: of how many names of others this node asks to be passed them.
    double locality = 0;
    // An epoch began, of which nodes are asked with `binding`. Called with a
    // lock held; must not block or call back. May be empty.
    std::function<void(uint64_t binding)> begins;
    // A thread is about to wait in Bind. Called with no lock held. May be
    // empty.
    std::function<void()> waits;
  };
  explicit SharedNames(Parts parts);

  // Names are bound anew. `bound` is valid from the beginning, as far as this
  // node knows. It includes sharing.known.
  void BeginEpoch(Seed seed, Epoch epoch, const NameSharing& sharing,
                  absl::Span<const NameBinding> bound);
  // This node came late to the shared epoch that began now. Nobody told it
  // which of its samples it may have given to other nodes before.
  void NoteEarlierRun();
  // Returns whether no name of the epoch was asked for, or none was answered.
  bool is_fresh() const;
  // All pairs of the epoch that this node knows, by name.
  std::vector<NameBinding> KnownPairs() const;
  // Those of names that `member` owns, as far as it was asked for them.
  std::vector<NameBinding> KnownOf(const std::string& member) const;
  // What another node asks this one. FailedPrecondition if this node shows
  // another binding; NotFound if it is not asked for a name of its own.
  absl::StatusOr<std::vector<uint64_t>> BindForOthers(const Question& question);
  // This node will probably look these names up soon, in this order. Asks their
  // owners, each once for all of its names, and does not wait. Whoever looks
  // one up meanwhile waits for that answer.
  void AskAhead(const std::vector<SampleId>& names);
  // The node whose memory has `sample`. Empty: no node's, or nothing is shared.
  struct Holder {
    std::string member;
    bool self = false;
  };
  absl::optional<Holder> HolderOf(SampleId sample) const;
  uint64_t chunks_hash() const { return chunks_hash_; }
  // How many names were bound because this node was asked for them, in all
  // epochs that were shared.
  uint64_t shown() const { return shown_; }
  // How many samples may come twice, and why. For people; "" if none may.
  std::string Warning() const;

  SampleId Bind(SampleId name) override;
  absl::optional<SampleId> Bound(SampleId name) const override;
  absl::optional<SampleId> NameOf(SampleId sample) const override;
  // Each name shows one sample.
  bool repeats() const override { return false; }
  uint32_t OrdinalOf(SampleId) const override { return 0; }
  absl::optional<SampleId> NameAt(SampleId sample, uint32_t) const override {
    return NameOf(sample);
  }
  void Opened(SampleId) override {}
  std::string Served() const override { return ""; }

 private:
  using Clock = std::chrono::steady_clock;
  std::shared_ptr<const EpochShare> MakeShare(const NameSharing& sharing) const;
  PassedNames NewPassedNames(const EpochShare& share) const;
  // Has the own pool fetch what this node owns from now on.
  void TakeShareOf(const EpochShare& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Those of `bound` that the own pool has from the beginning, by their places
  // there. The others are remembered.
  std::vector<NameBinding> TakeBound(const EpochShare* share,
                                     absl::Span<const NameBinding> bound)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The sample of the name, if that needs no other node.
  absl::optional<SampleId> BindHere(SampleId name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::optional<SampleId> BindAtOnce(SampleId name) ABSL_LOCKS_EXCLUDED(mu_);
  // The question to the node that binds the name, or else may lend a sample.
  static Question QuestionTo(const EpochShare& share, uint32_t member,
                             NamePurpose purpose);
  Question QuestionFor(const EpochShare& share, const SharedName& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Question Loan(const EpochShare& share, SampleId name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The answer to a question about one name. Absent: this node is not to be
  // asked that.
  absl::optional<uint64_t> AnswerTo(const Question& question,
                                    const EpochShare& share,
                                    const SharedName& name,
                                    absl::optional<uint32_t> taker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::optional<uint64_t> Lend(const EpochShare& share, const SharedName& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsReady(const SharedName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits for somebody else's question, for the nodes to agree, or before the
  // owner is asked again.
  void WaitAWhile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Send(Question question, uint64_t generation) ABSL_LOCKS_EXCLUDED(mu_);
  // To a question that was sent at `sent`.
  void Answered(const Question& question, Clock::time_point sent,
                uint64_t generation,
                const absl::StatusOr<std::vector<uint64_t>>& samples)
      ABSL_LOCKS_EXCLUDED(mu_);
  // What the node says of one name.
  enum class Said { kSample, kElsewhere, kNotYet, kNothing };
  Said TakeAnswer(const Question& question, uint64_t name, uint64_t answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of an answer about one name. `is_last`: no other answer can come. Returns
  // whether who waits for the name is to see its own sample.
  bool GivesUp(const Question& question, uint64_t name, Said said, bool is_last)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The name shows its own sample, because nobody says which.
  SampleId ShowOwn(SampleId name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Remember(const NameBinding& pair) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const Parts parts_;
  const uint64_t chunks_hash_;

  // Self-synchronised. Set with mu_ held. Null: the nodes have not agreed.
  Published<EpochShare> share_;
  std::atomic<uint64_t> shown_{0};

  mutable Mutex mu_;  // taken before the pool's
  CondVar changed_;
  uint64_t generation_ ABSL_GUARDED_BY(mu_) = 0;  // epochs begun
  // Pairs that the own pool does not have: those of other nodes, and all while
  // nothing is shared.
  absl::flat_hash_map<uint64_t, uint64_t> sample_of_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, uint64_t> name_of_ ABSL_GUARDED_BY(mu_);
  // Names that a question is under way about, and whether a lookup waits.
  absl::flat_hash_map<uint64_t, bool> asking_ ABSL_GUARDED_BY(mu_);
  // Names of others that are known, and that nobody here looked up yet.
  absl::flat_hash_set<uint64_t> ahead_ ABSL_GUARDED_BY(mu_);
  PassedNames passed_ ABSL_GUARDED_BY(mu_);
  Loans loans_ ABSL_GUARDED_BY(mu_);
  // Names of which it is known now which other node to ask.
  absl::flat_hash_set<uint64_t> ask_now_ ABSL_GUARDED_BY(mu_);
  // Names that show their own samples because nobody answered.
  absl::flat_hash_set<uint64_t> guessed_ ABSL_GUARDED_BY(mu_);
  SilentNodes silent_ ABSL_GUARDED_BY(mu_);
  bool bound_ ABSL_GUARDED_BY(mu_) = false;  // a name of this epoch
  // The first lookup while nothing was shared.
  absl::optional<Clock::time_point> waits_since_ ABSL_GUARDED_BY(mu_);
  // The live epoch is not shared now, but an earlier run had shared it.
  bool resumed_ ABSL_GUARDED_BY(mu_) = false;
  RepeatedSamples repeated_ ABSL_GUARDED_BY(mu_);
  // What the own pool fetches for.
  std::vector<std::string> pool_members_ ABSL_GUARDED_BY(mu_);
  uint32_t pool_self_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_NODES_SHARED_NAMES_H_
