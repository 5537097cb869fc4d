// SPDX-License-Identifier: Apache-2.0
// The token of an epoch: one line that a job saves with its checkpoint and
// writes back before it continues.
//
//   FINGERPRINT POLICY KEYS SEED EPOCH POSITION [FIELD=VALUE…] check=HASH
//
// The first six fields identify the epoch and the number of its samples that
// were read (`-` if nobody counted). The named fields add what the plan does
// not say:
// * `held`: the epoch whose bijection continues.
// * `own`: names show their own samples.
// * `passed`: containers keep the source's order, because a part of the pass
//   was read before there was a catalogue.
// * `kept`: what was retained in the epoch.
// * `read`: which samples were read.
// * `whole`: which containers were read to the end, if that may end the pass.
// * `hand`: why a pass over containers ends by hand only.
//
// An epoch that is bound as it is read has other fields. `digest` covers the
// samples that were read and their names. Unless the line would be too long,
// `bound` and `shown` have the pairs, and `times` says how often samples were
// shown before.
//
// The parser trusts nothing that it reads. It needs memory of a few times the
// text, and 16 bytes a name (`most_names`).
#ifndef SHUFFLEFS_CORE_VIEW_EPOCH_TOKEN_H_
#define SHUFFLEFS_CORE_VIEW_EPOCH_TOKEN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/base/types.h"
#include "core/binding/binding.h"
#include "core/ledger/ledger_pass.h"
#include "core/policy/retained_bindings.h"
#include "core/records/epoch/record_epoch.h"
#include "core/view/view_setup.h"

namespace shufflefs {

struct EpochToken {
  // The bindings of a reactive epoch's names.
  struct Pairs {
    std::vector<NameBinding> bound;  // bound, but not read
    std::vector<NameBinding> shown;  // read
    std::string times;               // LedgerEpoch::served
  };

  // Containers of a view that were read to the end.
  struct Whole {
    uint64_t paths = 0;            // hash of the paths of all containers
    std::vector<uint64_t> places;  // of these, in rising order, by path
  };

  uint64_t fingerprint = 0;
  std::string policy;
  uint64_t keys = 0;  // TokenKeys
  Seed seed{0};
  Epoch epoch{0};
  absl::optional<uint64_t> position;
  Epoch binding{0};
  bool identity = false;
  bool passed = false;
  std::vector<NameBinding> kept;
  std::vector<uint64_t> read;       // samples in rising order; maybe not all
  absl::optional<uint64_t> digest;  // present if the epoch is reactive
  absl::optional<Pairs> pairs;
  absl::optional<Whole> whole;  // RecordEpoch::WholeFiles
  uint32_t by_hand = 0;         // ContainerSet::by_hand

  bool reactive() const { return digest.has_value(); }
};

std::string TokenText(const EpochToken& token);
// InvalidArgument. The message is one line that begins with "token: ".
absl::Status TokenRefused(absl::string_view why);
// Refuses a token of more names than `most_names`. Errors: TokenRefused.
absl::StatusOr<EpochToken> ParseToken(absl::string_view text,
                                      uint64_t most_names = UINT32_MAX);

// Hash of all keys that decide which sample a name shows, except policy and
// seed.
uint64_t TokenKeys(const ViewSetup& setup);

// A `digest` is the sum of both, because pairs may come in any order.
uint64_t PairDigest(const NameBinding& pair);
uint64_t TimesDigest(absl::string_view times);

// The pairs that a reactive epoch has shown so far.
struct ShownPairs {
  uint64_t count = 0;
  uint64_t sum = 0;

  void Add(const NameBinding& pair) {
    ++count;
    sum += PairDigest(pair);
  }
};

// The token of an epoch that began so, without its position and without single
// samples. A digest covers nothing yet.
EpochToken HeadOf(const LedgerEpoch& begin, uint64_t keys);
// The token of an epoch that a ledger recorded. With `position`, the token says
// that only so many samples were read. For a reactive epoch these are the first
// ones.
EpochToken TokenOf(const LedgerState& state, uint64_t keys,
                   absl::optional<uint64_t> position);
// The reverse, for a view that runs `setup`. Returns TokenRefused if the view
// cannot have that epoch. REQUIRES: a reactive token has its pairs.
absl::StatusOr<LedgerState> StateOf(const EpochToken& token,
                                    const ViewSetup& setup);

// Empty if it is not known which were read to the end.
using WholeFiles = absl::optional<std::vector<EntryId>>;

// `files` among the containers of `setup`. REQUIRES: it has containers.
EpochToken::Whole WholeOf(const std::vector<EntryId>& files,
                          const ViewSetup& setup);
// The reverse. Empty, too, if the token is of other containers.
WholeFiles WholeFilesOf(const EpochToken& token, const ViewSetup& setup);

// Returns whether a view that runs `setup` shows by `binding`, and by `records`
// (may be null), what the token's epoch showed.
bool BindsAs(const EpochToken& token, const ViewSetup& setup,
             const Binding& binding, const RecordEpoch* records);
// The names that were read, as far as the token tells. REQUIRES: BindsAs.
std::vector<uint64_t> NamesReadOf(const EpochToken& token,
                                  const ViewSetup& setup,
                                  const Binding& binding);
// Returns whether all names and samples exist and each pair is of one group.
bool AllFit(const std::vector<NameBinding>& pairs, const Grouping& grouping);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_EPOCH_TOKEN_H_
