// SPDX-License-Identifier: Apache-2.0
// Who may read what: what decides it of a file, as one small value, and the
// values of a catalogue's files by number. Samples, records and names of files
// with one number may be mixed. Of two numbers they may not, or somebody would
// read under one name what is closed to him under its own.
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

// Dense from 0, in the order of the catalogue.
using AccessId = StrongInt<struct AccessTag, uint32_t>;

// Owner, group and one permission of each class, of which those that make no
// difference are left out: all who may do the same are equal.
struct AccessRule {
  static constexpr uint32_t kAny = 0xFFFFFFFF;
  uint32_t uid = kAny;
  uint32_t gid = kAny;
  uint32_t bits = 0111;  // the permission, of owner, group and others

  // `permission`: 4 to read, 1 to search.
  static AccessRule Of(const CatalogueTables::AttributeClass& attributes,
                       mode_t permission);
  bool is_open() const { return bits == 0111; }
  friend auto operator<=>(const AccessRule&, const AccessRule&) = default;
};

// Of a file: its own rule, and those of the directories above it that are not
// open to everybody, each once, sorted. The rules are of modes that are within
// the access control lists, so no list is part of it.
struct EffectiveAccess {
  AccessRule read;
  std::vector<AccessRule> search;

  bool is_open() const { return read.is_open() && search.empty(); }
  // Not empty; the same for equal ones, on any machine.
  std::string Text() const;
  friend auto operator<=>(const EffectiveAccess&,
                          const EffectiveAccess&) = default;
};

// Thread-safe: constant after construction.
class AccessTable {
 public:
  // Who is served alone is who may read whatever can be read: then there is
  // one value, and nothing is kept apart.
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
  using Key = std::pair<uint32_t, uint32_t>;  // of chain and class

  std::vector<EffectiveAccess> values_;
  std::vector<uint32_t> chains_;  // by directory: what is above its entries
  absl::flat_hash_map<Key, uint32_t> ids_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CATALOGUE_ACCESS_H_
