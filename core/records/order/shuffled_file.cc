// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/shuffled_file.h"

#include <algorithm>
#include <utility>

#include "core/formats/record_math.h"

namespace shufflefs {
namespace {

constexpr uint64_t kPlainPart = uint64_t{1} << 20;
// The kernel's largest read-ahead request. So a reader that wants one page of a
// column causes no larger read.
constexpr uint64_t kColumnarPart = uint64_t{128} << 10;
// A footer's list may have as many bytes as the memory of a mount.
constexpr uint64_t kFooterPart = uint64_t{1} << 20;
// Read-ahead in columns. The reader may or may not want the next column.
constexpr uint64_t kColumnarAhead = uint64_t{4} << 20;
// Kept pieces begin on pages of this size.
constexpr uint64_t kSeamPage = 4096;
// Offsets that are looked up together.
constexpr uint64_t kBeginsAtOnce = 4096;
// This many groups are ordered in a few milliseconds.
constexpr uint64_t kQuickGroups = uint64_t{1} << 15;

bool ComesBefore(const PartCopy& a, const PartCopy& b) {
  return a.file != b.file ? a.file < b.file : a.from < b.from;
}

std::shared_ptr<const FamilyOrder> FamilyOfOne(
    ContainerShape shape, std::unique_ptr<const RecordOrder> order) {
  // Without an order the records do not matter.
  if (shape.records == nullptr) {
    shape.records = std::make_shared<FixedTable>(shape.file_bytes, 1, 0);
  }
  std::vector<ContainerShape> members;
  members.push_back(std::move(shape));
  auto family = std::make_shared<FamilyOrder>();
  family->table = std::make_shared<FamilyTable>(std::move(members));
  family->order = std::move(order);
  return family;
}

}  // namespace

ShuffledFile::ShuffledFile(ContainerShape shape,
                           std::unique_ptr<const RecordOrder> order)
    : ShuffledFile(FamilyOfOne(std::move(shape), std::move(order)), 0) {}

ShuffledFile::ShuffledFile(std::shared_ptr<const FamilyOrder> family,
                           size_t member)
    : family_(std::move(family)),
      member_(member),
      plain_part_(columnar() == nullptr ? kPlainPart : kColumnarPart) {
  file_bytes_ = shape().file_bytes;
  head_bytes_ = tail_begin_ = file_bytes_;
  if (order() != nullptr && columnar() != nullptr) {
    const ColumnarFooter& footer = columnar()->footer();
    head_bytes_ = footer.begin();
    tail_begin_ = footer.begin() + footer.size();
  } else if (order() != nullptr) {
    const RecordTable& table = *shape().records;
    head_bytes_ = table.begin(0);
    tail_begin_ = std::min(table.begin(table.count()), file_bytes_);
  }
  head_parts_ = DivideUp(head_bytes_, plain_part_);
  tail_parts_ = DivideUp(TailBytes(), plain_part_);
}

ShuffledFile::Stretch ShuffledFile::stretch() const {
  {
    MutexLock lock(mu_);
    if (stretch_) return *stretch_;
  }
  const Stretch found = FindStretch();
  MutexLock lock(mu_);
  stretch_ = found;
  return found;
}

ShuffledFile::Stretch ShuffledFile::FindStretch() const {
  Stretch found;
  const FamilyTable& table = *family_->table;
  if (order() == nullptr || shape().records->count() == 0) return found;
  if (table.members() == 1 && repeats() == nullptr) {
    found.end = tail_begin_ - head_bytes_;
    found.last_part = order()->part_count();
    if (columnar() != nullptr) {
      found.last_part = DivideUp(found.end, kFooterPart);
    }
    return found;
  }
  const Position first = PositionOf(table.first(member_));
  const Position last = PositionOf(table.first(member_ + 1));
  found.first_part = first.part;
  found.begin = first.byte;
  found.end = last.byte;
  found.last_part = last.part;
  if (last.byte > order()->part_begin(last.part)) ++found.last_part;
  // The record that comes last gives up its line end. Not in a family: the
  // record may be an empty line of another file, of which nothing would be
  // left.
  if (table.members() == 1) found.end -= shape().lent_bytes();
  return found;
}

ShuffledFile::Position ShuffledFile::PositionOf(uint64_t position) const {
  const FamilyTable& table = *family_->table;
  if (position == table.count()) {
    const uint64_t parts = order()->part_count();
    return {parts, repeats() == nullptr ? table.begin(position)
                                        : order()->part_begin(parts)};
  }
  const uint64_t part = order()->PartOf(position);
  Position found{part, order()->part_begin(part)};
  const uint64_t before = position - order()->part_first(part);
  if (before == 0) return found;
  const std::vector<uint64_t> records = order()->Records(part);
  for (uint64_t i = 0; i < before; ++i) found.byte += table.bytes(records[i]);
  return found;
}

uint64_t ShuffledFile::bytes() const {
  if (order() == nullptr) return file_bytes_;
  return head_bytes_ + stretch().bytes() + TailBytes();
}

uint64_t ShuffledFile::part_count() const {
  return head_parts_ + stretch().parts() + tail_parts_;
}

uint64_t ShuffledFile::MiddleBegin(const Stretch& stretch,
                                   uint64_t part) const {
  if (columnar() != nullptr) {
    return std::min(part * kFooterPart, stretch.end);
  }
  // Parts without a record after the last may begin at the line end that it
  // gave up. A part may be shown by two files.
  const uint64_t begin = order()->part_begin(stretch.first_part + part);
  return std::clamp(begin, stretch.begin, stretch.end) - stretch.begin;
}

uint64_t ShuffledFile::part_begin(uint64_t part) const {
  if (part < head_parts_) return part * plain_part_;
  part -= head_parts_;
  const Stretch stretch = this->stretch();
  if (part < stretch.parts()) return head_bytes_ + MiddleBegin(stretch, part);
  part -= stretch.parts();
  return head_bytes_ + stretch.bytes() +
         std::min(part * plain_part_, TailBytes());
}

uint64_t ShuffledFile::PartAt(uint64_t offset) const {
  if (offset < head_bytes_) return offset / plain_part_;
  const Stretch stretch = this->stretch();
  offset -= head_bytes_;
  if (offset < stretch.bytes()) {
    if (columnar() != nullptr) return head_parts_ + offset / kFooterPart;
    return head_parts_ + order()->PartAt(stretch.begin + offset) -
           stretch.first_part;
  }
  return head_parts_ + stretch.parts() +
         (offset - stretch.bytes()) / plain_part_;
}

PartPlan ShuffledFile::PlanPlain(uint64_t from, uint64_t bytes) const {
  PartPlan plan;
  plan.bytes = bytes;
  plan.copies.push_back({from, bytes, 0, member_});
  return plan;
}

PartPlan ShuffledFile::Plan(uint64_t part) const {
  return PlanPart(part, nullptr);
}

PartPlan ShuffledFile::PlanSeams(uint64_t part, const TakeSeam& take) const {
  return PlanPart(part, &take);
}

PartPlan ShuffledFile::PlanPart(uint64_t part, const TakeSeam* take) const {
  if (part < head_parts_) {
    const uint64_t from = part * plain_part_;
    return PlanPlain(from, std::min(plain_part_, head_bytes_ - from));
  }
  part -= head_parts_;
  const Stretch stretch = this->stretch();
  if (part < stretch.parts()) {
    return columnar() == nullptr ? PlanRecords(stretch, part, take)
                                 : PlanFooter(stretch, part);
  }
  const uint64_t from = (part - stretch.parts()) * plain_part_;
  return PlanPlain(tail_begin_ + from,
                   std::min(plain_part_, TailBytes() - from));
}

bool ShuffledFile::is_quick() const {
  if (order() == nullptr) return true;
  if (columnar() == nullptr) return order()->is_quick();
  return shape().records->count() <= kQuickGroups;
}

uint64_t ShuffledFile::AheadEnd(uint64_t offset, uint64_t run) const {
  if (repeats() != nullptr) return EndOfMiniEpochs(offset - 1);
  if (columnar() == nullptr) {
    const uint64_t all = bytes();
    const uint64_t ahead = order() == nullptr ? all : order()->ahead_bytes();
    return std::min(all, offset + std::min(all, ahead));
  }
  // Does not read ahead at once, and never beyond the end of a group, because
  // the next group is elsewhere.
  if (run < 2 * plain_part_) return offset;
  const uint64_t group_end =
      std::max(columnar()->NextBegin(offset - 1), offset);
  return std::min(offset + std::min(run / 2, kColumnarAhead), group_end);
}

uint64_t ShuffledFile::mean_copy_bytes() const {
  if (order() == nullptr || columnar() != nullptr) return plain_part_;
  const FamilyTable& table = *family_->table;
  const uint64_t count = std::max<uint64_t>(table.count(), 1);
  return std::max<uint64_t>(table.begin(table.count()) / count, 1);
}

void ShuffledFile::PlanRun(const PartRecords::Run& run, PartPlan& plan) const {
  const FamilyTable& family = *family_->table;
  std::vector<uint64_t> begins;
  for (uint64_t at = run.first; at < run.last;) {
    const size_t member = family.MemberOf(at);
    const ContainerShape& shape = family.member(member);
    const uint64_t first = at - family.first(member);
    const uint64_t last =
        std::min({run.last - family.first(member), shape.records->count(),
                  first + kBeginsAtOnce});
    begins.resize(last - first + 1);
    shape.records->Begins(first, absl::MakeSpan(begins));
    const size_t copies = plan.copies.size();
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      plan.copies.push_back({begins[i], begins[i + 1] - begins[i], 0, member});
    }
    if (shape.placed != nullptr) {
      shape.placed->Begins(first, absl::MakeSpan(begins));
      for (size_t i = 0; i + 1 < begins.size(); ++i) {
        plan.copies[copies + i].from = begins[i];
      }
    }
    at += last - first;
  }
}

PartPlan ShuffledFile::PlanRecords(const Stretch& stretch, uint64_t part,
                                   const TakeSeam* take) const {
  const uint64_t own = stretch.first_part + part;
  const PartRecords records = order()->RecordsOf(own);
  const std::vector<uint32_t>& positions = records.positions;
  PartPlan plan;
  plan.copies.reserve(positions.size());
  for (const PartRecords::Run& run : records.runs) PlanRun(run, plan);
  // By position: first the sizes of the records, then where they begin.
  std::vector<uint64_t> at(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) {
    at[positions[i]] = plan.copies[i].bytes;
  }
  for (uint64_t& begin : at) {
    plan.bytes += std::exchange(begin, plan.bytes);
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    plan.copies[i].to = at[positions[i]];
  }
  if (take != nullptr) MindSeams(records.runs, *take, plan);
  LendLineEnds(plan);
  // Cuts off what other files show of the part, and the line end that is given
  // up.
  const uint64_t begin = order()->part_begin(own);
  const uint64_t end = begin + plan.bytes;
  if (begin < stretch.begin || end > stretch.end) {
    return Clip(plan, std::max(begin, stretch.begin) - begin,
                std::max(std::min(end, stretch.end), begin) - begin);
  }
  return plan;
}

void ShuffledFile::MindSeams(const std::vector<PartRecords::Run>& runs,
                             const TakeSeam& take, PartPlan& plan) const {
  std::vector<PartCopy> pieces;  // records and kept pieces
  const auto cut = [&](PartCopy piece) {
    absl::optional<std::string> kept = take(piece.from, piece.bytes);
    if (!kept) return pieces.push_back(piece);
    plan.literals.push_back({piece.to, *std::move(kept)});
  };
  uint64_t end = (plan.bytes + kSeamPage - 1) / kSeamPage * kSeamPage;
  const auto keep = [&](uint64_t from, uint64_t to) {
    if (from >= to || to - from > kLongestSeam) return;
    plan.kept.push_back({from, to - from, end, member_});
    end = plan.kept_end = end + (to - from);
  };
  const uint64_t count = shape().records->count();
  uint64_t at = 0;
  for (size_t k = 0; k < runs.size(); ++k) {
    const PartRecords::Run& run = runs[k];
    PartCopy& first = plan.copies[at];
    at += run.size();
    PartCopy& last = plan.copies[at - 1];
    if (run.to == 0) continue;
    // Pieces of this part's own records are not kept.
    const bool joins_before = k > 0 && runs[k - 1].last == run.first;
    const bool joins_next =
        k + 1 < runs.size() && runs[k + 1].first == run.last;
    const uint64_t last_end = last.from + last.bytes;
    if (run.first > 0 && !joins_before) keep(run.from, first.from);
    if (run.last < count && !joins_next) keep(last_end, run.to);
    // The record may do both: begin before the block and end after it.
    if (last_end > run.to && last.from < run.to) {
      const uint64_t own = run.to - last.from;
      cut({run.to, last_end - run.to, last.to + own, last.file});
      last.bytes = own;
    }
    if (first.from < run.from && first.from + first.bytes > run.from) {
      const uint64_t before = run.from - first.from;
      cut({first.from, before, first.to, first.file});
      first = {run.from, first.bytes - before, first.to + before, first.file};
    }
  }
  pieces.insert(pieces.end(), plan.kept.begin(), plan.kept.end());
  if (pieces.empty()) return;
  SortCopies(pieces);
  const auto whole = static_cast<int64_t>(plan.copies.size());
  plan.copies.insert(plan.copies.end(), pieces.begin(), pieces.end());
  std::inplace_merge(plan.copies.begin(), plan.copies.begin() + whole,
                     plan.copies.end(), ComesBefore);
}

// The last record of a file that ends without a line end gets one.
void ShuffledFile::LendLineEnds(PartPlan& plan) const {
  const FamilyTable& family = *family_->table;
  for (PartCopy& copy : plan.copies) {
    const ContainerShape& shape = family.member(copy.file);
    const uint64_t end = copy.from + copy.bytes;
    if (!shape.lacks_newline || end <= shape.file_bytes) continue;
    // Blocks may end between the two bytes of a lent CR LF.
    const uint64_t lent = std::min(copy.bytes, end - shape.file_bytes);
    copy.bytes -= lent;
    const uint64_t to = copy.to + copy.bytes;
    if (shape.line_end == LineEnd::kCrLf) {
      const uint64_t missing = end - lent - shape.file_bytes;
      plan.literals.push_back({to, std::string("\r\n").substr(missing, lent)});
    } else {
      plan.newlines.push_back(to);
    }
  }
  std::erase_if(plan.copies,
                [](const PartCopy& copy) { return copy.bytes == 0; });
}

PartPlan ShuffledFile::PlanFooter(const Stretch& stretch, uint64_t part) const {
  std::vector<uint64_t> groups;
  groups.reserve(shape().records->count());
  for (uint64_t own = 0; own < order()->part_count(); ++own) {
    for (const uint64_t group : order()->Records(own)) groups.push_back(group);
  }
  const uint64_t from = MiddleBegin(stretch, part);
  const uint64_t to = MiddleBegin(stretch, part + 1);
  PartPlan plan;
  plan.bytes = to - from;
  plan.literals.push_back(
      {0, columnar()->footer().ReorderedBytes(
              [&groups](uint64_t at) { return groups[at]; }, from, to)});
  return plan;
}

void SortCopies(std::vector<PartCopy>& copies) {
  std::sort(copies.begin(), copies.end(), ComesBefore);
}

PartPlan Clip(const PartPlan& plan, uint64_t from, uint64_t to) {
  PartPlan clipped;
  clipped.bytes = to - from;
  for (const PartCopy& copy : plan.copies) {
    const uint64_t begin = std::max(copy.to, from);
    const uint64_t end = std::min(copy.to + copy.bytes, to);
    if (begin >= end) continue;
    clipped.copies.push_back(
        {copy.from + (begin - copy.to), end - begin, begin - from, copy.file});
  }
  for (const uint64_t at : plan.newlines) {
    if (at >= from && at < to) clipped.newlines.push_back(at - from);
  }
  for (const PartLiteral& literal : plan.literals) {
    const uint64_t begin = std::max(literal.to, from);
    const uint64_t end = std::min(literal.to + literal.bytes.size(), to);
    if (begin >= end) continue;
    clipped.literals.push_back(
        {begin - from, literal.bytes.substr(begin - literal.to, end - begin)});
  }
  SortCopies(clipped.copies);
  return clipped;
}

}  // namespace shufflefs
