// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/kept_plans.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace shufflefs {
namespace {

// A lookup scans all plans.
constexpr size_t kMostPlans = 1024;

uint64_t BytesOf(const PartPlan& plan) {
  uint64_t bytes = sizeof plan + plan.copies.capacity() * sizeof(PartCopy) +
                   plan.kept.capacity() * sizeof(PartCopy) +
                   plan.newlines.capacity() * sizeof(uint64_t) +
                   plan.literals.capacity() * sizeof(PartLiteral);
  for (const PartLiteral& literal : plan.literals) {
    bytes += literal.bytes.capacity();
  }
  return bytes;
}

}  // namespace

std::shared_ptr<const PartPlan> KeptPlans::Find(Key key) {
  MutexLock lock(mu_);
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if (it->key != key) continue;
    std::rotate(plans_.begin(), it, it + 1);
    return plans_.front().plan;
  }
  return nullptr;
}

void KeptPlans::Keep(Key key, std::shared_ptr<const PartPlan> plan) {
  const uint64_t bytes = BytesOf(*plan) + sizeof(Kept);
  if (bytes > most_) return;
  MutexLock lock(mu_);
  bytes_ += bytes;
  plans_.push_front({key, std::move(plan), bytes});
  while (bytes_ > most_ || plans_.size() > kMostPlans) {
    bytes_ -= plans_.back().bytes;
    plans_.pop_back();
  }
}

void KeptPlans::Forget(const absl::flat_hash_set<uint64_t>& files) {
  MutexLock lock(mu_);
  std::erase_if(plans_, [&files](const Kept& kept) {
    return files.contains(kept.key.first);
  });
  bytes_ = 0;
  for (const Kept& kept : plans_) bytes_ += kept.bytes;
}

uint64_t KeptPlans::bytes() const {
  MutexLock lock(mu_);
  return bytes_;
}

std::shared_ptr<const PartPlan> KeptPlans::OfPart(uint64_t id,
                                                  const PartedFile& content,
                                                  uint64_t part) {
  const Key key(id, part);
  if (std::shared_ptr<const PartPlan> kept = Find(key)) return kept;
  auto plan = std::make_shared<const PartPlan>(content.Plan(part));
  Keep(key, plan);
  return plan;
}

PartPlan KeptPlans::OfRange(uint64_t id, const PartedFile& content,
                            uint64_t offset, uint64_t length) {
  PartPlan plan;
  plan.bytes = length;
  const uint64_t end = offset + length;
  uint64_t at = offset;
  for (uint64_t part = content.PartAt(at); at < end; ++part) {
    const uint64_t begin = content.part_begin(part);
    const uint64_t to = std::min(content.part_begin(part + 1), end);
    if (to <= at) continue;
    PartPlan piece = Clip(*OfPart(id, content, part), at - begin, to - begin);
    const uint64_t moved = at - offset;
    for (PartCopy copy : piece.copies) {
      copy.to += moved;
      plan.copies.push_back(copy);
    }
    for (const uint64_t newline : piece.newlines) {
      plan.newlines.push_back(newline + moved);
    }
    for (PartLiteral& literal : piece.literals) {
      literal.to += moved;
      plan.literals.push_back(std::move(literal));
    }
    at = to;
  }
  SortCopies(plan.copies);
  return plan;
}

}  // namespace shufflefs
