// SPDX-License-Identifier: Apache-2.0
// Mount namespaces of other processes, in which a mount can live on.
#ifndef SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_NAMESPACES_H_
#define SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_NAMESPACES_H_

#include <string>

namespace shufflefs {

// MAJOR:MINOR of the topmost shufflefs mount at `mountpoint`, which is that of
// all its copies. "" if there is none.
std::string DeviceOfMount(const std::string& mountpoint);

// A process that sees a shufflefs mount of this device, as "4711 (sleep)". ""
// if none is found. A user sees his own processes only. Asks no daemon.
std::string ProcessThatSees(const std::string& device);

}  // namespace shufflefs

#endif  // SHUFFLEFS_MOUNT_TOOLS_CTL_UMOUNT_NAMESPACES_H_
