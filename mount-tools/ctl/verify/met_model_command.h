// SPDX-License-Identifier: Apache-2.0
// The part of shufflectl simulate that computes MET's analytical model, in
// figures and words: simulate met with --capacity-tier or another of its
// options.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_MET_MODEL_COMMAND_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_MET_MODEL_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "mount-tools/ctl/command.h"
#include "mount-tools/ctl/verify/met_model_text.h"

namespace shufflefs {

// The options of the model. Used like a Command.
class MetModelArguments {
 public:
  void Declare(CLI::App& app);
  // Returns whether any of them was given.
  bool given() const;
  // `keys` are the words after `simulate met`. met.mini_epochs and met.repeat
  // have the same meaning as in a mount. Errors: InvalidArgument, which names
  // the word.
  absl::Status Run(const std::vector<std::string>& keys, bool json,
                   const CommandContext& context) const;

 private:
  absl::StatusOr<MetQuestion> Question(
      const std::vector<std::string>& keys) const;

  std::string consume_;
  std::string peak_;
  std::string tier_;
  std::string capacity_;
  std::string dataset_;
  std::string repeats_;
};

// Bytes as for ParseBytes, but also with a decimal point: "3.8TiB".
absl::optional<double> ParseRate(absl::string_view text);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_VERIFY_MET_MODEL_COMMAND_H_
