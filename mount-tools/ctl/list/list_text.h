// SPDX-License-Identifier: Apache-2.0
// The mounts of a machine as text for people and as JSON. Pure functions, but
// for the time zone.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_LIST_LIST_TEXT_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_LIST_LIST_TEXT_H_

#include <string>
#include <vector>

#include "mount-tools/ctl/list/mount_facts.h"

namespace shufflefs {

// A table with a line of titles. "" if there are no mounts.
std::string ListText(const std::vector<MountFacts>& mounts);

// {"mountpoint":…,"source":…,"state":"serves","pid":…,"since":…,"views":[
// {"name":…,"policy":…,"epoch":…,"epoch_state":…}]}, one object per line.
// `state` is also "gone", "silent" or "refused". What is not known is null;
// `since` is in UTC.
std::string ListJson(const std::vector<MountFacts>& mounts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_LIST_LIST_TEXT_H_
