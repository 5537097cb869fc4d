// SPDX-License-Identifier: Apache-2.0
// Requests that have no effect: a policy that was named, over a dataset on
// which it changes nothing. Without a warning such a mount looks like success.
#ifndef SHUFFLEFS_CORE_VIEW_EFFECT_H_
#define SHUFFLEFS_CORE_VIEW_EFFECT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "core/base/types.h"
#include "core/policy/read_before.h"
#include "core/view/view_setup.h"

namespace shufflefs {

// A warning: what does not happen, why, and what to use instead. "" if the
// policy has an effect, or if nobody named one.
std::string EffectWarning(const ViewSetup& setup);

// A warning if the view's policy waits for the end of a pass over containers
// that nobody can find. "" if not.
std::string PassWarning(const ViewSetup& setup, ReadBefore waits_for);

// A warning if epochs end by opens, and this mount sees none. "" if not.
// `records`: as in EndsByOpens.
std::string OpensWarning(const ViewSetup& setup, bool records, bool sees_opens);

// A warning if nodes are to share the names of an epoch, and do not. "" if not.
std::string SharingWarning(const ViewSetup& setup, const NameSharing& sharing);

// A warning if `next` has no effect, or if the switch from `now` to it waits
// for more than the end of a pass. `returns`: for names to show their own
// samples. "" if not.
std::string SwitchWarning(const ViewSetup& now, const ViewSetup& next,
                          bool returns);

// What a view shows, for the line at mount: "policy lirs; file names may show
// other samples of their class".
std::string ShownLine(const ViewSetup& setup);

// For the log: an epoch is held, or begins.
std::string HeldLine(absl::string_view reason);
std::string BegunLine(const ViewSetup& setup, Epoch epoch);

// Returns whether the program alone decides in which order it gets samples.
bool ProgramOrders(const ViewSetup& setup);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_VIEW_EFFECT_H_
