// SPDX-License-Identifier: Apache-2.0
// RecordPool's lone reads: reads of shuffled container files that bypass the
// memory of parts.
#include <algorithm>
#include <utility>

#include "core/records/content/record_pool.h"

namespace shufflefs {

std::shared_ptr<const PartPlan> RecordPool::PlanOfPart(const RecordFile& file,
                                                       uint64_t part) {
  const KeptPlans::Key key(file.id, part);
  if (std::shared_ptr<const PartPlan> kept = plans_.Find(key)) return kept;
  auto plan = std::make_shared<const PartPlan>(file.content->Plan(part));
  plans_.Keep(key, plan);
  return plan;
}

PartPlan RecordPool::PlanOf(const Request& request) {
  const PartedFile& content = *request.file->content;
  PartPlan plan;
  plan.bytes = request.length;
  const uint64_t end = request.offset + request.length;
  uint64_t at = request.offset;
  for (uint64_t part = content.PartAt(at); at < end; ++part) {
    const uint64_t begin = content.part_begin(part);
    const uint64_t to = std::min(content.part_begin(part + 1), end);
    if (to <= at) continue;
    PartPlan piece =
        Clip(*PlanOfPart(*request.file, part), at - begin, to - begin);
    const uint64_t moved = at - request.offset;
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

void RecordPool::ReadAlone(const std::shared_ptr<Request>& request) {
  {
    MutexLock lock(mu_);
    alone_.push_back(request);
  }
  PumpAlone();
}

void RecordPool::PumpAlone() {
  for (;;) {
    std::shared_ptr<Request> request;
    auto held = std::make_shared<Held>();
    {
      MutexLock lock(mu_);
      if (alone_.empty()) return;
      // If there is no memory, the lone read that ends next continues here.
      held->memory = spare_->Allocate(alone_.front()->length);
      if (held->memory == nullptr) return;
      request = std::move(alone_.front());
      alone_.pop_front();
      held->source = request->file;
      held->bytes = request->length;
      held->bytes_at = IoBuf(held->memory->pieces());
      held->reads_left = 1;
      held->waiters.push_back(request);
      request->missing = 1;
      request->pieces.push_back({request->offset, held});
    }
    held->plan = PlanOf(*request);
    LayOutNewlines(held->plan, held->bytes_at);
    LayOutLiterals(held->plan, held->bytes_at);
    Queue(held, PlanPartReads(held->plan, PartReadLimits()), /*urgent=*/true);
    OneLess(held, absl::OkStatus());
  }
}

}  // namespace shufflefs
