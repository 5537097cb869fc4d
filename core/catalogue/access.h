// SPDX-License-Identifier: Apache-2.0
// Read access by users. AccessRule and EffectiveAccess say, as small values,
// which users may read a file. AccessTable numbers the values of a catalogue's
// files. Samples, records and names may be mixed only among files with the same
// number. Otherwise a user could read under one name what is closed to that
// user under its own name.
#ifndef SHUFFLEFS_CORE_CATALOGUE_ACCESS_H_
#define SHUFFLEFS_CORE_CATALOGUE_ACCESS_H_

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/types.h"
#include "core/catalogue/catalogue_tables.h"

namespace shufflefs {

// Ids are dense from 0, in the order of the catalogue.
using AccessId = StrongInt<struct AccessTag, uint32_t>;

// Owner, group and one permission of each class. Fields that make no difference
// are left out, so rules that allow the same users are equal.
struct AccessRule {
  static constexpr uint32_t kAny = 0xFFFFFFFF;
  uint32_t uid = kAny;
  uint32_t gid = kAny;
  uint32_t bits = 0111;  // the permission for owner, group and others

  // `permission`: 4 to read, 1 to search.
  static AccessRule Of(const CatalogueTables::AttributeClass& attributes,
                       mode_t permission);
  bool is_open() const { return bits == 0111; }
  friend auto operator<=>(const AccessRule&, const AccessRule&) = default;
};

// The access of a file: its own rule and the rules of the directories above it
// that are not open to everybody, each once, sorted. The rules use modes that
// are limited by the access control lists, so lists are not part of it.
struct EffectiveAccess {
  AccessRule read;
  std::vector<AccessRule> search;

  bool is_open() const { return read.is_open() && search.empty(); }
  // Not empty. Equal values have the same text on any machine.
  std::string Text() const;
  friend auto operator<=>(const EffectiveAccess&,
                          const EffectiveAccess&) = default;
};

// Thread-safe: constant after construction.
class AccessTable {
 public:
  // If only the mounting user is served, that user may read everything that can
  // be read. Then there is one value, and nothing is kept apart.
  AccessTable() : values_(1) {}
  // REQUIRES: the tables are valid.
  explicit AccessTable(const CatalogueTables& tables);

  AccessId Of(uint32_t dir, uint32_t attr_class) const;
  const EffectiveAccess& value(AccessId id) const {
    return values_[id.value()];
  }
  uint32_t count() const { return static_cast<uint32_t>(values_.size()); }
  uint64_t memory_bytes() const;

 private:
  using Key = std::pair<uint32_t, uint32_t>;  // chain and class

  std::vector<EffectiveAccess> values_;
  std::vector<uint32_t> chains_;  // by directory: the rules above its entries
  absl::flat_hash_map<Key, uint32_t> ids_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_ACCESS_H_
