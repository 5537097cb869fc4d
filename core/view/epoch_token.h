// SPDX-License-Identifier: Apache-2.0
// The token of an epoch: one line that a job saves with its checkpoint and
// writes back before it goes on.
//
//   FINGERPRINT POLICY KEYS SEED EPOCH POSITION [FIELD=VALUE…] check=HASH
//
// The first six tell which epoch it is and how many samples of it were read
// (`-` where nobody counts). The fields say what a plan does not: `held` the
// epoch whose bijection goes on, `own` that names show their own samples,
// `kept` what was carried into the epoch, `read` which samples were read. Of an
// epoch that is bound as it is read: `digest` of what was read under which
// names, and, unless the line would be too long, `bound` and `shown`, the
// pairs, and `times`, how often samples were shown before.
//
// Reading a token trusts nothing. Memory: some times the text.
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
#include "core/ledger/ledger_pass.h"
#include "core/policy/carried.h"
#include "core/view/view_setup.h"

namespace shufflefs {

struct EpochToken {
  // What a reactive epoch was bound to.
  struct Pairs {
    std::vector<CarriedPair> bound;  // and not read
    std::vector<CarriedPair> shown;  // read
    std::string times;               // LedgerEpoch::served
  };

  uint64_t fingerprint = 0;
  std::string policy;
  uint64_t keys = 0;  // TokenKeys
  Seed seed{0};
  Epoch epoch{0};
  absl::optional<uint64_t> position;
  Epoch binding{0};
  bool identity = false;
  std::vector<CarriedPair> kept;
  std::vector<uint64_t> read;       // samples, rising; maybe not all
  absl::optional<uint64_t> digest;  // of a reactive epoch
  absl::optional<Pairs> pairs;

  bool reactive() const { return digest.has_value(); }
};

std::string TokenText(const EpochToken& token);
// InvalidArgument, one line that begins with "token: ".
absl::Status TokenRefused(absl::string_view why);
// Errors: TokenRefused.
absl::StatusOr<EpochToken> ParseToken(absl::string_view text);

// Of all keys that decide which sample a name shows, but policy and seed.
uint64_t TokenKeys(const ViewSetup& setup);

// `digest` is the sum of both: pairs may come in any order.
uint64_t PairDigest(const CarriedPair& pair);
uint64_t TimesDigest(absl::string_view times);

// What was read of a reactive epoch so far.
struct ShownPairs {
  uint64_t count = 0;
  uint64_t sum = 0;

  void Add(const CarriedPair& pair) {
    ++count;
    sum += PairDigest(pair);
  }
};

// The token of an epoch that a ledger tells of. `position`: as if only so many
// of its samples had been read; of a reactive epoch the first of them.
EpochToken TokenOf(const LedgerState& state, uint64_t keys,
                   absl::optional<uint64_t> position);
// And back, for a view that runs `setup`. TokenRefused where
// it cannot be an epoch of it. REQUIRES: the pairs, if it is reactive.
absl::StatusOr<LedgerState> StateOf(const EpochToken& token,
                                    const ViewSetup& setup);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_EPOCH_TOKEN_H_
