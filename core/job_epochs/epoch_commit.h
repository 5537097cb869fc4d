// SPDX-License-Identifier: Apache-2.0
// EpochCommit is the next epoch of a group, as its lead prepares it and then
// tells the members: its number, what it carries, and who shares its names.
#ifndef SHUFFLEFS_CORE_JOB_EPOCHS_EPOCH_COMMIT_H_
#define SHUFFLEFS_CORE_JOB_EPOCHS_EPOCH_COMMIT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/peers/epoch_message.h"

namespace shufflefs {

struct EpochCommit {
  // In `sample_of`: nobody told what the name showed.
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  // How many names and pairs the largest message of the commit has. `pairs`:
  // samples go with the names.
  size_t Entries(bool pairs) const;
  // The members that have prepared share the names. If they are too many for a
  // message, each shows its own samples.
  void ShareAmongPrepared();
  // Fills in what member `to` is told. `sample_of`: what each name showed;
  // empty if a plan says it.
  void Tell(const std::string& to, const std::vector<uint64_t>& sample_of,
            EpochMessage& message) const;

  uint64_t next = 0;  // number of the epoch that begins
  std::string verdict{};
  bool signalled = false;         // by the user
  bool shares_only = false;       // the epoch goes on, with shared names
  std::set<uint64_t> retained{};  // names
  // What members show until then. Known once all have prepared, like the rest.
  uint64_t from_epoch = 0;
  uint64_t from_binding = 0;
  // The members that are told to share the names of the epoch.
  std::vector<std::string> sharers{};
  // The names of the epoch that begins which each member opened.
  std::map<std::string, std::vector<uint64_t>> opened{};
  // By member: how many of its opens the lead had when it had prepared.
  std::map<std::string, uint64_t> first{};
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_JOB_EPOCHS_EPOCH_COMMIT_H_
