// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/sampler_prefetcher.h"

#include <algorithm>
#include <utility>

#include "core/base/interruptible_sleep.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/io/file_reader.h"

namespace shufflefs {
namespace {

constexpr size_t kMostBegun = 1 << 16;  // that wait in the queue
// First reads are taken up together. To wake a thread for each would cost more
// than the read.
constexpr std::chrono::milliseconds kTogether{4};
constexpr uint64_t kFirstWindow = 32;  // files
// This many files ahead keep any device busy whose reads need no order. Little
// is lost if an epoch stops early.
constexpr uint64_t kWindow = 256;
// For a device that seeks: with more files it seeks less. But half of them are
// lost if an epoch stops early.
constexpr uint64_t kWindowShare = 4;  // 1 / kWindowShare of all files
// Reads that such a device gets at a time, of those that wait.
constexpr uint64_t kQueued = 40;
constexpr uint64_t kQuiet = 500;         // rounds; then nobody reads
constexpr uint64_t kLookForMemory = 16;  // rounds
// After so many opens without a read the kernel seems to have all files that
// were read. To ask it about each would cost more than it saves, so it is asked
// about one in kAskedOf, until it lacks one.
constexpr uint64_t kAllCached = 512;
constexpr uint64_t kAskedOf = 16;

// The memory of jobs, without the prefetched files: enough for two jobs over
// all files and some smaller ones. At most a quarter of the guarantee. Whole
// pages, as the pool counts them.
uint64_t JobBytes(const SamplerPrefetcher::Parts& parts) {
  const uint64_t files = parts.dataset->catalogue().file_count();
  return std::min(
      {RoundDown(parts.memory.guarantee / 4, Arena::kPage),
       RoundDown(parts.memory.guarantee - SamplerPrefetcher::kLeastMemory,
                 Arena::kPage),
       Arena::Footprint(3 * files * FollowedJob::kBytesPerFile)});
}

}  // namespace

absl::StatusOr<std::shared_ptr<SamplerPrefetcher>> SamplerPrefetcher::Make(
    Parts parts) {
  RETURN_IF_ERROR(parts.memory.CheckLeast(kLeastMemory));
  PrefetchedFiles::Parts files;
  files.catalogue = parts.dataset->shared_catalogue();
  files.source = std::move(parts.source);
  files.memory = parts.memory;
  ASSIGN_OR_RETURN(std::unique_ptr<PoolShare> of_jobs,
                   files.memory.Reserve(JobBytes(parts)));
  files.stall = parts.stall;
  ASSIGN_OR_RETURN(std::shared_ptr<PrefetchedFiles> held,
                   PrefetchedFiles::Make(std::move(files)));
  return std::shared_ptr<SamplerPrefetcher>(new SamplerPrefetcher(
      std::move(parts), std::move(held), std::move(of_jobs)));
}

SamplerPrefetcher::SamplerPrefetcher(Parts parts,
                                     std::shared_ptr<PrefetchedFiles> files,
                                     std::unique_ptr<PoolShare> of_jobs)
    : dataset_(parts.dataset),
      addresses_(std::move(parts.addresses)),
      leaves_out_(std::move(parts.leaves_out)),
      how_(std::move(parts.how)),
      cached_(std::move(parts.cached)),
      seeds_(parts.seeds),
      searches_(parts.search_cores > 0),
      job_tracker_(*parts.job_tracker),
      files_(std::move(files)),
      read_(parts.dataset->catalogue().entry_count() / 64 + 1),
      of_jobs_(std::move(of_jobs)),
      jobs_(parts.dataset, *parts.job_tracker,
            {parts.seeds, of_jobs_->guarantee()}),
      idle_(parts.search_cores),
      thread_(StartThread("sfs-foresee",
                          [this](std::stop_token stop) { Run(stop); })) {
  if (!parts.read_before) return;
  for (std::atomic<uint64_t>& word : read_) word = ~uint64_t{0};
}

void SamplerPrefetcher::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  idle_.Stop();
}

void SamplerPrefetcher::OnOpen(EntryId file, uint32_t reader,
                               std::chrono::milliseconds now) {
  opens_without_read_.fetch_add(1, std::memory_order_relaxed);
  Add({Beginning::What::kOpen, file, reader, now});
}

void SamplerPrefetcher::OnFirstRead(EntryId file, uint32_t reader,
                                    std::chrono::milliseconds now) {
  NoteRead(file);
  opens_without_read_.store(0, std::memory_order_relaxed);
  const bool ready = files_->IsHere(file);
  if (!sees_opens_) {
    Add({ready ? Beginning::What::kRead : Beginning::What::kMissedRead, file,
         reader, now});
  } else if (!ready) {
    Add({Beginning::What::kMissed, file, reader, now});
  }
}

void SamplerPrefetcher::NoteRead(EntryId file) {
  std::atomic<uint64_t>& word = read_[file.value() / 64];
  const uint64_t bit = uint64_t{1} << file.value() % 64;
  if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit);
}

bool SamplerPrefetcher::WasRead(EntryId file) const {
  return (read_[file.value() / 64] >> file.value() % 64 & 1) != 0;
}

void SamplerPrefetcher::Add(const Beginning& begun) {
  // While the reader waits, /proc shows it; soon it may have ended.
  job_tracker_.Resolve(begun.reader, begun.now);
  MutexLock lock(mu_);
  if (begun_.size() == kMostBegun) return;
  begun_.push_back(begun);
  if (begun_.size() == 1) has_begun_.SignalOne();
}

bool SamplerPrefetcher::CanServe(EntryId file) {
  const bool held = files_->IsResident(file);
  // A file is read by several requests. Usually they follow each other.
  if (last_asked_.exchange(file.value(), std::memory_order_relaxed) !=
      file.value()) {
    (held ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
  }
  return held;
}

void SamplerPrefetcher::Run(std::stop_token stop) {
  bool more = false;
  bool some_wait = false;
  uint64_t quiet = 0;  // rounds
  while (!stop.stop_requested()) {
    if (!more && !WaitUnlessStopped(stop, kTogether)) return;
    const std::vector<Beginning> begun =
        more ? TakeBegun() : WaitForBegun(stop, some_wait && quiet < kQuiet);
    quiet = begun.empty() ? quiet + 1 : 0;
    {
      MutexLock lock(jobs_mu_);
      for (const Beginning& each : begun) Note(each);
    }
    more = Work();
    some_wait = Fill(stop);
  }
}

std::vector<SamplerPrefetcher::Beginning> SamplerPrefetcher::TakeBegun() {
  MutexLock lock(mu_);
  return std::exchange(begun_, {});
}

std::vector<SamplerPrefetcher::Beginning> SamplerPrefetcher::WaitForBegun(
    std::stop_token stop, bool waits) {
  std::stop_callback wake(stop, [this] {
    MutexLock lock(mu_);
    has_begun_.SignalAll();
  });
  MutexLock lock(mu_);
  while (begun_.empty() && !is_woken_ && !stop.stop_requested()) {
    if (!waits) {
      has_begun_.Wait(mu_);
    } else if (!has_begun_.WaitFor(mu_, kTogether)) {
      break;
    }
  }
  is_woken_ = false;
  return std::exchange(begun_, {});
}

void SamplerPrefetcher::Wake() {
  MutexLock lock(mu_);
  is_woken_ = true;
  has_begun_.SignalOne();
}

void SamplerPrefetcher::Note(const Beginning& begun) {
  using What = Beginning::What;
  const JobFinder::Found* const found =
      begun.what == What::kMissed
          ? jobs_.JobOf(begun.file, begun.reader, begun.now)
          : jobs_.Opened(begun.file, begun.reader, begun.now);
  if (found == nullptr || !found->job.is_foreseen() || IsLeftOut(begun.file)) {
    return;
  }
  if (begun.what != What::kMissed) ++foreseen_opens_;
  if (begun.what == What::kMissed || begun.what == What::kMissedRead) {
    ++missed_opens_;
  }
}

bool SamplerPrefetcher::Work() {
  MutexLock lock(jobs_mu_);
  const bool more = jobs_.Work();
  SearchSeeds();
  return more;
}

// Memory holds files that were read and not opened yet. On a disk, as many
// again wait for the arm.
uint64_t SamplerPrefetcher::MostAhead(const FollowedJob& job) const {
  uint64_t jobs = 0;
  for (const JobFinder::Found& found : jobs_.jobs()) {
    if (found.job.is_foreseen()) ++jobs;
  }
  const FileIndex& index = job.index();
  const uint64_t mean =
      Arena::Footprint(std::max<uint64_t>(1, index.bytes() / index.size()));
  const uint64_t room = files_->capacity() / mean / std::max<uint64_t>(1, jobs);
  const uint64_t most =
      addresses_.empty()
          ? std::min(room / 16 * 15, kWindow)
          : std::min(room / 4 * 7,
                     std::max(kWindow, index.size() / kWindowShare));
  return std::max<uint64_t>(most, 1);
}

bool SamplerPrefetcher::Fill(const std::stop_token& stop) {
  if (files_->stopped()) return false;
  std::vector<Foreseen> next;
  {
    MutexLock lock(jobs_mu_);
    for (JobFinder::Found& found : jobs_.jobs()) Foresee(found, next);
  }
  DropCached(next, stop);
  if (stop.stop_requested()) return false;
  PrefetchedFiles::Pieces pieces;
  bool some_wait = false;
  {
    MutexLock lock(jobs_mu_);
    for (const Foreseen& each : next) {
      queue_.Add(AddressOf(each.file), each.request);
    }
    Start(pieces);
    some_wait = queue_.size() > 0;
  }
  if (!pieces.empty()) files_->Fetch(std::move(pieces));
  return some_wait;
}

void SamplerPrefetcher::DropCached(std::vector<Foreseen>& next,
                                   const std::stop_token& stop) {
  if (!cached_) return;
  std::vector<EntryId> files;
  std::vector<size_t> places;
  for (size_t i = 0; i < next.size(); ++i) {
    if (!WasRead(next[i].file)) continue;
    files.push_back(next[i].file);
    places.push_back(i);
  }
  if (files.empty()) return;
  const std::vector<bool> cached = SeemAllCached(files, stop)
                                       ? std::vector<bool>(files.size(), true)
                                       : cached_(files, stop);
  if (cached.empty()) return;  // nothing is known
  std::vector<Foreseen> wanted;
  size_t asked = 0;
  for (size_t i = 0; i < next.size(); ++i) {
    const bool was_asked = asked < places.size() && places[asked] == i;
    if (!was_asked || !cached[asked++]) wanted.push_back(next[i]);
  }
  next = std::move(wanted);
}

bool SamplerPrefetcher::SeemAllCached(const std::vector<EntryId>& files,
                                      const std::stop_token& stop) {
  if (opens_without_read_ <= kAllCached) return false;
  std::vector<EntryId> some;
  for (const EntryId file : files) {
    if (++not_asked_ % kAskedOf == 0) some.push_back(file);
  }
  if (some.empty()) return true;
  const std::vector<bool> cached = cached_(some, stop);
  // Also if it does not say.
  if (std::find(cached.begin(), cached.end(), false) == cached.end()) {
    return true;
  }
  opens_without_read_ = 0;
  return false;
}

void SamplerPrefetcher::Foresee(JobFinder::Found& found,
                                std::vector<Foreseen>& next) {
  ReadPlan* const plan = found.job.plan();
  if (plan == nullptr) {
    if (std::exchange(found.window, 0) != 0) Reclaim();
    return;
  }
  const uint64_t most = MostAhead(found.job);
  const uint64_t ahead = plan->ahead();
  // The window grows by what was opened. So it doubles each time all of it was
  // opened.
  found.window = found.window == 0
                     ? kFirstWindow
                     : 2 * found.window - std::min(found.window, ahead);
  found.window = std::min(found.window, most);
  const uint64_t until = std::min(found.window, found.job.FilesToCome());
  if (until <= ahead) return;
  for (const uint32_t index : plan->Next(until - ahead)) {
    const EntryId file = found.job.index().file(index);
    if (!IsLeftOut(file)) next.push_back({file, {found.id, index}});
  }
}

void SamplerPrefetcher::Start(PrefetchedFiles::Pieces& pieces) {
  const uint64_t most = addresses_.empty() ? kWindow : kQueued;
  while (files_->coming() < most) {
    const std::optional<Request> request = queue_.Take();
    if (!request) return;
    JobFinder::Found* const found = jobs_.Find(request->job);
    ReadPlan* const plan = found == nullptr ? nullptr : found->job.plan();
    // Somebody opened it meanwhile, or another order is followed.
    if (plan == nullptr || !plan->Awaits(request->index)) continue;
    const EntryId file = found->job.index().file(request->index);
    if (files_->IsResident(file) || !files_->MayHold(file)) continue;
    const PrefetchedFiles::Owner owner{request->job, request->index};
    if (files_->Start(file, owner, pieces)) continue;
    if (short_of_memory_++ % kLookForMemory == 0) Reclaim();
    if (files_->Start(file, owner, pieces)) continue;
    queue_.Add(AddressOf(file), *request);  // later there is memory for it
    return;
  }
}

// A file that is no sample (a split's file) has no known place. Then its place
// among the names decides.
uint64_t SamplerPrefetcher::AddressOf(EntryId file) const {
  if (addresses_.empty()) return 0;
  const Grouping& grouping = dataset_->grouping();
  if (!grouping.place(file)) return file.value();
  return addresses_[grouping.sample(file).value()];
}

void SamplerPrefetcher::Reclaim() {
  files_->Reclaim([this](const PrefetchedFiles::Owner& owner)
                      ABSL_NO_THREAD_SAFETY_ANALYSIS {
                        JobFinder::Found* const found = jobs_.Find(owner.id);
                        return found != nullptr &&
                               found->job.plan() != nullptr &&
                               found->job.plan()->Awaits(
                                   static_cast<uint32_t>(owner.place));
                      });
}

}  // namespace shufflefs
