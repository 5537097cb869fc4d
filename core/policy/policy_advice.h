// SPDX-License-Identifier: Apache-2.0
// What a policy's entry says of a dataset: to `auto`, and in the reports of
// `shufflectl check`. Plain values.
#ifndef SHUFFLEFS_CORE_POLICY_POLICY_ADVICE_H_
#define SHUFFLEFS_CORE_POLICY_POLICY_ADVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "core/policy/policy.h"

namespace shufflefs {

// How well a policy suits a dataset, for `auto`.
struct Suitability {
  int rank = 0;     // auto takes the policy with the highest rank
  std::string why;  // what to expect from it: clauses; may be ""
  // What other policies advise is added.
  bool takes_advice = false;
  // Readers are expected to be faster than over the source.
  bool is_faster = true;
};

// What `auto` adds to its reason if it takes another policy: why it did not
// take this one, and what the user could ask for. Each may be "".
struct PolicyAdvice {
  int rank = 0;        // clauses of a higher rank come first
  std::string clause;  // about the speed of readers
  // The option with which names of a class would show each other's samples.
  std::string moves_names;
  std::string records;  // about records of containers
};

// The estimated speed of readers under a policy, against as many plain readers
// that draw at random.
struct PolicyGain {
  int readers = 1;
  double raw = 0;             // files, or records, per second of plain readers
  double rate = 0;            // under the policy
  uint64_t record_bytes = 0;  // the assumed size of a record; 0: of files
  double gain() const { return rate / raw; }
};

// Options that may be worth trying with a dataset, and when.
struct PolicySuggestion {
  int rank = 0;  // higher ranks come first
  std::string options;
  std::string when;
};

// The kinds of data over which `shufflectl bench` tries a policy.
struct BenchedData {
  bool any = false;
  bool containers = false;
  bool classes = false;       // names may show other samples
  bool own_programs = false;  // fixed names, read in the order of a program
};

// Each function may be null: it has nothing to say.
struct PolicyAdviser {
  // Empty if the policy does not suit. Null: auto never takes it.
  absl::optional<Suitability> (*suits)(const DatasetFacts& facts) = nullptr;
  // `is_faster`: auto took another policy, which is.
  PolicyAdvice (*advises)(const DatasetFacts& facts, bool is_faster) = nullptr;
  // For a usual number of readers, then for many. Empty if none can be
  // estimated, or nobody would ask.
  std::vector<PolicyGain> (*gains)(const DatasetFacts& facts) = nullptr;
  // What to expect of speed if the policy is chosen and no gain is known: a
  // sentence.
  std::string (*expects)(const DatasetFacts& facts) = nullptr;
  std::vector<PolicySuggestion> (*suggests)(const DatasetFacts& facts) =
      nullptr;
  // How well it shuffles the rows of a file that the user could name in
  // record.as. The policy with the highest rank is advised. 0: does not.
  int (*rows_rank)(const DatasetFacts& facts) = nullptr;
  // The key that speaks against it on such a device. "": none.
  std::string (*held_back)(const PolicyOptions& options,
                           DeviceKind device) = nullptr;
  // The clients that it suits.
  absl::string_view use = "for clients that read containers from start to end";
  BenchedData benched = {};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_POLICY_ADVICE_H_
