// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/access.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

using Search = std::vector<AccessRule>;

const CatalogueTables::AttributeClass& ClassOfDir(const CatalogueTables& t,
                                                  uint32_t dir) {
  const uint32_t entry = t.dirs[dir].entry;
  return t.classes[entry == CatalogueTables::kNoEntry ? t.root.attr_class
                                                      : t.attr_class[entry]];
}

void AddRule(const AccessRule& rule, Search& search) {
  if (rule.is_open()) return;
  const auto at = std::lower_bound(search.begin(), search.end(), rule);
  if (at == search.end() || *at != rule) search.insert(at, rule);
}

}  // namespace

AccessRule AccessRule::Of(const CatalogueTables::AttributeClass& attributes,
                          mode_t permission) {
  AccessRule rule;
  rule.bits = attributes.mode / permission & 0111;
  const uint32_t owner = rule.bits >> 6 & 1;
  const uint32_t group = rule.bits >> 3 & 1;
  const uint32_t other = rule.bits & 1;
  if (group != other) rule.gid = attributes.gid;
  if (group != other || owner != other) rule.uid = attributes.uid;
  return rule;
}

std::string EffectiveAccess::Text() const {
  std::string text;
  const auto add = [&text](const AccessRule& rule) {
    absl::StrAppend(&text, rule.uid, ":", rule.gid, ":", rule.bits, " ");
  };
  add(read);
  for (const AccessRule& rule : search) add(rule);
  return text;
}

AccessTable::AccessTable(const CatalogueTables& t) : chains_(t.dirs.size()) {
  std::map<Search, uint32_t> numbers;
  std::vector<Search> chains;
  for (uint32_t d = 0; d < t.dirs.size(); ++d) {
    Search search;
    if (d > 0) search = chains[chains_[t.dirs[d].parent]];
    AddRule(AccessRule::Of(ClassOfDir(t, d), 1), search);
    const auto [at, fresh] = numbers.try_emplace(search, chains.size());
    chains_[d] = at->second;
    if (fresh) chains.push_back(std::move(search));
  }
  std::map<EffectiveAccess, uint32_t> known;
  for (uint32_t e = 0; e < t.attr_class.size(); ++e) {
    const uint32_t chain = chains_[t.DirOf(e)];
    const auto [at, fresh] = ids_.try_emplace({chain, t.attr_class[e]}, 0);
    if (!fresh) continue;
    EffectiveAccess access{AccessRule::Of(t.classes[t.attr_class[e]], 4),
                           chains[chain]};
    const auto [value, new_value] = known.try_emplace(access, values_.size());
    if (new_value) values_.push_back(std::move(access));
    at->second = value->second;
  }
}

AccessId AccessTable::Of(uint32_t dir, uint32_t attr_class) const {
  if (chains_.empty()) return AccessId(0);
  return AccessId(ids_.at({chains_[dir], attr_class}));
}

uint64_t AccessTable::memory_bytes() const {
  return chains_.capacity() * sizeof(uint32_t) +
         ids_.capacity() * (sizeof(Key) + sizeof(uint32_t)) +
         values_.capacity() * sizeof(EffectiveAccess);
}

}  // namespace shufflefs
