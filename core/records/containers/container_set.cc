// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/container_set.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/exhaustion.h"
#include "core/base/interruptible_sleep.h"
#include "core/base/log.h"
#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/catalogue/catalogue.h"
#include "core/formats/table/formats.h"

namespace shufflefs {
namespace {

// Of a larger file that is no container the rows are not counted.
constexpr uint64_t kMostRowBytes = uint64_t{64} << 20;

// Files with a single group of rows each.
struct Unmixed {
  uint64_t files = 0;
  std::string first;
};

std::string WarningOf(const RecordFormat& format, const Unmixed& unmixed) {
  const std::string which =
      unmixed.files == 1 ? absl::StrCat(unmixed.first, " has")
                         : absl::StrCat(unmixed.files, " files, the first ",
                                        unmixed.first, ", have");
  return absl::StrCat(
      which, " one ", format.unit(), unmixed.files == 1 ? "" : " each",
      ", and nothing in it moves: write smaller ", format.units());
}

std::string UnmatchedWarning(absl::string_view rule) {
  return absl::StrCat("record.as: ", rule,
                      " decides no file: none matches, or an earlier rule "
                      "does; correct its pattern");
}

// Returns whether an error is one of the source or the machine, not of the
// file's content, so that another try may succeed.
bool MayPass(const absl::Status& error) {
  const absl::optional<int> code = ErrnoOf(error);
  return code && *code != ESTALE && *code != EACCES && *code != EPERM;
}

}  // namespace

ContainerSet::ContainerSet(std::shared_ptr<const Dataset> dataset,
                           RecordRules rules,
                           const ContainerSetOptions& options)
    : dataset_(std::move(dataset)),
      rules_(std::move(rules)),
      padded_(options.padded),
      found_(FindContainers(*dataset_, rules_, options)),
      states_(found_.containers.size()) {
  for (size_t place = 0; place < found_.containers.size(); ++place) {
    const FoundContainer& container = At(place);
    places_[container.file] = place;
    if (container.index) indexes_[*container.index] = container.file;
    if (container.keeps_order) ++kept_;
  }
}

uint64_t ContainerSet::count() const {
  MutexLock lock(mu_);
  return states_.size() - none_ - kept_;
}

uint64_t ContainerSet::largest_bytes() const {
  uint64_t largest = 0;
  std::map<size_t, uint64_t> families;
  for (const FoundContainer& container : found_.containers) {
    const size_t of = container.group;
    uint64_t together = bytes(container.file);
    if (of != FoundContainer::kAlone &&
        found_.groups[of].kind == ContainerGroup::Kind::kFamily) {
      together = families[of] += together;
    }
    largest = std::max(largest, together);
  }
  return largest;
}

uint64_t ContainerSet::total_bytes() const {
  uint64_t total = 0;
  for (const auto& [file, place] : places_) total += bytes(file);
  return total;
}

uint64_t ContainerSet::key(EntryId file) const {
  return At(places_.at(file)).key;
}

std::vector<EntryId> ContainerSet::files() const {
  std::vector<EntryId> files;
  for (const auto& [file, place] : places_) files.push_back(file);
  std::sort(files.begin(), files.end());
  return files;
}

const ContainerGroup* ContainerSet::FamilyOf(EntryId file) const {
  const auto found = places_.find(file);
  if (found == places_.end()) return nullptr;  // the file is an index
  const size_t group = At(found->second).group;
  return group == FoundContainer::kAlone ||
                 found_.groups[group].kind != ContainerGroup::Kind::kFamily
             ? nullptr
             : &found_.groups[group];
}

bool ContainerSet::HasAligned() const {
  return std::any_of(found_.groups.begin(), found_.groups.end(),
                     [this](const ContainerGroup& group) {
                       return group.kind == ContainerGroup::Kind::kAligned &&
                              !group.members.empty() &&
                              IsShuffled(At(group.members.front()).file);
                     });
}

bool ContainerSet::IsMixed(EntryId file) const {
  return FamilyOf(file) != nullptr;
}

std::vector<EntryId> ContainerSet::MixedWith(EntryId file) const {
  std::vector<EntryId> files;
  const ContainerGroup* const family = FamilyOf(file);
  if (family == nullptr) return files;
  for (const size_t member : family->members) {
    files.push_back(At(member).file);
  }
  return files;
}

absl::optional<EntryId> ContainerSet::IndexedBy(EntryId file) const {
  const auto found = indexes_.find(file);
  if (found == indexes_.end()) return absl::nullopt;
  return found->second;
}

bool ContainerSet::IsShuffled(EntryId file) const {
  return !At(places_.at(file)).keeps_order;
}

ContainerSet::Shown ContainerSet::ShownBytes(EntryId file) const {
  const absl::optional<EntryId> container = IndexedBy(file);
  const size_t place = places_.at(container.value_or(file));
  const AlignedFile* const padded = At(place).padded;
  MutexLock lock(mu_);
  const absl::optional<ContainerShape>& shape = states_[place].shape;
  if (container) {
    // Until the container and the size of its lines are known: the source's
    // size. The lines need at least that.
    if (!shape || !shape->index) return {bytes(file), shape.has_value()};
    return {shape->index->bytes, true};
  }
  if (padded == nullptr) return {bytes(file), true};
  if (shape) return {shape->file_bytes, true};
  return {padded->stripped_bytes, false};
}

absl::optional<ContainerShape> ContainerSet::Shape(EntryId file) const {
  MutexLock lock(mu_);
  return states_[places_.at(file)].shape;
}

absl::Status ContainerSet::Stopped(EntryId file) const {
  return absl::CancelledError(
      absl::StrCat(dataset_->catalogue().path(file), ": indexing was stopped"));
}

void ContainerSet::WhenReady(EntryId file, Ready ready) {
  const size_t place = places_.at(file);
  const size_t group = At(place).group;
  absl::Status status;
  {
    MutexLock lock(mu_);
    State& state = states_[place];
    if (!state.shape && !stopped_) {
      if (group == FoundContainer::kAlone) {
        Want(place);
      } else if (state.waiters.empty()) {  // otherwise all are wanted
        for (const size_t each : found_.groups[group].members) Want(each);
      }
      state.waiters.push_back(std::move(ready));
      return;
    }
    if (!state.shape) status = Stopped(file);
  }
  ready(status);
}

void ContainerSet::Want(size_t place) {
  State& state = states_[place];
  if (state.begun || std::exchange(state.wanted, true)) return;
  wanted_.push_back(place);
}

size_t ContainerSet::TakeNext() {
  MutexLock lock(mu_);
  for (;;) {
    size_t place = next_;
    if (!wanted_.empty()) {
      place = wanted_.front();
      wanted_.pop_front();
      states_[place].wanted = false;
    } else if (next_ < states_.size()) {
      ++next_;
    } else {
      return kNone;
    }
    if (std::exchange(states_[place].begun, true)) continue;
    return place;
  }
}

void ContainerSet::Stop() {
  std::vector<std::pair<EntryId, Ready>> waiters;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    for (size_t place = 0; place < states_.size(); ++place) {
      for (Ready& ready : states_[place].waiters) {
        waiters.emplace_back(At(place).file, std::move(ready));
      }
      states_[place].waiters.clear();
    }
  }
  for (const auto& [file, ready] : waiters) ready(Stopped(file));
}

void ContainerSet::Index(const SourceDir& source, const IndexOptions& options) {
  std::atomic<uint64_t> done{0};
  uint64_t count = places_.size();
  for (auto wait = options.retry; count > 0; wait *= 2) {
    IndexNext(source, options, count, done);
    count = TakeAgain();
    if (count > 0) WaitUnlessStopped(options.stop, wait);
    if (options.stop.stop_requested()) return Stop();
  }
}

void ContainerSet::IndexNext(const SourceDir& source,
                             const IndexOptions& options, uint64_t count,
                             std::atomic<uint64_t>& done) {
  const uint64_t all = total_bytes();
  const auto note = [&](uint64_t bytes) {
    const uint64_t so_far = done.fetch_add(bytes) + bytes;
    if (options.progress) options.progress(so_far, all);
  };
  ParallelOptions parallel;
  parallel.chunk = 1;
  parallel.name = "records";
  ParallelFor(count, parallel, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const size_t next = TakeNext();
      if (next == kNone || options.stop.stop_requested()) return false;
      IndexRequest request = RequestFor(next, options);
      uint64_t read = 0;
      request.progress = [&](uint64_t bytes) {
        read += bytes;
        note(bytes);
        return !options.stop.stop_requested();
      };
      if (request.index) {
        request.index->goes_on = [&] { return !options.stop.stop_requested(); };
      }
      absl::StatusOr<ContainerShape> shape = OrExhausted(
          "its index", [&] { return options.find(source, request); });
      if (absl::IsCancelled(shape.status())) return false;
      if (!shape.ok() && TriesAgain(next, shape.status())) {
        done -= read;
        continue;
      }
      if (read < request.expected.size) note(request.expected.size - read);
      Settle(next, std::move(shape), read,
             [&](size_t number) { return RowsOf(number, source, options); });
    }
    return true;
  });
}

bool ContainerSet::TriesAgain(size_t place, const absl::Status& error) {
  if (!MayPass(error)) return false;
  MutexLock lock(mu_);
  if (++states_[place].tries >= kMostTries) return false;
  again_.push_back(place);
  Log(LogLevel::kWarning,
      absl::StrCat(dataset_->catalogue().path(At(place).file), ": ",
                   error.message(), "; its records are searched for again"));
  return true;
}

uint64_t ContainerSet::TakeAgain() {
  MutexLock lock(mu_);
  const uint64_t count = again_.size();
  for (const size_t place : again_) {
    states_[place].begun = false;
    wanted_.push_back(place);
  }
  again_.clear();
  return count;
}

IndexRequest ContainerSet::RequestFor(size_t place,
                                      const IndexOptions& options) const {
  const FoundContainer& container = At(place);
  const Catalogue& catalogue = dataset_->catalogue();
  IndexRequest request;
  request.path = catalogue.path(container.file);
  request.expected = catalogue.attributes(container.file);
  request.format = container.format;
  request.options = &rules_.OptionsOf(
      PathInView(catalogue, dataset_->root(), container.file));
  request.may_mix = FamilyOf(container.file) != nullptr;
  request.wants_head_hash = request.may_mix;
  request.padded = container.padded;
  if (container.index) {
    request.index =
        SidecarIndex{catalogue.path(*container.index),
                     catalogue.attributes(*container.index), nullptr};
  }
  request.not_saved = options.not_saved;
  if (options.saved.has_value()) {
    request.saved = FilePlace(
        *options.saved,
        absl::StrFormat("%016x",
                        XXH3_64bits(request.path.data(), request.path.size())));
  }
  return request;
}

absl::StatusOr<ContainerShape> ContainerSet::RowsOf(
    size_t number, const SourceDir& source, const IndexOptions& options) const {
  IndexRequest request = RequestFor(number, options);
  request.saved = FilePlace();
  request.may_mix = true;  // it need not end with a line end
  request.progress = [&](uint64_t) { return !options.stop.stop_requested(); };
  if (request.expected.size > kMostRowBytes) {
    return absl::FailedPreconditionError("it is too large to count its rows");
  }
  return OrExhausted("its index",
                     [&] { return options.find(source, request); });
}

void ContainerSet::Settle(size_t place, absl::StatusOr<ContainerShape> shape,
                          uint64_t read, const FindRows& rows) {
  {
    MutexLock lock(mu_);
    states_[place].read = read;
  }
  if (At(place).group != FoundContainer::kAlone) {
    SettleInGroup(place, std::move(shape), rows);
  } else {
    Publish(place, std::move(shape));
  }
}

void ContainerSet::SettleInGroup(size_t place,
                                 absl::StatusOr<ContainerShape> shape,
                                 const FindRows& rows) {
  const size_t number = At(place).group;
  const ContainerGroup& group = found_.groups[number];
  MemberShapes joined;
  {
    MutexLock lock(mu_);
    MemberShapes& known = joining_[number];
    known.emplace(place, std::move(shape));
    if (known.size() < group.members.size()) return;
    joined = std::move(known);
    joining_.erase(number);
  }
  for (const auto& [beside, format] : group.beside) {
    const auto& found = joined.emplace(beside, rows(beside)).first->second;
    if (absl::IsCancelled(found.status())) return;
  }
  std::string warning = JoinGroup(
      group, rules_.options().scope, dataset_->catalogue(),
      [this](size_t member) { return At(member).file; }, joined);
  if (!warning.empty()) {
    MutexLock lock(mu_);
    unmixed_[number] = std::move(warning);
  }
  for (const size_t member : group.members) {
    Publish(member, std::move(joined.at(member)));
  }
}

void ContainerSet::Publish(size_t place, absl::StatusOr<ContainerShape> shape) {
  const Catalogue& catalogue = dataset_->catalogue();
  const FoundContainer& container = At(place);
  if (!shape.ok()) {
    Log(LogLevel::kWarning,
        absl::StrCat(catalogue.path(container.file),
                     ": shown as it is: ", shape.status().message()));
  }
  std::vector<Ready> waiters;
  {
    MutexLock lock(mu_);
    State& state = states_[place];
    state.shape.emplace();
    if (shape.ok()) {
      state.shape = *std::move(shape);
      state.shape->keeps_order = container.keeps_order;
    } else {
      state.shape->file_bytes = catalogue.attributes(container.file).size;
      const absl::string_view why = shape.status().message();
      ++none_;
      if (container.keeps_order) --kept_;
      state.why_not.assign(why.data(), why.size());
    }
    waiters.swap(state.waiters);
  }
  for (const Ready& ready : waiters) ready(absl::OkStatus());
}

ContainerReport ContainerSet::Report() const {
  ContainerReport report;
  report.untouched = found_.untouched;
  std::map<const RecordFormat*, Unmixed> unmixed;
  MutexLock lock(mu_);
  for (size_t place = 0; place < states_.size(); ++place) {
    const FoundContainer& container = At(place);
    const State& state = states_[place];
    if (!state.why_not.empty()) {
      report.untouched.push_back(
          {dataset_->catalogue().path(container.file), state.why_not});
      continue;
    }
    if (container.padded != nullptr) ++report.padded;
    if (container.keeps_order) continue;
    ++report.containers;
    if (!state.shape || state.shape->records == nullptr) continue;
    ++report.indexed;
    if (state.read > 0) ++report.read_through;
    report.records += state.shape->records->count();
    report.index_bytes += state.shape->records->memory_bytes();
    if (state.shape->placed != nullptr) {
      report.index_bytes += state.shape->placed->memory_bytes();
    }
    if (state.shape->columnar != nullptr) {
      report.index_bytes += state.shape->columnar->memory_bytes();
    }
    ++report.levels[std::string(container.format->units())];
    if (container.format->is_columnar() && state.shape->records->count() == 1) {
      Unmixed& one = unmixed[container.format];
      if (one.files++ == 0) {
        one.first = dataset_->catalogue().path(container.file);
      }
    }
  }
  if (!found_.parted.empty()) report.warnings.push_back(found_.parted);
  for (const std::string& rule : found_.unmatched) {
    report.warnings.push_back(UnmatchedWarning(rule));
  }
  for (const auto& [group, warning] : unmixed_) {
    report.warnings.push_back(warning);
  }
  for (const RecordFormat* format : RecordFormats()) {
    const auto found = unmixed.find(format);
    if (found == unmixed.end()) continue;
    report.warnings.push_back(WarningOf(*format, found->second));
  }
  return report;
}

}  // namespace shufflefs
