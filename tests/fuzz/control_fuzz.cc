// SPDX-License-Identifier: Apache-2.0
// A write to the control file: all or nothing, one line of refusal, and never
// a key that cannot change while mounted.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "mount-tools/config/control_text.h"
#include "mount-tools/config/option_table.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const shufflefs::MountConfig mount;
  shufflefs::ViewConfig current;
  current.path = "train";
  const absl::StatusOr<shufflefs::ControlRequest> request =
      shufflefs::ParseControl(text, current, &mount);
  if (!request.ok()) {
    Check(absl::IsInvalidArgument(request.status()));
    Check(!request.status().message().empty());
    return 0;
  }
  Check(!(request->next_epoch && request->set_epoch.has_value()));
  Check(!request->feedback || std::isfinite(*request->feedback));
  // Another node that gets the settings has the same keys then.
  shufflefs::ViewConfig told = current;
  if (!request->settings.empty()) {
    const absl::StatusOr<shufflefs::ControlRequest> there =
        shufflefs::ParseControl(request->settings, current, &mount);
    Check(there.ok());
    told = there->config;
  }
  for (const shufflefs::Option& option : shufflefs::Options()) {
    Check(option.Get(mount, told) == option.Get(mount, request->config));
  }
  bool changed = false;
  for (const shufflefs::Option& option : shufflefs::Options()) {
    const bool differs =
        option.Get(mount, request->config) != option.Get(mount, current);
    Check(!differs || option.run_time);
    changed |= differs;
  }
  Check(!changed || request->config_changed);
  Check(shufflefs::ValidateView(request->config).ok());
  return 0;
}
