// SPDX-License-Identifier: Apache-2.0
// Recorded kinds of jobs, replayed through a view whose opens are reported
// late, and a small kernel: names that it caches, threads between the walk to a
// file and its open, reports that wait to be read, and switches that it is told
// of late.
//
// SHUFFLEFS_MODEL_SEED repeats a run.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <queue>
#include <random>
#include <set>

#include "tests/core/view/empty_producers.h"
#include "tests/core/view/view_fixture.h"
#include "tests/testing/epoch_cases.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::BindOnDemand;
using testing_support::LoaderOptions;
using testing_support::Stream;
using testing_support::ViewFixture;

uint64_t Seed() {
  const char* text = std::getenv("SHUFFLEFS_MODEL_SEED");
  return text == nullptr ? std::random_device()()
                         : std::strtoull(text, nullptr, 10);
}

// As fanotify does, it merges an open into one by the same thread of the same
// file that is still in the queue.
class FakeReports : public OpenReports {
 public:
  Taken Take(uint32_t) override {
    Collect();
    return std::exchange(taken_, {});
  }
  void Collect() override {
    taken_.lost = taken_.lost || std::exchange(queue_.lost, false);
    taken_.opens.insert(taken_.opens.end(), queue_.opens.begin(),
                        queue_.opens.end());
    queue_.opens.clear();
    queued_.clear();
  }
  void Add(const ReportedOpen& open) {
    if (!queued_.emplace(open.file, open.ordinal, open.reader).second) return;
    queue_.opens.push_back(open);
  }
  // The queue overflows: everything in it is gone.
  void Overflow() {
    queue_ = {{}, true};
    queued_.clear();
  }

 private:
  Taken taken_;
  Taken queue_;  // the kernel's
  std::set<std::tuple<EntryId, uint32_t, uint32_t>> queued_;
};

// A shell that starts a process for each file: `for f in …; do cat $f; done`.
Stream Cats(uint64_t names, int passes, int64_t open_us, uint64_t seed) {
  Stream stream;
  uint32_t pid = 1000;
  int64_t time = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const uint64_t key = testing_support::PassSeed(seed, pass);
    for (const uint64_t name : testing_support::RandomOrder(names, key)) {
      stream.push_back({.time = time += open_us,
                        .name = name,
                        .reader = pid++,
                        .family = 900,
                        .pass = pass});
    }
  }
  return stream;
}

struct Delays {
  int64_t walk_us = 10;    // most between a walk and its open
  int64_t report_us = 50;  // most until reports are read
  int64_t tell_us = 50;    // most until the kernel has done as told
  bool ends = false;       // each reader ends right after its open
  bool reported = true;    // else each open is a request
};

class Replay {
 public:
  Replay(ViewFixture& fixture, const ViewConfig& config, const Stream& stream,
         Delays delays, uint64_t seed)
      : stream_(stream),
        delays_(delays),
        random_(seed),
        job_tracker_(proc_.root()) {
    View::Parts parts = fixture.Parts(config);
    parts.job_tracker = &job_tracker_;
    parts.reports = &reports_;
    parts.on_rebind = [this](bool) { Tell(); };
    parts.on_doubted = [this] { Tell(); };
    view_ = std::make_unique<View>(std::move(parts));
    if (delays.reported) view_->ExpectReports();
    files_ = fixture.Files();
    if (delays_.ends) Start(stream_.front().family, stream_.front().family, 1);
    for (const testing_support::StreamOpen& open : stream_) {
      if (!delays_.ends && open.reader != 0 &&
          started_.insert(open.reader).second) {
        Start(open.reader, open.family, 1);
      }
    }
  }

  // `overflow_at`: the report of that open, and those that wait then, are lost.
  void Run(size_t overflow_at = ~size_t{0}) {
    overflow_at_ = overflow_at;
    int64_t next_poll = 0;
    while (walked_ < stream_.size() || !under_way_.empty()) {
      next_poll = std::max(next_poll, now_) + 1 + Draw(delays_.report_us);
      Advance(next_poll);
      view_->TakeReports(Now());
    }
    view_->TakeReports(Now());
  }

  View& view() { return *view_; }
  // The samples that each pass of each job was shown twice.
  uint64_t Loss() const {
    uint64_t loss = 0;
    for (const auto& [pass, shown] : shown_) {
      std::map<EntryId, std::set<uint64_t>> names;
      for (const auto& [name, sample] : shown) names[sample].insert(name);
      for (const auto& [sample, by] : names) loss += by.size() - 1;
    }
    return loss;
  }
  uint64_t rebound() const { return rebound_; }
  // How often each sample was opened by all jobs and passes.
  std::map<EntryId, uint64_t> Opens() const {
    std::map<EntryId, uint64_t> opens;
    for (const EntryId file : files_) opens[file] = 0;
    for (const auto& [pass, shown] : shown_) {
      for (const auto& [name, sample] : shown) ++opens[sample];
    }
    return opens;
  }

 private:
  struct Node {
    EntryId file;
    uint32_t ordinal = 0;
  };
  struct UnderWay {
    int64_t time;
    size_t open;
    Node node;
    bool operator<(const UnderWay& other) const { return time > other.time; }
  };

  int64_t Draw(int64_t bound) {
    return bound <= 0 ? 0 : static_cast<int64_t>(random_() % bound);
  }
  milliseconds Now() const { return milliseconds(now_ / 1000); }

  void Start(uint64_t pid, uint64_t family, uint64_t parent) {
    const std::string id = std::to_string(pid);
    proc_.File(id + "/stat", id + " (x) S " + std::to_string(parent) + " " +
                                 std::to_string(family) +
                                 " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 77 0");
    proc_.Link(id + "/exe", "/bin/reader");
  }
  void EndReader(uint32_t pid) {
    std::filesystem::remove_all(proc_.At(std::to_string(pid)));
  }

  // Only the readers that open from `open` on live on.
  void EndReadersBefore(size_t open) {
    std::set<uint32_t> left = started_;
    for (; open < stream_.size(); ++open) left.erase(stream_[open].reader);
    for (const uint32_t reader : left) EndReader(reader);
  }

  // The kernel takes its time, and readers go on meanwhile.
  void Tell() {
    const uint64_t epoch = view_->live()->binding->epoch().value();
    rebound_ += epoch != std::exchange(last_binding_, epoch) ? 1 : 0;
    Advance(now_ + Draw(delays_.tell_us));
    known_.clear();
  }

  // Walks and opens until `until`. Nobody reads reports meanwhile.
  void Advance(int64_t until) {
    for (;;) {
      const int64_t walk =
          walked_ < stream_.size() ? stream_[walked_].time : until + 1;
      const int64_t opened =
          under_way_.empty() ? until + 1 : under_way_.top().time;
      if (std::min(walk, opened) > until) break;
      now_ = std::max(now_, std::min(walk, opened));
      if (opened <= walk) {
        End();
      } else {
        Walk(walked_++);
      }
    }
    now_ = std::max(now_, until);
  }

  void Walk(size_t open) {
    const testing_support::StreamOpen& one = stream_[open];
    if (one.job != std::exchange(job_, one.job) && !delays_.ends) {
      EndReadersBefore(open);
    }
    if (delays_.ends) Start(one.reader, one.family, one.family);
    const auto known = known_.find(one.name);
    Node node{EntryId(0)};
    if (known != known_.end()) {
      node = known->second;
    } else {
      const View::Found found = view_->Lookup(
          files_[one.name], static_cast<int32_t>(one.reader), Now());
      node = {found.shown, found.ordinal};
      if (found.lasts) known_.emplace(one.name, node);
    }
    under_way_.push({now_ + Draw(delays_.walk_us), open, node});
  }

  void End() {
    const UnderWay done = under_way_.top();
    under_way_.pop();
    const testing_support::StreamOpen& one = stream_[done.open];
    auto& shown = shown_[{one.job, one.pass}];
    if (!delays_.reported) {
      shown.emplace_back(one.name, Ask(one, done.node));
      return;
    }
    shown.emplace_back(one.name, done.node.file);
    reports_.Add({done.node.file, done.node.ordinal, one.reader});
    if (delays_.ends) EndReader(one.reader);
    if (done.open == overflow_at_) reports_.Overflow();
  }

  // The daemon answers the open, at the second try at the latest.
  EntryId Ask(const testing_support::StreamOpen& one, Node node) {
    const auto reader = static_cast<int32_t>(one.reader);
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (view_->Open(node.file, reader, Now(), node.ordinal) ==
          View::OpenVerdict::kServe) {
        return node.file;
      }
      const View::Found found = view_->Lookup(files_[one.name], reader, Now());
      node = {found.shown, found.ordinal};
    }
    ADD_FAILURE() << "stale twice";
    return node.file;
  }

  const Stream& stream_;
  const Delays delays_;
  std::mt19937_64 random_;
  testing_support::TempTree proc_;
  JobTracker job_tracker_;
  FakeReports reports_;
  std::unique_ptr<View> view_;
  std::vector<EntryId> files_;
  std::set<uint32_t> started_;
  std::map<uint64_t, Node> known_;  // the kernel's names
  std::priority_queue<UnderWay> under_way_;
  std::map<std::pair<int, int>, std::vector<std::pair<uint64_t, EntryId>>>
      shown_;
  size_t walked_ = 0;
  size_t overflow_at_ = 0;
  int job_ = 0;  // of the last walk
  int64_t now_ = 0;
  uint64_t last_binding_ = 0;
  uint64_t rebound_ = 0;
};

LoaderOptions Fast(uint64_t workers, int64_t open_us, uint64_t seed) {
  LoaderOptions options = testing_support::Workers(workers, seed);
  options.open_us = open_us;
  options.step_us = 2 * open_us;
  return options;
}

// [S-3.11j] Opens that the kernel reports late lose no sample.
TEST(ReportedOpensTest,
     EachPassShowsEachSampleOnceHoweverLateOpensAreReported) {
  const uint64_t seed = Seed();
  std::cout << "SHUFFLEFS_MODEL_SEED=" << seed << "\n";
  ViewFixture fixture(3, 100);
  BindOnDemand(fixture);
  fixture.Setup(ViewFixture::Config("lirs"));
  const uint64_t names = fixture.Files().size();
  uint64_t most_held = 0;
  for (const std::string policy : {"lirs", "window", "brand"}) {
    for (const int64_t report_us : {0, 300, 5000, 50000}) {
      for (const uint64_t workers : {0, 2, 4}) {
        for (const int64_t open_us : {20, 200, 1500}) {
          const Stream stream = testing_support::OneJob(
              names, Fast(workers, open_us, seed + workers), 8);
          const Delays delays{open_us / 2, report_us, report_us};
          Replay replay(fixture, ViewFixture::Config(policy), stream, delays,
                        seed);
          replay.Run();
          const std::string row =
              policy + " report " + std::to_string(report_us) + " workers " +
              std::to_string(workers) + " open " + std::to_string(open_us);
          EXPECT_EQ(replay.Loss(), 0u) << row;
          // Reports of a fast daemon hold no boundary up.
          if (report_us <= open_us) EXPECT_EQ(replay.rebound(), 7u) << row;
          most_held += replay.view().EpochStatus().held;
        }
      }
    }
  }
  std::cout << most_held << " boundaries were held\n";
}

// Jobs of other kinds: incomplete passes, workers that stay, hidden threads, a
// job that follows another.
TEST(ReportedOpensTest, OtherJobsLoseNothingEither) {
  const uint64_t seed = Seed();
  std::cout << "SHUFFLEFS_MODEL_SEED=" << seed << "\n";
  ViewFixture fixture(3, 100);
  BindOnDemand(fixture);
  fixture.Setup(ViewFixture::Config("lirs"));
  const uint64_t names = fixture.Files().size();
  LoaderOptions dropping = Fast(2, 200, seed);
  dropping.drop_last = true;
  LoaderOptions staying = Fast(4, 200, seed);
  staying.persistent = true;
  LoaderOptions twice = Fast(2, 200, seed);
  twice.opens_each = 2;
  const std::map<std::string, Stream> streams = {
      {"drop_last", testing_support::OneJob(names, dropping, 8)},
      {"persistent", testing_support::OneJob(names, staying, 8)},
      {"double opens", testing_support::OneJob(names, twice, 8)},
      {"sorted", testing_support::SortedReader(names, seed)},
      {"killed", testing_support::KilledJob(names, seed)},
      {"copy", testing_support::WithCopy(names, seed, false)},
      {"hidden", testing_support::Hide(
                     testing_support::OneJob(names, Fast(2, 200, seed), 8))},
      {"ranks", testing_support::Ranks(names, 4, 4, Fast(2, 200, seed))}};
  for (const std::string policy : {"lirs", "brand"}) {
    const ViewConfig config = ViewFixture::Config(policy);
    for (const auto& [kind, stream] : streams) {
      for (const int64_t report_us : {0, 300, 5000, 50000}) {
        Replay replay(fixture, config, stream, {100, report_us, report_us},
                      seed);
        replay.Run();
        EXPECT_EQ(replay.Loss(), 0u)
            << policy << " " << kind << " report " << report_us;
      }
    }
  }
}

// By how much the sample that was opened most often is ahead.
uint64_t Spread(const Replay& replay) {
  uint64_t least = ~uint64_t{0};
  uint64_t most = 0;
  for (const auto& [file, opens] : replay.Opens()) {
    least = std::min(least, opens);
    most = std::max(most, opens);
  }
  return most - least;
}

// met shows samples several times in an epoch, but in all as often as others,
// however opens are seen. Names that several workers open first in a pass are
// retained. A reader of a fixed order opens the same name first in every pass.
TEST(ReportedOpensTest, MetShowsEachSampleEquallyOften) {
  const uint64_t seed = Seed();
  std::cout << "SHUFFLEFS_MODEL_SEED=" << seed << "\n";
  constexpr int kEpochs = 12;
  ViewFixture fixture(3, 100);
  BindOnDemand(fixture);
  ViewConfig config = ViewFixture::Config("met");
  config.policy_options.Set("met.mini_epochs", 4);
  config.policy_options.Set("met.repeat", 3);
  config.policy_options.Set("met.epochs", kEpochs);
  fixture.Setup(ViewFixture::Config("lirs"));
  const uint64_t names = fixture.Files().size();
  for (const bool fixed : {false, true}) {
    for (const uint64_t workers : {0, 2, 4}) {
      LoaderOptions options = Fast(workers, 400, seed + workers);
      options.fixed_order = fixed;
      const Stream stream = testing_support::OneJob(names, options, kEpochs);
      Replay asked(fixture, config, stream, {200, 0, 0, false, false}, seed);
      asked.Run();
      for (const int64_t report_us : {0, 300, 5000}) {
        const std::string row = (fixed ? "fixed order, " : "random order, ") +
                                std::to_string(workers) + " workers, report " +
                                std::to_string(report_us);
        Replay replay(fixture, config, stream, {200, report_us, 300}, seed);
        replay.Run();
        EXPECT_LE(Spread(replay), std::max<uint64_t>(3, Spread(asked) + 1))
            << row;
        EXPECT_EQ(replay.rebound(), kEpochs - 1u) << row;
      }
    }
  }
}

// The kernel has names cached, so nobody saw these readers while they lived.
TEST(ReportedOpensTest, AProcessForEachFileIsOneJob) {
  const uint64_t seed = Seed();
  std::cout << "SHUFFLEFS_MODEL_SEED=" << seed << "\n";
  ViewFixture fixture(3, 100);
  const ViewConfig config = ViewFixture::Config("lirs");
  fixture.Setup(config);
  const uint64_t names = fixture.Files().size();
  for (const int64_t report_us : {300, 5000, 50000}) {
    const Stream stream = Cats(names, 8, 800, seed);
    Replay replay(fixture, config, stream, {400, report_us, report_us, true},
                  seed);
    replay.Run();
    EXPECT_EQ(replay.Loss(), 0u) << "report " << report_us;
    // A pass takes a quarter of a second.
    const uint64_t least = report_us < 50000 ? 5 : 2;
    EXPECT_GE(replay.rebound(), least) << "report " << report_us;
  }
}

// [S-3.11k] If reports of opens were lost, no boundary of that job is believed.
TEST(ReportedOpensTest, BoundariesOfAJobWithLostReportsAreHeld) {
  const uint64_t seed = Seed();
  std::cout << "SHUFFLEFS_MODEL_SEED=" << seed << "\n";
  ViewFixture fixture(3, 100);
  const ViewConfig config = ViewFixture::Config("lirs");
  fixture.Setup(config);
  const uint64_t names = fixture.Files().size();
  for (const bool sorted : {false, true}) {
    for (const size_t lost : {0, 1, 150, 299, 300, 301, 305, 450}) {
      const std::string row =
          (sorted ? "sorted " : "random ") + std::to_string(lost);
      Stream stream =
          sorted ? testing_support::SortedReader(names, seed)
                 : testing_support::OneJob(names, Fast(2, 200, seed + lost), 6);
      // Then another job begins.
      LoaderOptions options = Fast(2, 200, seed + 1000);
      options.family = 2;
      options.first_pid = 60000;
      options.job = 1;
      Stream second = testing_support::OneJob(names, options, 4);
      for (testing_support::StreamOpen& open : second) {
        open.time += stream.back().time + 5 * testing_support::kSecond;
      }
      stream = testing_support::Merge(std::move(stream), second);
      Replay replay(fixture, config, stream, {100, 300, 300}, seed);
      replay.Run(lost);
      EXPECT_EQ(replay.Loss(), 0u) << row;
      const uint64_t held = replay.view().EpochStatus().held;
      EXPECT_GE(held, 3u) << row;
      // The first pass of the second job has new names already.
      EXPECT_GE(replay.rebound(), 4u) << row << ", held " << held;
    }
  }
}

}  // namespace
}  // namespace shufflefs
