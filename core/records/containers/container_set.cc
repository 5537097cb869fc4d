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
#include "core/base/clock_wait.h"
#include "core/base/exhaustion.h"
#include "core/base/log.h"
#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/catalogue/catalogue.h"

namespace shufflefs {
namespace {

std::string PathInView(const Catalogue& catalogue, DirId root, EntryId file) {
  const std::string path = catalogue.path(file);
  const std::string above = catalogue.path(root);
  return above.empty() ? path : path.substr(above.size() + 1);
}

// Whether an error is one of the source or the machine, not of what is in the
// file: another time it may go well.
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
      only_padded_(options.only_padded) {
  const Catalogue& catalogue = dataset_->catalogue();
  const DirId root = dataset_->root();
  FindLoneIndexes();
  Wishes wishes;
  TableFiles tables(catalogue);
  uint32_t next = catalogue.first_entry(root).value();
  for (const auto& [begin, end] : RangesOf(options.inside)) {
    for (; next < begin; ++next) Consider(EntryId(next), wishes, tables);
    next = std::max(next, end);
  }
  for (; next < catalogue.entries_end(root).value(); ++next) {
    Consider(EntryId(next), wishes, tables);
  }
  if (rules_.options().scope != RecordScope::kFile) Group();
  for (const auto& [place, wished] : wishes) Align(wished);
  NoteUnmatched(wishes);
}

ContainerSet::Ranges ContainerSet::RangesOf(
    const std::vector<std::string>& views) const {
  const Catalogue& catalogue = dataset_->catalogue();
  Ranges ranges;
  for (const std::string& path : views) {
    const absl::optional<EntryId> entry = catalogue.FindPath(path);
    if (!entry || catalogue.kind(*entry) != EntryKind::kDirectory) continue;
    const DirId dir = catalogue.as_dir(*entry);
    ranges.emplace_back(catalogue.first_entry(dir).value(),
                        catalogue.entries_end(dir).value());
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

void ContainerSet::Consider(EntryId file, Wishes& wishes, TableFiles& tables) {
  const Catalogue& catalogue = dataset_->catalogue();
  const absl::optional<RecordFormat> by_name =
      FormatByName(catalogue.name(file));
  absl::optional<PaddedDirs::Padded> padded;
  if (padded_ != nullptr) {
    const auto found = padded_->Find(file);
    if (!found.ok()) {
      const absl::string_view why = found.status().message();
      objections_.push_back({catalogue.path(file), std::string(why)});
      return;
    }
    padded = *found;
  }
  if (!padded && ((!by_name && rules_.empty()) || only_padded_)) return;
  if (catalogue.kind(file) != EntryKind::kFile) return;
  const std::string path = PathInView(catalogue, dataset_->root(), file);
  if (padded) return AddPadded(file, *padded, path, wishes);
  if (absl::optional<AlignRules::Place> place = rules_.align().Match(path)) {
    Wished& wished = wishes[{place->rule, place->paths.front()}];
    wished.files.resize(place->paths.size());
    wished.files[place->slot] = file;
    wished.paths = std::move(place->paths);
    return;
  }
  const absl::optional<RecordFormat> asked = rules_.Asked(path);
  if (!by_name && !asked) return;
  const RecordFormat format = asked ? *asked : *by_name;
  const absl::optional<EntryId> index =
      format == RecordFormat::kTfrecord && !asked ? IndexOf(file)
                                                  : absl::nullopt;
  std::string objection = Objection(file, asked.has_value(), index);
  // Also where the user names it: rows would be taken for others.
  if (objection.empty() && IsColumnar(format)) {
    objection = tables.WhyOf(catalogue.parent(file));
  }
  if (objection.empty()) objection = ScopeObjection(file, format);
  if (!objection.empty()) {
    objections_.push_back({catalogue.path(file), std::move(objection)});
    return;
  }
  Add(file, format, path);
  if (index) SetIndex(*index);
}

void ContainerSet::Add(EntryId file, RecordFormat format,
                       absl::string_view keyed_by) {
  places_[file] = containers_.size();
  Container container;
  container.file = file;
  container.format = format;
  container.key = XXH3_64bits(keyed_by.data(), keyed_by.size());
  containers_.push_back(std::move(container));
}

uint64_t ContainerSet::count() const {
  MutexLock lock(mu_);
  return containers_.size() - none_ - kept_;
}

uint64_t ContainerSet::largest_bytes() const {
  MutexLock lock(mu_);
  uint64_t largest = 0;
  std::map<size_t, uint64_t> families;
  for (const Container& container : containers_) {
    const size_t of = container.alignment;
    uint64_t together = bytes(container.file);
    if (of != kAlone && alignments_[of].is_family) {
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
  MutexLock lock(mu_);
  return containers_[places_.at(file)].key;
}

std::vector<EntryId> ContainerSet::files() const {
  std::vector<EntryId> files;
  for (const auto& [file, place] : places_) files.push_back(file);
  std::sort(files.begin(), files.end());
  return files;
}

bool ContainerSet::IsMixed(EntryId file) const {
  MutexLock lock(mu_);
  const auto found = places_.find(file);
  if (found == places_.end()) return false;  // an index of one
  const size_t alignment = containers_[found->second].alignment;
  return alignment != kAlone && alignments_[alignment].is_family;
}

std::vector<EntryId> ContainerSet::MixedWith(EntryId file) const {
  MutexLock lock(mu_);
  std::vector<EntryId> files;
  const auto found = places_.find(file);
  if (found == places_.end()) return files;
  const size_t alignment = containers_[found->second].alignment;
  if (alignment == kAlone || !alignments_[alignment].is_family) return files;
  for (const size_t member : alignments_[alignment].members) {
    files.push_back(containers_[member].file);
  }
  return files;
}

absl::optional<ContainerShape> ContainerSet::Shape(EntryId file) const {
  MutexLock lock(mu_);
  return containers_[places_.at(file)].shape;
}

absl::Status ContainerSet::Stopped(EntryId file) const {
  return absl::CancelledError(
      absl::StrCat(dataset_->catalogue().path(file), ": indexing was stopped"));
}

void ContainerSet::WhenReady(EntryId file, Ready ready) {
  absl::Status status;
  {
    MutexLock lock(mu_);
    const size_t place = places_.at(file);
    Container& container = containers_[place];
    if (!container.shape && !stopped_) {
      if (container.alignment != kAlone) {
        for (const size_t each : alignments_[container.alignment].members) {
          if (!containers_[each].begun) wanted_.push_back(each);
        }
      } else if (!container.begun) {
        wanted_.push_back(place);
      }
      container.waiters.push_back(std::move(ready));
      return;
    }
    if (!container.shape) status = Stopped(file);
  }
  ready(status);
}

ContainerSet::Container* ContainerSet::TakeNext() {
  MutexLock lock(mu_);
  for (;;) {
    size_t place = next_;
    if (!wanted_.empty()) {
      place = wanted_.front();
      wanted_.pop_front();
    } else if (next_ < containers_.size()) {
      ++next_;
    } else {
      return nullptr;
    }
    Container& container = containers_[place];
    if (container.begun) continue;
    container.begun = true;
    return &container;
  }
}

void ContainerSet::Stop() {
  std::vector<std::pair<EntryId, Ready>> waiters;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    for (Container& container : containers_) {
      for (Ready& ready : container.waiters) {
        waiters.emplace_back(container.file, std::move(ready));
      }
      container.waiters.clear();
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
      Container* const next = TakeNext();
      if (next == nullptr || options.stop.stop_requested()) return false;
      IndexRequest request = RequestFor(*next, options);
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
      if (!shape.ok() && TriesAgain(*next, shape.status())) {
        done -= read;
        continue;
      }
      if (read < request.expected.size) note(request.expected.size - read);
      Settle(*next, std::move(shape), read);
    }
    return true;
  });
}

bool ContainerSet::TriesAgain(Container& container, const absl::Status& error) {
  if (!MayPass(error)) return false;
  MutexLock lock(mu_);
  if (++container.tries >= kMostTries) return false;
  again_.push_back(places_.at(container.file));
  Log(LogLevel::kWarning,
      absl::StrCat(dataset_->catalogue().path(container.file), ": ",
                   error.message(), "; its records are looked for again"));
  return true;
}

uint64_t ContainerSet::TakeAgain() {
  MutexLock lock(mu_);
  const uint64_t count = again_.size();
  for (const size_t place : again_) {
    containers_[place].begun = false;
    wanted_.push_back(place);
  }
  again_.clear();
  return count;
}

IndexRequest ContainerSet::RequestFor(const Container& container,
                                      const IndexOptions& options) const {
  const Catalogue& catalogue = dataset_->catalogue();
  IndexRequest request;
  request.path = catalogue.path(container.file);
  request.expected = catalogue.attributes(container.file);
  request.format = container.format;
  request.options = &rules_.options();
  request.wants_head_hash = container.alignment != kAlone;
  request.padded = container.padded;
  if (container.index) {
    request.index =
        IndexCompanion{catalogue.path(*container.index),
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

void ContainerSet::Settle(Container& container,
                          absl::StatusOr<ContainerShape> shape, uint64_t read) {
  {
    MutexLock lock(mu_);
    container.read = read;
  }
  if (container.alignment != kAlone) {
    SettleAligned(container, std::move(shape));
  } else {
    Publish(container, std::move(shape));
  }
}

void ContainerSet::Publish(Container& container,
                           absl::StatusOr<ContainerShape> shape) {
  const Catalogue& catalogue = dataset_->catalogue();
  if (!shape.ok()) {
    Log(LogLevel::kWarning,
        absl::StrCat(catalogue.path(container.file),
                     ": shown as it is: ", shape.status().message()));
  }
  std::vector<Ready> waiters;
  {
    MutexLock lock(mu_);
    container.shape.emplace();
    if (shape.ok()) {
      container.shape = *std::move(shape);
      container.shape->keeps_order = container.keeps_order;
    } else {
      container.shape->file_bytes = catalogue.attributes(container.file).size;
      const absl::string_view why = shape.status().message();
      ++none_;
      if (container.keeps_order) --kept_;
      container.why_not.assign(why.data(), why.size());
    }
    waiters.swap(container.waiters);
  }
  for (const Ready& ready : waiters) ready(absl::OkStatus());
}

}  // namespace shufflefs
