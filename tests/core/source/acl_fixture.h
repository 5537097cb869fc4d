// SPDX-License-Identifier: Apache-2.0
// Access control lists for tests, as the kernel takes them.
#ifndef SHUFFLEFS_TESTS_CORE_SOURCE_ACL_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_SOURCE_ACL_FIXTURE_H_

#include <sys/xattr.h>

#include <cstdint>
#include <string>
#include <vector>

namespace shufflefs::testing_support {

struct AclEntry {
  uint16_t tag;
  uint16_t bits;
  uint32_t id = 0xFFFFFFFF;
};

inline std::string Acl(const std::vector<AclEntry>& entries) {
  const uint32_t version = 2;
  std::string text(reinterpret_cast<const char*>(&version), sizeof version);
  for (const AclEntry& entry : entries) {
    text.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  return text;
}

inline constexpr uint16_t kUserObj = 1, kUser = 2, kGroupObj = 4, kGroup = 8;
inline constexpr uint16_t kMask = 16, kOther = 32;
inline constexpr uint32_t kSomebody = 65534;

// user::rw-, somebody:<named>, group::<group>, mask, other::<other>
inline std::string AclWith(uint16_t tag, uint16_t named, uint16_t group,
                    uint16_t other) {
  const auto mask = static_cast<uint16_t>(named | group);
  std::vector<AclEntry> entries = {{kUserObj, 6}};
  if (tag == kUser) entries.push_back({tag, named, kSomebody});
  entries.push_back({kGroupObj, group});
  if (tag == kGroup) entries.push_back({tag, named, kSomebody});
  entries.push_back({kMask, mask});
  entries.push_back({kOther, other});
  return Acl(entries);
}

// False where the file system has no lists.
inline bool SetAcl(const std::string& path, const std::string& acl) {
  return setxattr(path.c_str(), "system.posix_acl_access", acl.data(),
                  acl.size(), 0) == 0;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_SOURCE_ACL_FIXTURE_H_
