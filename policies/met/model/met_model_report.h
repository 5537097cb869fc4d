// SPDX-License-Identifier: Apache-2.0
// `shufflectl simulate met` with --capacity-tier or another of these options
// computes MET's analytical model, in figures and words. See
// core/policy/policy_model.h.
#ifndef SHUFFLEFS_POLICIES_MET_MODEL_MET_MODEL_REPORT_H_
#define SHUFFLEFS_POLICIES_MET_MODEL_MET_MODEL_REPORT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "core/policy/policy_model.h"

namespace shufflefs {

inline constexpr ModelOption kMetModelOptions[] = {
    {"--capacity-tier", "SIZE",
     "met's model: bytes/s that the capacity tier gives (default: 400GiB)"},
    {"--tier", "SIZE",
     "met's model: bytes/s that the performance tier gives (default: all that "
     "is taken)"},
    {"--consume", "SIZE",
     "met's model: bytes/s that the job takes at its peak (default: the "
     "paper's 3.8TiB)"},
    {"--peak", "N", "met's model: the same in samples/s (default: 65000)"},
    {"--dataset", "SIZE", "met's model: bytes of the dataset (default: 1TiB)"},
    {"--repeats", "N,N,...",
     "met's model: how often each mini-epoch is shown, the last for all that "
     "follow (default: met.repeat)"},
};

// met.mini_epochs and met.repeat have the same meaning as in a mount. Errors:
// InvalidArgument, which names the word.
absl::StatusOr<ModelReport> MakeMetModelReport(const ModelRequest& request);

// Bytes as for ParseBytes, but also with a decimal point: "3.8TiB".
absl::optional<double> ParseRate(absl::string_view text);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MODEL_MET_MODEL_REPORT_H_
