// SPDX-License-Identifier: Apache-2.0
// A view under random interleavings of several readers, signals, switches, full
// disks and restarts, held against a naive reference after every step. No
// mount, no clock: time and processes are made up.
//
// SHUFFLEFS_MODEL_SEED repeats a run; SHUFFLEFS_MODEL_ROUNDS sets its length.
#include <cstdlib>
#include <map>
#include <random>

#include "core/binding/listing.h"
#include "policies/registry.h"
#include "tests/core/base/full_disk.h"
#include "tests/core/view/view_fixture.h"
#include "tests/model/view_reference.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::ByName;
using testing_support::ModelReader;
using testing_support::TempTree;
using testing_support::ViewReference;

uint64_t Environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class ViewModel {
 public:
  explicit ViewModel(uint64_t seed) : random_(seed) {
    MakeSource();
    config_.policy = Pick<std::string>({"lirs", "lirs", "window", "native"});
    config_.substitute =
        Pick<Substitute>({Substitute::kDirectory, Substitute::kTree,
                          Substitute::kNever, Substitute::kAuto});
    config_.epoch_start = Epoch(Draw(5));
    config_.epoch_advance = Draw(4) == 0 ? Advance::kManual : Advance::kAuto;
    sees_opens_ = Draw(4) != 0;
    auto setup = MakeViewSetup(config_, catalogue_, Tools(), nullptr);
    EXPECT_TRUE(setup.ok()) << setup.status();
    const bool waiting = Draw(6) == 0;
    expected_ = std::make_unique<ViewReference>(*setup, sees_opens_, waiting);
    Start(*std::move(setup), waiting);
    for (uint64_t k = 1 + Draw(3); k > 0; --k) AddReader();
  }

  void Step() {
    now_ += milliseconds(Draw(8) == 0 ? Draw(20000) : Draw(200));
    if (doubted_ && Draw(3) == 0) SizeByName(readers_[Draw(readers_.size())]);
    if (Draw(40) == 0) FillDisk();
    const uint64_t what = Draw(1000);
    if (what < 600) {
      OpenByName(readers_[Draw(readers_.size())]);
    } else if (what < 700) {
      SizeByName(readers_[Draw(readers_.size())]);
    } else if (what < 880) {
      CheckLookup(files_[Draw(files_.size())]);
    } else if (what < 930) {
      OpenStale(readers_[Draw(readers_.size())]);
    } else if (what < 950) {
      view_->NoteRead();
      expected_->OnRead();
    } else if (what < 965) {
      CheckFixed(Epoch(Draw(8)));
    } else if (what < 980) {
      CheckListing(DirId(static_cast<uint32_t>(Draw(catalogue_->dir_count()))));
    } else if (what < 984) {
      TakeUpNames();
    } else if (what < 990) {
      Write(what < 987);
    } else if (what < 995) {
      ReplaceReader();
    } else if (what < 997) {
      Restart();
    } else {
      dentries_.clear();  // the kernel forgets names under memory pressure
    }
  }

  // Everything that can be asked without changing anything.
  void CheckState() {
    const ViewEpochStatus status = view_->EpochStatus();
    EXPECT_EQ(status.epoch, expected_->epoch());
    EXPECT_EQ(status.state, expected_->state());
    EXPECT_EQ(status.consumed.has_value(), expected_->watching());
    EXPECT_LE(status.consumed.value_or(0), status.samples);
    EXPECT_EQ(view_->setup()->config.policy, expected_->setup().config.policy);
    const std::shared_ptr<const Binding> binding = view_->binding();
    std::vector<int> times(catalogue_->entry_count(), 0);
    for (const EntryId name : files_) {
      const EntryId shown = binding->Shown(name);
      ASSERT_EQ(shown, expected_->Shown(name)) << catalogue_->path(name);
      EXPECT_EQ(binding->NameOf(shown), name);
      ++times[shown.value()];
    }
    for (const EntryId file : files_) EXPECT_EQ(times[file.value()], 1);
  }

  // How many boundaries lay between a stat and the open that followed it.
  int straddled() const { return checked_; }

 private:
  uint64_t Draw(uint64_t bound) { return random_() % bound; }
  template <typename T>
  T Pick(const std::vector<T>& from) {
    return from[Draw(from.size())];
  }

  SetupTools Tools() const {
    SetupTools tools;
    tools.policies = Policies();
    tools.addresses = [this](const Dataset& of) {
      return SampleAddresses(*source_, of, PhysicalOptions());
    };
    tools.resolver = ByName();
    return tools;
  }

  void MakeSource() {
    const uint64_t classes = 1 + Draw(4);
    for (uint64_t c = 0; c < classes; ++c) {
      const std::string dir = "c" + std::to_string(c) + "/";
      const bool pairs = Draw(3) == 0;
      const uint64_t files = 1 + Draw(Draw(2) == 0 ? 10 : 120);
      for (uint64_t f = 0; f < files; ++f) {
        const std::string stem = dir + std::to_string(Draw(1000000));
        tree_.File(stem + ".jpg", "image");
        if (pairs && Draw(5) != 0) tree_.File(stem + ".txt", "text");
      }
      if (Draw(3) == 0) tree_.File(dir + "empty.jpg", "");
      if (Draw(3) == 0) tree_.File(dir + ".hidden");
      if (Draw(3) == 0) tree_.File("val/" + dir + "1.jpg");
      if (Draw(3) == 0) tree_.Link(dir + "link.jpg", "nowhere");
    }
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    source_ = std::make_unique<SourceDir>(tree_.Source());
    for (uint32_t e = 0; e < catalogue_->entry_count(); ++e) {
      if (catalogue_->kind(EntryId(e)) == EntryKind::kDirectory) continue;
      files_.push_back(EntryId(e));
    }
  }

  void Start(std::shared_ptr<const ViewSetup> setup, bool waiting) {
    auto ledger = Ledger::Open(state_.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger_ = *std::move(ledger);
    View::Parts parts;
    parts.id = static_cast<uint32_t>(Draw(3));  // views were added before it
    parts.setup = std::move(setup);
    parts.tools = Tools();
    parts.job_tracker = &job_tracker_;
    parts.ledger = ledger_.get();
    parts.on_rebind = [this](bool) {
      ++rebound_;
      doubted_ = false;
    };
    parts.on_committed = [this] { doubted_ = false; };
    parts.on_doubted = [this] {
      dentries_.clear();
      doubted_ = true;
    };
    doubted_ = false;
    parts.sees_opens = sees_opens_;
    if (waiting) parts.read_before = ReadBefore::kSomething;
    view_ = std::make_unique<View>(std::move(parts));
    dentries_.clear();
  }

  void AddReader() {
    ModelReader reader;
    reader.passes = Draw(3) != 0;
    if (Draw(5) != 0) {  // else hidden: in another pid namespace
      reader.pid = ++last_pid_;
      const std::string dir = std::to_string(reader.pid) + "/";
      proc_.File(dir + "stat", std::to_string(reader.pid) + " (x) S 1 " +
                                   std::to_string(reader.pid) +
                                   " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 77 0");
      proc_.Link(dir + "exe", "/bin/reader");
    }
    readers_.push_back(std::move(reader));
  }

  // A process ends and another one begins.
  void ReplaceReader() {
    const size_t k = Draw(readers_.size());
    const std::string dir = proc_.At(std::to_string(readers_[k].pid));
    if (readers_[k].pid != 0) std::filesystem::remove_all(dir);
    readers_.erase(readers_.begin() + static_cast<ptrdiff_t>(k));
    AddReader();
  }

  EntryId CheckLookup(EntryId name, uint32_t pid = 0) {
    const View::Found found = view_->Lookup(name, static_cast<int32_t>(pid));
    const View::Found expected = expected_->OnLookup(name);
    EXPECT_EQ(found.shown, expected.shown) << catalogue_->path(name);
    EXPECT_EQ(found.rebinds, expected.rebinds) << catalogue_->path(name);
    EXPECT_EQ(found.lasts, !found.rebinds || !doubted_);
    if (found.lasts) dentries_[name] = found.shown;
    return found.shown;
  }

  // The kernel takes some names up from a listing.
  void TakeUpNames() {
    if (!view_->BindByListing()) return;
    expected_->OnListing();
    const std::shared_ptr<const Binding> binding = view_->binding();
    for (const EntryId name : files_) {
      if (Draw(3) != 0) dentries_[name] = binding->Shown(name);
    }
  }

  // As the kernel does it: by a known name where there is one, and after
  // ESTALE once more with a lookup.
  void OpenByName(ModelReader& reader) {
    if (reader.under_way) return OpenUnderWay(reader);
    if (reader.left.empty()) {
      reader.left = files_;
      testing_support::Shuffle(reader.left, random_);
    }
    EntryId name =
        reader.passes ? reader.left.back() : files_[Draw(files_.size())];
    if (reader.sized) {
      name = reader.sized->name;
    } else {
      reader.left.pop_back();
    }
    const EntryId file = WalkTo(name, reader.sized ? reader.pid : 0);
    CheckSized(reader, file);
    if (Open(file, reader.pid) == View::OpenVerdict::kServe) {
      reader.sized.reset();
      return;
    }
    reader.under_way.emplace(name, CheckLookup(name, reader.pid));
    CheckSized(reader, reader.under_way->second);
    reader.sized.reset();
    // Who cannot be told from others is believed only by the lookup.
    if (reader.pid == 0 || Draw(3) != 0) OpenUnderWay(reader);
  }

  EntryId WalkTo(EntryId name, uint32_t pid) {
    const auto known = dentries_.find(name);
    return known != dentries_.end() ? known->second : CheckLookup(name, pid);
  }

  // A stat. Where the kernel remembers the name, nobody hears of it.
  void SizeByName(ModelReader& reader) {
    if (reader.under_way || reader.sized) return;
    const EntryId name = files_[Draw(files_.size())];
    const bool shown = doubted_;
    const EntryId file = WalkTo(name, reader.pid);
    if (!shown || reader.pid == 0) return;  // nobody, or nobody in particular
    reader.sized = ModelReader::Sized{name, file, boundaries_};
  }

  // What the reader opens is what it has sized, over a boundary that came since
  // and was found in the opens.
  void CheckSized(const ModelReader& reader, EntryId file) {
    if (!reader.sized || !expected_->watching()) return;
    const auto& [name, sized, before] = *reader.sized;
    if (boundaries_ - before > 1) return;  // no such pass is so short
    EXPECT_EQ(file, sized) << catalogue_->path(name);
    checked_ += boundaries_ - before;
  }

  // Whatever boundary came since, the name shows what it opens.
  void OpenUnderWay(ModelReader& reader) {
    const auto [name, file] = *reader.under_way;
    reader.under_way.reset();
    if (reader.pid != 0 && expected_->watching()) {
      EXPECT_EQ(expected_->Shown(name), file);
    }
    EXPECT_EQ(Open(file, reader.pid), View::OpenVerdict::kServe);
  }

  // After a boundary that the user asked for it may find another sample.
  void ForgetUnderWay() {
    for (ModelReader& reader : readers_) {
      reader.under_way.reset();
      reader.sized.reset();
    }
  }

  // A name that was looked up long ago, maybe before a boundary.
  void OpenStale(ModelReader& reader) {
    // One thing at a time.
    if (reader.under_way || reader.sized) return OpenByName(reader);
    Open(files_[Draw(files_.size())], reader.pid);
  }

  View::OpenVerdict Open(EntryId file, uint32_t pid) {
    const View::OpenVerdict expected = expected_->OnOpen(file, pid, now_);
    const int before = rebound_;
    const uint64_t held = view_->EpochStatus().held;
    const bool stops = expected_->stops_moving();
    const View::OpenVerdict verdict =
        view_->Open(file, static_cast<int32_t>(pid), now_);
    // The name may have had to show its own sample.
    const bool retried = stops && rebound_ != before && verdict != expected;
    if (!retried) EXPECT_EQ(verdict, expected) << catalogue_->path(file);
    if (rebound_ != before) FollowRebind(file, retried);
    if (retried) expected_->OnRetried(pid);
    const ViewEpochStatus after = view_->EpochStatus();
    if (after.held != held) {
      expected_->OnHold(after.suspended);
      boundaries_ += 2;  // what is under way is told to one of them
    }
    return verdict;
  }

  // The view found a boundary: what it retains is true, is not more than
  // promised, and holds the name whose open showed it, if that was answered.
  void FollowRebind(EntryId file, bool retried) {
    const ViewEpochStatus status = view_->EpochStatus();
    const std::vector<NameBinding> retained =
        view_->binding()->retained().pairs();
    const Grouping& grouping = expected_->setup().dataset->grouping();
    const uint64_t names = grouping.sample_count();
    EXPECT_LE(retained.size(), std::clamp<uint64_t>(names / 3, 16, 8192) +
                                   SizedNames::kMostHidden +
                                   2 * readers_.size());
    if (status.verdict == "a") {
      EXPECT_EQ(expected_->opened().size(), names) << "rule a came early";
    }
    bool has_opened = false;
    for (const NameBinding& pair : retained) {
      const EntryId name = grouping.first_member(SampleId(pair.name));
      EXPECT_EQ(expected_->SampleOf(expected_->Shown(name)), pair.sample);
      has_opened |= pair.sample == expected_->SampleOf(file);
    }
    // Names that never move again would show what they retain for ever.
    EXPECT_EQ(has_opened, view_->setup()->rebinds() && !retried);
    if (!view_->setup()->rebinds()) EXPECT_TRUE(retained.empty());
    dentries_.clear();  // the kernel was told
    ++boundaries_;
    expected_->OnRebind(retained, status.suspended);
    if (!expected_->watching()) ForgetUnderWay();  // every open is served
  }

  void Write(bool switches) {
    ForgetUnderWay();
    ControlRequest request;
    request.config = view_->config();
    if (switches) {
      request.config_changed = true;
      ViewConfig& config = request.config;
      config.policy = Pick<std::string>({"lirs", "window", "native"});
      config.seed = Seed(Draw(3));
      config.epoch_advance = Draw(4) == 0 ? Advance::kManual : Advance::kAuto;
      config.epoch_length = Draw(3) == 0 ? 1 + Draw(100) : 0;
      config.policy_options.Set("lirs.unit",
                                Pick<absl::string_view>({"instance", "page"}));
      config.policy_options.Set("lirs.batch", Draw(4));
      config.policy_options.Set("window.samples", 1 + Draw(300));
    }
    if (!switches || Draw(3) == 0) {
      request.next_epoch = Draw(3) != 0;
      if (!request.next_epoch) request.set_epoch = Epoch(Draw(10));
    }
    auto prepared = view_->Prepare(request);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    absl::optional<Epoch> moved = request.set_epoch;
    if (request.next_epoch) moved = Epoch(expected_->epoch().value() + 1);
    const int before = rebound_;
    const bool boundary = expected_->OnInstall(prepared->setup, moved);
    EXPECT_EQ(view_->Install(*std::move(prepared)), absl::OkStatus());
    EXPECT_EQ(rebound_ - before, boundary ? 1 : 0);
    if (!boundary) return;
    dentries_.clear();
    EXPECT_EQ(view_->binding()->retained().size(), 0u);
  }

  // What is read until there is space again must not be lost.
  void FillDisk() {
    const bool was_full = full_disk_.has_value();
    full_disk_.reset();
    if (!was_full) full_disk_.emplace(ledger_->bytes() + Draw(30));
  }

  // The same command again, with the policy that runs now. As after kill -9, if
  // the disk has space.
  void Restart() {
    full_disk_.reset();
    ForgetUnderWay();
    const bool was_watching = expected_->watching();
    const ViewEpochStatus before = view_->EpochStatus();
    view_.reset();
    ledger_.reset();
    auto setup =
        MakeViewSetup(expected_->setup().config, catalogue_, Tools(), nullptr);
    ASSERT_TRUE(setup.ok()) << setup.status();
    Start(*setup, false);
    const bool suspended = view_->EpochStatus().suspended;
    EXPECT_TRUE(!suspended || before.suspended);
    expected_->OnRestart(*setup, before.consumed.value_or(0) > 0, suspended);
    if (was_watching) {
      EXPECT_EQ(view_->EpochStatus().consumed, before.consumed);
    }
  }

  void CheckFixed(Epoch epoch) {
    const ViewSetup& setup = expected_->setup();
    const bool identity =
        !setup.dataset->moves() || setup.config.policy == "native";
    const testing_support::NaiveBinding naive(*setup.dataset, setup.config,
                                              epoch, {}, identity);
    const std::shared_ptr<const Binding> fixed = view_->FixedBinding(epoch);
    for (const EntryId name : files_) {
      ASSERT_EQ(fixed->Shown(name), naive.Shown(name));
    }
  }

  void CheckListing(DirId dir) {
    const Listing listing(view_->binding(), dir);
    ASSERT_EQ(listing.size(), catalogue_->dir_size(dir));
    std::set<EntryId> names;
    bool samples = false;
    for (uint32_t k = 0; k < listing.size(); ++k) {
      const EntryId name = listing.At(k);
      EXPECT_EQ(catalogue_->parent(name), dir);
      names.insert(name);
      if (expected_->setup().config.policy == "native") {
        EXPECT_EQ(name, catalogue_->in_source_order(dir, k));
      } else if (expected_->is_sample(name)) {
        samples = true;
      } else {
        EXPECT_FALSE(samples) << "what stays as it is comes first";
      }
    }
    EXPECT_EQ(names.size(), listing.size());
  }

  std::mt19937_64 random_;
  TempTree tree_;
  TempTree state_;
  TempTree proc_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::unique_ptr<SourceDir> source_;
  std::vector<EntryId> files_;
  ViewConfig config_;
  bool sees_opens_ = true;
  JobTracker job_tracker_{proc_.root()};
  std::unique_ptr<Ledger> ledger_;
  absl::optional<testing_support::FullDisk> full_disk_;
  std::unique_ptr<View> view_;
  std::unique_ptr<ViewReference> expected_;
  std::vector<ModelReader> readers_;
  std::map<EntryId, EntryId> dentries_;  // what the kernel believes
  uint32_t last_pid_ = 1000;
  milliseconds now_{1};
  int rebound_ = 0;
  int boundaries_ = 0;    // that the view found
  bool doubted_ = false;  // every walk asks
  int checked_ = 0;       // that a boundary lay between a stat and its open
};

TEST(ViewModelTest, AgreesWithTheReferenceAtEveryStep) {
  const uint64_t seed =
      Environment("SHUFFLEFS_MODEL_SEED", std::random_device()());
  const uint64_t rounds = Environment("SHUFFLEFS_MODEL_ROUNDS", 60);
  std::cout << "SHUFFLEFS_MODEL_SEED=" << seed << "\n";
  int straddled = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("SHUFFLEFS_MODEL_SEED=" + std::to_string(seed) + ", round " +
                 std::to_string(round));
    ViewModel model(seed + round);
    for (int step = 0; step < 1500; ++step) {
      model.Step();
      if (step % 20 == 0) model.CheckState();
      if (testing::Test::HasFailure()) FAIL() << "at step " << step;
    }
    model.CheckState();
    straddled += model.straddled();
  }
  std::cout << straddled << " boundaries between a stat and its open\n";
}

}  // namespace
}  // namespace shufflefs
