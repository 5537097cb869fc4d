// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/credentials.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace shufflefs {

Credentials Credentials::OfProcess() {
  Credentials me;
  me.uid = geteuid();
  me.gid = getegid();
  int count = getgroups(0, nullptr);
  if (count > 0) {
    me.groups.resize(static_cast<size_t>(count));
    count = getgroups(count, me.groups.data());
    me.groups.resize(static_cast<size_t>(std::max(count, 0)));
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) == 0) {
    constexpr unsigned kReading =
        1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
    me.reads_all = (data[0].effective & kReading) != 0;
  }
  return me;
}

bool Credentials::MayRead(const FileAttributes& file) const {
  if (reads_all) return true;
  // The first class that matches decides, even if it denies.
  if (file.uid == uid) return (file.mode & S_IRUSR) != 0;
  if (file.gid == gid ||
      std::find(groups.begin(), groups.end(), file.gid) != groups.end()) {
    return (file.mode & S_IRGRP) != 0;
  }
  return (file.mode & S_IROTH) != 0;
}

}  // namespace shufflefs
