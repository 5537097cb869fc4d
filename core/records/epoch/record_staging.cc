// SPDX-License-Identifier: Apache-2.0
#include "core/records/epoch/record_staging.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/io/file_reader.h"
#include "core/records/order/repeat_order.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {
namespace {

// Files that are read at a time. With more, the tier would hold little of each.
constexpr size_t kMostPlaces = 64;

// This many reads of other files, of about 100 KiB each.
constexpr uint64_t kLongUnread = 1 << 14;

// After this many successive reads of an earlier mini-epoch, readers are back
// there.
constexpr uint32_t kBehind = 16;

// Range size in a file that is wanted as a whole: as much as one read brings.
constexpr uint64_t kWholeRange = uint64_t{1} << 20;
// The set of all these files.
constexpr uint64_t kWholeSet = 0;

// A mini-epoch that comes less often in an epoch is not worth copying. This
// happens if the epoch begins or ends in the middle of it.
constexpr double kTimesWorthIt = 1.5;

}  // namespace

void RecordStaging::NoteRead(const std::shared_ptr<const RecordFile>& file,
                             uint64_t begin, uint64_t end) {
  const ShuffledFile* const content = file->content->repeating();
  if (content == nullptr) return;
  // A reader of the head reads the first mini-epoch next.
  const ShuffledFile::OrderParts shown = content->ShownParts();
  if (shown.first == shown.last) return;
  const uint64_t part = content->OrderPartAt(begin).value_or(
      begin == 0 ? shown.first : shown.last - 1);
  const RepeatOrder& order = *content->repeats();
  // With few blocks it comes once per epoch.
  if (order.mini_epochs() == 1) return;
  Place now{file, content, order.MiniEpochOf(part), order.RepetitionOf(part)};
  now.ended = end >= content->bytes();
  {
    MutexLock lock(mu_);
    if (!Note(std::move(now), begin) || !Renew()) return;
  }
  if (options_.changed) options_.changed();
}

bool RecordStaging::Note(Place now, uint64_t begin) {
  const auto known = std::find_if(
      places_.begin(), places_.end(),
      [&now](const Place& place) { return place.file->id == now.file->id; });
  now.seen = ++reads_;
  if (known == places_.end()) {
    ForgetDone();
    places_.insert(places_.begin(), std::move(now));
    return true;
  }
  // Reads may come out of order, or from a slower reader.
  if (begin > 0 && now.mini < known->mini && known->behind < kBehind) {
    now.behind = known->behind + 1;
    now.mini = known->mini;
    now.repetition = known->repetition;
  }
  now.ended |= known->ended && begin > 0;
  const bool news = known->mini != now.mini;
  places_.erase(known);
  places_.insert(places_.begin(), std::move(now));
  return news;
}

void RecordStaging::NoteClosed(EntryId file) {
  MutexLock lock(mu_);
  for (Place& place : places_) place.closed |= place.file->file == file;
}

void RecordStaging::ForgetDone() {
  const uint64_t reads = reads_;
  std::erase_if(places_, [reads](const Place& place) {
    return place.ended || place.closed || reads - place.seen > kLongUnread;
  });
  if (places_.size() == kMostPlaces) places_.pop_back();
}

uint64_t RecordStaging::SetOf(const Place& place, uint64_t mini) {
  const RepeatOrder* const order = place.content->repeats();
  for (const Set& set : sets_) {
    if (set.order == order && set.mini == mini) return set.number;
  }
  sets_.push_back({++last_set_, place.file, order, mini});
  return last_set_;
}

bool RecordStaging::IsWorthIt(const Place& place, uint64_t mini) const {
  const RepeatOrder& order = *place.content->repeats();
  if (mini >= order.mini_epochs()) return false;
  const ShuffledFile::OrderParts shown = place.content->ShownParts();
  // For a family, counts what all its files together show.
  if (place.file->family != nullptr) {
    return order.TimesShown(mini, 0, order.part_count()) >= kTimesWorthIt &&
           order.MiniEpochOf(shown.last - 1) >= mini;
  }
  return order.TimesShown(mini, shown.first, shown.last) >= kTimesWorthIt;
}

bool RecordStaging::Renew() {
  std::vector<uint64_t> wanted;
  const auto add = [&wanted](uint64_t set) {
    if (std::find(wanted.begin(), wanted.end(), set) == wanted.end()) {
      wanted.push_back(set);
    }
  };
  read_now_ = 1;
  for (const uint64_t next : {0, 1}) {
    if (next == 1) read_now_ = std::max<size_t>(wanted.size(), 1);
    for (const Place& place : places_) {
      if (IsWorthIt(place, place.mini + next)) {
        add(SetOf(place, place.mini + next));
      }
    }
  }
  const auto unwanted = [&wanted](uint64_t set) {
    return std::find(wanted.begin(), wanted.end(), set) == wanted.end();
  };
  std::erase_if(sets_, [&](const Set& set) { return unwanted(set.number); });
  std::erase_if(ready_, unwanted);
  if (wanted == wanted_) return false;
  wanted_ = std::move(wanted);
  return true;
}

std::vector<uint64_t> RecordStaging::WantedSets() const {
  if (!options_.whole.empty()) return {kWholeSet};
  MutexLock lock(mu_);
  return wanted_;
}

size_t RecordStaging::ReadNow() const {
  MutexLock lock(mu_);
  return read_now_;
}

std::vector<StagedRange> RecordStaging::WholeFiles() const {
  std::vector<StagedRange> ranges;
  for (const EntryId file : options_.whole) {
    const uint64_t size = catalogue_->attributes(file).size;
    for (uint64_t at = 0; at < size; at += kWholeRange) {
      ranges.push_back({file, at, std::min(kWholeRange, size - at)});
    }
  }
  return ranges;
}

std::vector<StagedRange> RecordStaging::RangesOf(uint64_t number) const {
  if (number == kWholeSet) return WholeFiles();
  Set set;
  {
    MutexLock lock(mu_);
    const auto found = std::find_if(
        sets_.begin(), sets_.end(),
        [number](const Set& each) { return each.number == number; });
    if (found == sets_.end()) return {};
    set = *found;
  }
  const ShuffledFile& content = *set.file->content->repeating();
  std::vector<StagedRange> ranges;
  for (const PartRecords::Run& run : set.order->RunsOf(set.mini)) {
    for (const PartCopy& place : content.PlacesOf(run)) {
      const EntryId file = set.file->source(place.file);
      const uint64_t size = catalogue_->attributes(file).size;
      const uint64_t from = RoundDown(place.from);
      const uint64_t end = std::min(
          RoundDown(place.from + place.bytes + kReadAlignment - 1), size);
      if (end > from) ranges.push_back({file, from, end - from});
    }
  }
  return ranges;
}

void RecordStaging::SetReady(uint64_t set) {
  MutexLock lock(mu_);
  if (set == kWholeSet ||
      std::find(wanted_.begin(), wanted_.end(), set) != wanted_.end()) {
    ready_.insert(set);
  }
}

MiniEpochStatus RecordStaging::status() const {
  MiniEpochStatus status;
  MutexLock lock(mu_);
  if (places_.empty()) {
    status.why = options_.whole.empty() ? "1: nothing is read that repeats"
                                        : "1: all containers fit into the tier";
    status.ready = ready_.contains(kWholeSet);
    return status;
  }
  const Place& place = places_.front();
  const RepeatOrder& order = *place.content->repeats();
  status.pass = order.options().pass;
  status.mini_epoch = place.mini;
  status.mini_epochs = order.mini_epochs();
  status.repetition = place.repetition + 1;
  status.factor = order.options().factor;
  status.why =
      absl::StrCat(status.factor, ", as ", options_.repeats_by, " says");
  for (const Set& set : sets_) {
    if (set.order == &order && set.mini == place.mini) {
      status.ready = ready_.contains(set.number);
    }
  }
  return status;
}

}  // namespace shufflefs
