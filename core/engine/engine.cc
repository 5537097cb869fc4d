// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.h"

#include <malloc.h>
#include <sys/resource.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "absl/functional/bind_front.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "core/engine/catalogue_loader.h"
#include "core/engine/policy_resolver.h"
#include "core/io/make_reader.h"
#include "core/scan/staleness_check.h"
#include "core/view/effect.h"

namespace shufflefs {
namespace {

constexpr size_t kMostOpenFiles = 4096;

// Raises the limit of open files as far as possible. Returns half of it, for
// the source.
size_t OpenLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<size_t>(limit.rlim_cur / 2, kMostOpenFiles);
}

// A file that cannot be read is an error of the view soon.
std::string HashOfFile(const PathReach& reach, const std::string& path) {
  const absl::StatusOr<std::string> text = ReadGroups(reach, path);
  if (!text.ok()) return "none";
  return absl::StrCat(absl::Hex(XXH3_64bits(text->data(), text->size())));
}

// The views as the command line has them.
const std::vector<ViewConfig>& GivenOf(const Engine::Parts& parts) {
  return parts.given.empty() ? parts.config.views : parts.given;
}

// What members must agree on.
PeerIdentity PeerIdentityOf(const Engine::Parts& parts,
                            const Catalogue& catalogue) {
  PeerIdentity identity;
  identity.version = absl::StrCat(parts.version, ", messages ", kPeerMessages);
  identity.dataset = catalogue.fingerprint();
  identity.files = catalogue.file_count();
  identity.keys.emplace_back(
      "the hash of who may read which file",
      absl::StrCat(absl::Hex(catalogue.fingerprint() ^
                             catalogue.samples_fingerprint())));
  for (const ViewConfig& view : GivenOf(parts)) {
    const std::string of =
        view.path.empty() ? "" : absl::StrCat("view ", view.path, ": ");
    const auto add = [&](const char* key, std::string value) {
      identity.keys.emplace_back(absl::StrCat(of, key), std::move(value));
    };
    add("policy", view.policy);
    add("seed", absl::StrCat(view.seed.value()));
    add("substitute", NameOf(view.substitute));
    if (!view.groups.empty()) {
      add("the hash of `groups`", HashOfFile(parts.reach, view.groups));
    }
    add("the hash of other keys",
        absl::StrCat(absl::Hex(OptionsHash(view, parts.policies.table))));
  }
  return identity;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Make(Parts parts) {
  std::unique_ptr<Ledger> ledger;
  if (parts.state != nullptr) {
    ASSIGN_OR_RETURN(ledger,
                     Ledger::Open(parts.state->ledger(), Ledger::Options{}));
    if (!ledger->cut().ok()) {
      Log(LogLevel::kWarning, ledger->cut().message());
    }
  }
  return std::unique_ptr<Engine>(
      new Engine(std::move(parts), std::move(ledger)));
}

Engine::Engine(Parts parts, std::unique_ptr<Ledger> ledger)
    : parts_(std::move(parts)),
      ledger_(std::move(ledger)),
      devices_(std::make_shared<DeviceFinder>(
          parts_.source,
          parts_.state != nullptr ? parts_.state->devices() : FilePlace())),
      places_(parts_.source,
              parts_.state != nullptr ? parts_.state->places() : FilePlace()),
      saved_factors_(
          parts_.state != nullptr
              ? std::make_unique<SavedFactors>(parts_.state->saved_factors())
              : nullptr),
      pool_(BufferPool::Make({.bytes = PoolBytes(Memory(parts_.config))})),
      bypass_(std::make_shared<BypassReads>(
          BypassReads::BytesOf(Memory(parts_.config)), &metrics_.stall())),
      tiers_(TierParts()),
      producers_(ProducerParts()),
      records_(RecordParts()) {}

Engine::~Engine() { Stop(); }

PoolMemory Engine::ViewMemory() const {
  return {pool_, bypass_, MemoryOfAView(parts_.config, parts_.policies.table),
          ""};
}

TierMaker::Parts Engine::TierParts() {
  TierMaker::Parts parts;
  parts.pool = pool_;
  parts.policies = parts_.policies.table;
  parts.config = &parts_.config;
  parts.given = &GivenOf(parts_);
  parts.saved_factors = saved_factors_.get();
  parts.reach = parts_.reach;
  parts.foreground_reads = [this]() -> uint64_t {
    const ServedDataset* now = served();
    return now == nullptr ? 0 : now->plain().reads();
  };
  return parts;
}

ProducerFactory::Parts Engine::ProducerParts() {
  ProducerFactory::Parts parts;
  parts.config = &parts_.config;
  parts.source = &parts_.source;
  parts.make_reader = [this](const FileReaderOptions& options) {
    return MakeReader(options);
  };
  parts.devices = devices_.get();
  parts.places = &places_;
  parts.stall = &metrics_.stall();
  parts.tiers = &tiers_;
  parts.job_tracker = &job_tracker_;
  parts.cached = parts_.hooks.cached;
  parts.reach = parts_.reach;
  parts.memory = ViewMemory();
  return parts;
}

RecordsFactory::Parts Engine::RecordParts() {
  RecordsFactory::Parts parts;
  parts.config = &parts_.config;
  parts.source = &parts_.source;
  parts.devices = devices_.get();
  parts.producers = &producers_;
  parts.tiers = &tiers_;
  parts.memory = ViewMemory();
  if (parts_.state != nullptr) parts.state = parts_.state->dir();
  parts.stall = &metrics_.stall();
  return parts;
}

SetupTools Engine::Tools() {
  ResolverParts resolver;
  resolver.policies = parts_.policies;
  resolver.devices = devices_;
  resolver.config = &parts_.config;
  resolver.given = &GivenOf(parts_);
  resolver.ledger = ledger_.get();
  SetupTools tools;
  tools.policies = parts_.policies.table;
  tools.reach = parts_.reach;
  tools.resolver = MakeResolver(resolver);
  tools.addresses = [this](const Dataset& dataset) {
    return places_.Find(dataset);
  };
  tools.samples = producers_.maker();
  tools.ahead = producers_.ahead_maker();
  tools.prefetcher = producers_.prefetcher_maker();
  tools.containers = records_.finder();
  tools.records = records_.maker();
  tools.waits = parts_.hooks.waits;
  tools.verdicts = verdicts_;
  for (const ViewConfig& view : parts_.config.views) {
    tools.views.push_back(view.path);
  }
  if (peers_owner_ != nullptr) {
    tools.ask = absl::bind_front(&Engine::AskPeers, this);
    tools.predictor = producers_.predictor_maker(peers_owner_->NamesAhead());
    tools.names_begin = [this](const std::string& path, uint64_t binding) {
      peers_owner_->BeginEpoch(path, binding);
    };
  }
  return tools;
}

bool Engine::goes_on() const {
  const std::vector<ViewConfig>& views = parts_.config.views;
  return ledger_ != nullptr &&
         std::any_of(views.begin(), views.end(), [&](const ViewConfig& view) {
           return ledger_->GoesOn(view.path);
         });
}

absl::StatusOr<Engine::Setups> Engine::MakeSetups(
    std::shared_ptr<const Catalogue> catalogue, const SetupTools& tools) {
  Setups setups;
  for (const ViewConfig& config : parts_.config.views) {
    auto setup = MakeViewSetup(config, catalogue, tools, nullptr);
    if (!setup.ok()) {
      if (config.path.empty()) return setup.status();
      return Annotate(setup.status(), absl::StrCat("view '", config.path, "'"));
    }
    if ((*setup)->binds_on_demand() &&
        parts_.config.open == OpenMode::kUnseen) {
      return absl::InvalidArgumentError(
          absl::StrCat("policy = ", (*setup)->policy->name(),
                       " needs to see opens: leave out -o open=unseen"));
    }
    if (config.policy == "auto") {
      Log(LogLevel::kInfo,
          absl::StrCat(config.path, config.path.empty() ? "" : ": ",
                       "auto: ", (*setup)->why));
    }
    if (const std::string warning = EffectWarning(**setup); !warning.empty()) {
      Log(LogLevel::kWarning,
          absl::StrCat(config.path, config.path.empty() ? "" : ": ", warning));
    }
    setups.push_back(*std::move(setup));
  }
  return setups;
}

BackingChoice Engine::BackingFor(const Catalogue& catalogue,
                                 const LoadOptions& options) const {
  BackingFacts facts;
  facts.files = catalogue.file_count();
  facts.bytes = catalogue.total_bytes();
  facts.least = options.least_backed;
  facts.refused = options.no_backing;
  // What peers have in memory is not to be read from the source again.
  if (!parts_.config.peers.members.empty()) facts.refused = "peers are asked";
  return ChooseBacking(facts);
}

absl::StatusOr<std::unique_ptr<const ServedDataset>> Engine::MakeServed(
    std::shared_ptr<const Catalogue> catalogue, const LoadOptions& options) {
  const SetupTools tools = Tools();
  const FilesRead read =
      options.read_before ? options.read_before() : FilesRead();
  ASSIGN_OR_RETURN(const Setups setups, MakeSetups(catalogue, tools));
  BackingChoice backing = BackingFor(*catalogue, options);
  OpensPossible possible{options.no_reports, options.no_rebinding, backing.on};
  if (!parts_.config.peers.members.empty()) {
    possible.no_rebinding = "with peers, opens must be requests";
  }
  Setups running(setups.size());
  Setups all = setups;
  for (size_t i = 0; i < std::min(running.size(), parts_.running.size()); ++i) {
    if (!parts_.running[i]) continue;
    ASSIGN_OR_RETURN(running[i], MakeViewSetup(*parts_.running[i], catalogue,
                                               tools, setups[i].get()));
    all.push_back(running[i]);
  }
  OpensSeen opens = HowOpensAreSeen(parts_.config.open, all, possible);
  if (backing.on && opens.by != OpensSeen::By::kRequests) {
    backing = {false, absl::StrCat("opens are not answered: ", opens.why)};
  }
  std::vector<std::unique_ptr<View>> views;
  for (const std::shared_ptr<const ViewSetup>& setup : setups) {
    View::Parts view;
    view.id = views.size();
    view.setup = setup;
    view.running = std::move(running[view.id]);
    view.tools = tools;
    view.job_tracker = &job_tracker_;
    view.nodes = &nodes_;
    if (job_epochs_ != nullptr) {
      view.group = job_epochs_->Add(setup->config.path);
    }
    view.ledger = ledger_.get();
    view.on_rebind = parts_.hooks.on_rebind;
    view.waits = parts_.hooks.waits;
    view.on_committed = parts_.hooks.on_committed;
    view.on_doubted = parts_.hooks.on_doubted;
    view.hears_opens = opens.by != OpensSeen::By::kNothing;
    view.sees_opens = view.hears_opens && opens.counts;
    view.reports = options.reports;
    view.read_before = ReadBeforeOf(read, *setup);
    views.push_back(std::make_unique<View>(std::move(view)));
  }
  if (job_epochs_ != nullptr) JoinEpochs(views);
  auto plain = std::make_unique<PlainReads>(PlainReads::Parts{
      .source = &parts_.source,
      .catalogue = catalogue,
      .open_limit = OpenLimit(),
      .bypass = bypass_,
      .stall = &metrics_.stall(),
      .make_reader = [this](const FileReaderOptions& options) {
        return MakeReader(options);
      }});
  return std::make_unique<const ServedDataset>(
      std::move(catalogue), std::move(plain), std::move(views),
      std::move(opens), std::move(backing));
}

absl::StatusOr<const ServedDataset*> Engine::Load(const LoadOptions& options) {
  CatalogueRequest request;
  request.config = &parts_.config;
  request.source = &parts_.source;
  if (parts_.state != nullptr) request.saved = parts_.state->catalogue();
  request.progress = options.progress;
  request.stop = options.stop;
  ASSIGN_OR_RETURN(FoundCatalogue found, FindCatalogue(request));
  if (found.was_saved && found.catalogue->serves_others()) {
    unchecked_ = found.catalogue;
  }
  verdicts_ = std::move(found.verdicts);
  RETURN_IF_ERROR(JoinPeers(found.catalogue));
  ASSIGN_OR_RETURN(served_owner_,
                   MakeServed(std::move(found.catalogue), options));
  // The threads of a scan and of verdicts leave free memory all over the heap.
  malloc_trim(0);
  served_.store(served_owner_.get(), std::memory_order_release);
  return served_owner_.get();
}

absl::Status Engine::JoinPeers(std::shared_ptr<const Catalogue> catalogue) {
  if (parts_.config.peers.members.empty()) return absl::OkStatus();
  if (parts_.make_transport == nullptr) {
    return absl::FailedPreconditionError("peers: this program has none");
  }
  const uint64_t bytes = producers_.GivePeers(
      parts_.config, parts_.policies.table, pool_->capacity(), [&] {
        return MayHaveContainers(parts_.config, parts_.source, catalogue);
      });
  Peers::Parts parts;
  parts.config = parts_.config.peers;
  // The transport opens these.
  parts.config.secret = Reached(parts_.reach, parts.config.secret);
  parts.config.tls = Reached(parts_.reach, parts.config.tls);
  parts.identity = PeerIdentityOf(parts_, *catalogue);
  parts.make_transport = parts_.make_transport;
  parts.source = &parts_.source;
  parts.catalogue = std::move(catalogue);
  ASSIGN_OR_RETURN(parts.share,
                   pool_->Open({.name = "peers", .guarantee = bytes}));
  job_epochs_ = std::make_unique<JobEpochs>();
  parts.hear = [this](EpochMessage m) { job_epochs_->Hear(std::move(m)); };
  TakeHolders(parts);
  ASSIGN_OR_RETURN(peers_owner_, Peers::Start(std::move(parts)));
  peers_.store(peers_owner_.get(), std::memory_order_release);
  return absl::OkStatus();
}

const View* Engine::ViewAt(const std::string& path) const {
  const ServedDataset* const now = served();
  return now == nullptr ? nullptr : now->ViewAt(path);
}

// What members ask of views whose names they share. No view is asked before
// all are there.
void Engine::TakeHolders(Peers::Parts& parts) {
  parts.bind = [this](const NameQuestion& question)
      -> absl::StatusOr<std::vector<uint64_t>> {
    const View* const view = ViewAt(question.view);
    if (view == nullptr) return absl::FailedPreconditionError("no such view");
    return view->BindForOthers({.owner = "",
                                .binding = question.binding,
                                .names = question.names,
                                .purpose = question.purpose,
                                .wanted = question.wanted,
                                .asker = question.asker});
  };
  parts.holder = [this](EntryId file) -> absl::optional<PeerHolder> {
    const ServedDataset* const now = served();
    if (now == nullptr) return absl::nullopt;
    const auto holder = now->HolderOf(file);
    if (!holder) return absl::nullopt;
    return PeerHolder{holder->member, holder->self};
  };
  parts.read_held = [this](EntryId file, uint64_t offset, uint64_t length,
                           const Peers::ExtentDone& done) {
    return ReadHeld(file, offset, length, done);
  };
  TakeSamples(parts.samples);
}

void Engine::TakeSamples(Peers::Parts::Samples& samples) {
  samples.files = [this](const std::string& path, uint64_t sample) {
    const View* const view = ViewAt(path);
    return view == nullptr ? std::vector<EntryId>()
                           : view->FilesOfShared(sample);
  };
  samples.take = [this](const std::string& path, uint64_t sample,
                        uint64_t most) -> absl::optional<PeerBytes> {
    const View* const view = ViewAt(path);
    if (view == nullptr) return absl::nullopt;
    absl::optional<SampleProducer::HeldBytes> held =
        view->TakeForOthers(sample, most);
    if (!held) return absl::nullopt;
    return PeerBytes{std::move(held->pieces), std::move(held->owner)};
  };
  samples.shown = [this] {
    const ServedDataset* const now = served();
    return now == nullptr ? 0 : now->samples_shown();
  };
}

bool Engine::ReadHeld(EntryId file, uint64_t offset, uint64_t length,
                      const Peers::ExtentDone& done) const {
  const ServedDataset* const now = served();
  if (now == nullptr) return false;
  for (const std::unique_ptr<View>& view : now->views()) {
    const absl::optional<SharedNames::Holder> holder = view->HolderOf(file);
    if (!holder) continue;
    const std::shared_ptr<const ViewSetup> setup = view->setup();
    if (!holder->self || setup->samples == nullptr) return false;
    setup->samples->ReadForOthers(
        file, offset, length,
        [done](absl::StatusOr<SampleProducer::HeldBytes> read) {
          if (!read.ok()) return done(read.status());
          done(PeerBytes{std::move(read->pieces), std::move(read->owner)});
        });
    return true;
  }
  return false;
}

void Engine::AskPeers(const std::string& path,
                      const SharedNames::Question& question,
                      std::chrono::milliseconds within,
                      SharedNames::Answer answer) const {
  const std::shared_ptr<const PeerGroup> group = peers_owner_->group();
  for (size_t i = 0; i < group->members.size(); ++i) {
    if (group->members[i].name != question.owner) continue;
    return peers_owner_->AskNames(group, i,
                                  {.view = path,
                                   .binding = question.binding,
                                   .names = question.names,
                                   .purpose = question.purpose,
                                   .wanted = question.wanted,
                                   .asker = question.asker},
                                  within, std::move(answer));
  }
  answer(absl::UnavailableError("not in the group"));
}

void Engine::JoinEpochs(const std::vector<std::unique_ptr<View>>& views) {
  for (const std::unique_ptr<View>& view : views) {
    job_epochs_->Attach(view->setup()->config.path, view->grouped());
  }
  job_epochs_->Start({.group = [this] { return peers_owner_->group(); },
                      .tell =
                          [this](const JobEpochs::Group& group, size_t index,
                                 const EpochMessage& message) {
                            peers_owner_->Tell(group, index, message);
                          },
                      .prepare = parts_.hooks.switched});
}

std::unique_ptr<FileReader> Engine::MakeReader(
    const FileReaderOptions& options) {
  std::unique_ptr<FileReader> reader = MakeFileReader(parts_.source, options);
  if (peers_owner_ == nullptr) return reader;
  return peers_owner_->Over(std::move(reader));
}

absl::optional<std::string> Engine::FindChangedRights(std::stop_token stop) {
  if (unchecked_ == nullptr) return absl::nullopt;
  const absl::optional<std::string> changed =
      shufflefs::FindChangedRights(parts_.source, *unchecked_, stop);
  unchecked_.reset();
  if (!changed) return absl::nullopt;
  if (absl::Status gone = parts_.state->catalogue().Remove(); !gone.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("catalogue: ", gone.message()));
  }
  return absl::StrCat(*changed, "; the next mount scans again");
}

void Engine::Stop() {
  pool_->Stop();
  if (job_epochs_ != nullptr) job_epochs_->Stop();
  if (peers_owner_ != nullptr) peers_owner_->Stop();
  bypass_->Stop();  // before any reader: a read that ends begins another one
  tiers_.Stop();    // before its readers of the source are destroyed
  records_.Stop();
  producers_.Stop();
  if (const ServedDataset* now = served()) now->plain().Stop();
}

}  // namespace shufflefs
