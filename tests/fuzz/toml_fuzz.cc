// SPDX-License-Identifier: Apache-2.0
// The configuration file: whatever is accepted is written and read back as
// the same; whatever is refused says where, in one line.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "mount-tools/config/config_file.h"
#include "mount-tools/config/option_table.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<shufflefs::MountConfig> config =
      shufflefs::ParseConfig(text, "f.toml", "/base");
  if (!config.ok()) {
    Check(absl::IsInvalidArgument(config.status()));
    Check(absl::StartsWith(config.status().message(), "f.toml:"));
    return 0;
  }
  Check(!config->views.empty());
  for (const shufflefs::ViewConfig& view : config->views) {
    const std::string written = shufflefs::EffectiveToml(*config, view);
    const absl::StatusOr<shufflefs::MountConfig> again =
        shufflefs::ParseConfig(written, "f.toml", "/base");
    Check(again.ok());
    for (const shufflefs::Option& option : shufflefs::Options()) {
      Check(option.Get(*again, again->views[0]) == option.Get(*config, view));
    }
  }
  return 0;
}
