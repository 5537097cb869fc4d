// SPDX-License-Identifier: Apache-2.0
// The identity of the daemon, as far as the source's permission bits are
// concerned.
#ifndef SHUFFLEFS_CORE_CATALOGUE_CREDENTIALS_H_
#define SHUFFLEFS_CORE_CATALOGUE_CREDENTIALS_H_

#include <sys/types.h>

#include <vector>

#include "core/catalogue/catalogue.h"

namespace shufflefs {

struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  // CAP_DAC_OVERRIDE or CAP_DAC_READ_SEARCH: permission bits do not apply.
  bool reads_all = false;

  static Credentials OfProcess();

  // By the permission bits only. An access control list may decide otherwise;
  // only opening the file gives the final answer.
  bool MayRead(const FileAttributes& file) const;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_CREDENTIALS_H_
