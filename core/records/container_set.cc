// SPDX-License-Identifier: Apache-2.0
#include "core/records/container_set.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/catalogue.h"
#include "core/log.h"
#include "core/parallel.h"
#include "core/status.h"

namespace shufflefs {
namespace {

std::string PathInView(const Catalogue& catalogue, DirId root, EntryId file) {
  const std::string path = catalogue.path(file);
  const std::string above = catalogue.path(root);
  return above.empty() ? path : path.substr(above.size() + 1);
}

// Files that have one group of rows each.
struct Unmixed {
  uint64_t files = 0;
  std::string first;
};

std::string WarningOf(RecordFormat format, const Unmixed& unmixed) {
  const bool parquet = format == RecordFormat::kParquet;
  const char* group = parquet ? "row group" : "record batch";
  const std::string which =
      unmixed.files == 1 ? absl::StrCat(unmixed.first, " has")
                         : absl::StrCat(unmixed.files, " files, the first ",
                                        unmixed.first, ", have");
  return absl::StrCat(which, " one ", group, unmixed.files == 1 ? "" : " each",
                      ", and nothing in it moves: write smaller ",
                      parquet ? "row groups" : "record batches");
}

}  // namespace

ContainerSet::ContainerSet(std::shared_ptr<const Dataset> dataset,
                           RecordRules rules, RecordScope scope)
    : dataset_(std::move(dataset)), rules_(std::move(rules)) {
  const Catalogue& catalogue = dataset_->catalogue();
  const DirId root = dataset_->root();
  Wishes wishes;
  TableFiles tables(catalogue);
  for (uint32_t e = catalogue.first_entry(root).value();
       e < catalogue.entries_end(root).value(); ++e) {
    Consider(EntryId(e), wishes, tables);
  }
  if (scope != RecordScope::kFile) Group(scope);
  for (const auto& [place, wished] : wishes) Align(wished);
  NoteUnmatched(wishes);
}

void ContainerSet::Consider(EntryId file, Wishes& wishes, TableFiles& tables) {
  const Catalogue& catalogue = dataset_->catalogue();
  const absl::optional<RecordFormat> by_name =
      FormatByName(catalogue.name(file));
  if (!by_name && rules_.empty()) return;
  if (catalogue.kind(file) != EntryKind::kFile) return;
  const std::string path = PathInView(catalogue, dataset_->root(), file);
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
  std::string objection = Objection(file, asked.has_value());
  // Also where the user names it: rows would be taken for others.
  if (objection.empty() && IsColumnar(format)) {
    objection = tables.WhyOf(catalogue.parent(file));
  }
  if (!objection.empty()) {
    objections_.push_back({catalogue.path(file), std::move(objection)});
    return;
  }
  Add(file, asked ? *asked : *by_name, path);
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

std::string ContainerSet::Objection(EntryId file, bool asked) const {
  const Catalogue& catalogue = dataset_->catalogue();
  const Grouping& grouping = dataset_->grouping();
  const absl::optional<Grouping::Place> place = grouping.place(file);
  if (!place) return "it is in a split, hidden, empty, or cannot be read";
  if (grouping.moves()) return "names move, and it with them";
  if (grouping.group(place->group).columns > 1 && !asked) {
    return "it has a companion, a file of the same stem";
  }
  if (asked) return "";
  const DirId dir = catalogue.parent(file);
  const std::string name(catalogue.name(file));
  // Those of another stem are found where pairs are not looked for, too.
  const std::string stem = name.substr(0, name.rfind('.'));
  for (const std::string& companion :
       {name + ".idx", name + ".index", stem + ".idx", stem + ".index",
        std::string("index.json")}) {
    if (catalogue.Find(dir, companion)) {
      return absl::StrCat("it has a companion, ", companion);
    }
  }
  return "";
}

uint64_t ContainerSet::count() const {
  MutexLock lock(mu_);
  return containers_.size() - none_;
}

uint64_t ContainerSet::largest_bytes() const {
  uint64_t largest = 0;
  for (const auto& [file, place] : places_) {
    largest = std::max(largest, bytes(file));
  }
  return largest;
}

uint64_t ContainerSet::key(EntryId file) const {
  MutexLock lock(mu_);
  return containers_[places_.at(file)].key;
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
  uint64_t all = 0;
  for (const auto& [file, place] : places_) all += bytes(file);
  std::atomic<uint64_t> done{0};
  const auto note = [&](uint64_t bytes) {
    const uint64_t so_far = done.fetch_add(bytes) + bytes;
    if (options.progress) options.progress(so_far, all);
    return !options.stop.stop_requested();
  };
  ParallelOptions parallel;
  parallel.chunk = 1;
  parallel.name = "records";
  ParallelFor(places_.size(), parallel, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      Container* const next = TakeNext();
      if (next == nullptr || options.stop.stop_requested()) return false;
      IndexRequest request = RequestFor(*next, options);
      request.progress = note;
      absl::StatusOr<ContainerShape> shape = IndexContainer(source, request);
      if (absl::IsCancelled(shape.status())) return false;
      Settle(*next, std::move(shape));
    }
    return true;
  });
  if (options.stop.stop_requested()) Stop();
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
  if (!options.saved.empty()) {
    request.saved =
        absl::StrFormat("%s/%016x", options.saved,
                        XXH3_64bits(request.path.data(), request.path.size()));
  }
  return request;
}

void ContainerSet::Settle(Container& container,
                          absl::StatusOr<ContainerShape> shape) {
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
    } else {
      container.shape->file_bytes = catalogue.attributes(container.file).size;
      const absl::string_view why = shape.status().message();
      ++none_;
      container.why_not.assign(why.data(), why.size());
    }
    waiters.swap(container.waiters);
  }
  for (const Ready& ready : waiters) ready(absl::OkStatus());
}

ContainerReport ContainerSet::Report() const {
  ContainerReport report;
  report.untouched = objections_;
  std::map<RecordFormat, Unmixed> unmixed;
  MutexLock lock(mu_);
  for (const Container& container : containers_) {
    if (!container.why_not.empty()) {
      report.untouched.push_back(
          {dataset_->catalogue().path(container.file), container.why_not});
      continue;
    }
    ++report.containers;
    if (!container.shape || container.shape->records == nullptr) continue;
    ++report.indexed;
    report.records += container.shape->records->count();
    report.index_bytes += container.shape->records->memory_bytes();
    if (container.shape->columnar != nullptr) {
      report.index_bytes += container.shape->columnar->memory_bytes();
    }
    const absl::string_view level = RecordLevelName(container.format);
    ++report.levels[std::string(level)];
    if (IsColumnar(container.format) &&
        container.shape->records->count() == 1) {
      Unmixed& one = unmixed[container.format];
      if (one.files++ == 0) {
        one.first = dataset_->catalogue().path(container.file);
      }
    }
  }
  for (const auto& [format, files] : unmixed) {
    report.warnings.push_back(WarningOf(format, files));
  }
  return report;
}

}  // namespace shufflefs
