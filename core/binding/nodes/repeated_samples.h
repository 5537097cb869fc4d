// SPDX-License-Identifier: Apache-2.0
// RepeatedSamples counts the samples that may come twice although nodes share
// their names, and says why. For SharedNames.
#ifndef SHUFFLEFS_CORE_BINDING_NODES_REPEATED_SAMPLES_H_
#define SHUFFLEFS_CORE_BINDING_NODES_REPEATED_SAMPLES_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace shufflefs {

// Not thread-safe. Never forgets.
class RepeatedSamples {
 public:
  // A name shows its own sample, because no other node says what it shows.
  // Returns whether it is the first.
  bool NoteShownOwn() { return shown_own_++ == 0; }
  // An earlier run of this node may have shown so many.
  void NoteUnknown(uint64_t count) { unknown_ += count; }

  // For people. "" if none may come twice.
  std::string Warning() const {
    if (shown_own_ + unknown_ == 0) return "";
    std::string why;
    if (shown_own_ > 0) {
      why = absl::StrCat("the owner of ", shown_own_, " names did not answer");
    }
    if (unknown_ > 0) {
      absl::StrAppend(&why, why.empty() ? "" : ", and ", unknown_,
                      " may have been shown before this node joined the "
                      "others");
    }
    return absl::StrCat(
        "peers: up to ", shown_own_ + unknown_,
        " samples may come twice, and as many may be missing: ", why);
  }

 private:
  uint64_t shown_own_ = 0;
  uint64_t unknown_ = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_NODES_REPEATED_SAMPLES_H_
