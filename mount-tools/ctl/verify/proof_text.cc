// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/verify/proof_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/config/value_text.h"
#include "mount-tools/ctl/check/quality_text.h"

namespace shufflefs {
namespace {

using ProofObject = nlohmann::ordered_json;

// The view's name in the control directory.
std::string ViewName(const std::string& path) {
  if (path.empty()) return "root";
  return absl::StrReplaceAll(path, {{"/", "~"}});
}

std::string ViewName(const LedgerEpoch& epoch) {
  return ViewName(epoch.view_path);
}

std::string ShownName(const LedgerEpoch& epoch) {
  return ShownPath(ViewName(epoch));
}

std::string Consumed(const EpochProof& epoch) {
  if (epoch.twice > 0) {
    return absl::StrCat("BROKEN: ", HumanCount(epoch.twice), " consumed again");
  }
  if (epoch.begin.reactive && epoch.unnamed > 0) {
    return absl::StrCat("BROKEN: ", HumanCount(epoch.unnamed),
                        " shown, and not recorded under which name");
  }
  if (epoch.bound_anew > 0) {
    return absl::StrCat("BROKEN: ", HumanCount(epoch.bound_anew),
                        " names had been opened for it, and were bound anew");
  }
  if (epoch.consumed == 0) return "nothing recorded as read";
  return absl::StrCat(
      HumanCount(epoch.consumed), " of ", HumanCount(epoch.begin.names),
      epoch.running && !epoch.complete() ? " so far" : "", ", each once",
      epoch.in_part()
          ? absl::StrCat("; ", HumanCount(epoch.begin.names - epoch.consumed),
                         " not opened")
          : "");
}

std::string Bijection(const EpochProof& epoch) {
  if (epoch.bijection.ok()) {
    if (epoch.begin.repeats) return "each name one sample of its group";
    return epoch.begin.reactive ? "pairs one to one within groups"
                                : "bijection";
  }
  return absl::StrCat(absl::IsDataLoss(epoch.bijection)
                          ? "BROKEN: no bijection: "
                          : "not replayed: ",
                      ShownPath(epoch.bijection.message()));
}

// What an ended epoch left out, if anything was read.
std::string LeftOut(const EpochProof& epoch) {
  if (epoch.running || epoch.consumed == 0 || epoch.not_shown.empty()) {
    return "";
  }
  return absl::StrCat(
      "; ", HumanCount(epoch.begin.names - epoch.consumed),
      " not shown, first ", ShownPath(epoch.not_shown),
      epoch.not_read.empty()
          ? ""
          : absl::StrCat(", for nobody read ", ShownPath(epoch.not_read)));
}

const absl::Status* LiveStatus(const VerifyResult& result,
                               const EpochProof& epoch) {
  const auto it = result.live.find(epoch.begin.view_path);
  return epoch.running && it != result.live.end() ? &it->second : nullptr;
}

// "" if it was, or if nothing was to be compared.
std::string NotCompared(const VerifyResult& result, const EpochProof& epoch) {
  const auto it = result.not_compared.find(epoch.begin.view_path);
  return epoch.running && it != result.not_compared.end() ? it->second : "";
}

std::string EpochLine(const VerifyResult& result, const EpochProof& epoch) {
  const LedgerEpoch& begin = epoch.begin;
  std::string line = absl::StrCat(
      ShownName(begin), "  epoch ", begin.epoch.value(), ", ",
      ShownPath(begin.policy),
      begin.binding == begin.epoch
          ? ""
          : absl::StrCat(", held since ", begin.binding.value()),
      ": ", Consumed(epoch), LeftOut(epoch), "; ", Bijection(epoch));
  for (const std::string& change : epoch.switches) {
    absl::StrAppend(&line, "; switched: ", ShownPath(change));
  }
  if (const absl::Status* live = LiveStatus(result, epoch)) {
    absl::StrAppend(
        &line, live->ok()
                   ? "; the mount shows it"
                   : absl::StrCat("; BROKEN: ", ShownPath(live->message())));
  }
  if (const std::string why = NotCompared(result, epoch); !why.empty()) {
    absl::StrAppend(&line, "; not compared with the mount: ", ShownPath(why));
  }
  if (epoch.times) {
    absl::StrAppend(&line, "; samples shown ", epoch.times->fewest, " to ",
                    epoch.times->most, " times in all");
  }
  if (epoch.quality) {
    absl::StrAppend(&line, "; mixing ",
                    IsGraded(*epoch.quality)
                        ? std::string(1, epoch.quality->grade)
                        : "not graded");
  }
  return line + "\n";
}

// How many epochs are proven.
struct Counts {
  uint64_t proven = 0;
  uint64_t in_part = 0;
  uint64_t unread = 0;  // only the bijection is proven
  uint64_t skipped = 0;
  bool any() const { return proven + in_part + unread > 0; }
};

// Where no open was seen, nothing says that each sample came once. What a
// reactive epoch shows is proven from its opens.
bool Unread(const EpochProof& epoch) {
  return epoch.consumed == 0 && !epoch.begin.reactive;
}

bool InPart(const EpochProof& epoch) {
  return epoch.in_part() || epoch.consumed == 0;
}

Counts CountsOf(const LedgerProof& proof) {
  Counts counts;
  for (const EpochProof& epoch : proof.epochs) {
    if (epoch.broken()) continue;
    ++(!epoch.bijection.ok() ? counts.skipped
       : Unread(epoch)       ? counts.unread
       : InPart(epoch)       ? counts.in_part
                             : counts.proven);
  }
  return counts;
}

std::string CountsText(const Counts& counts, size_t epochs, bool broken) {
  const std::string of =
      absl::StrCat(" of ", epochs, epochs == 1 ? " epoch" : " epochs");
  const bool bijections_only =
      !broken && counts.unread > 0 && counts.proven + counts.in_part == 0;
  if (bijections_only) {
    return absl::StrCat("bijection proven, reads not seen: ", counts.unread,
                        of);
  }
  std::string text = absl::StrCat(broken         ? "not proven: "
                                  : counts.any() ? "proven: "
                                                 : "nothing is proven: ",
                                  counts.proven, of);
  if (counts.unread > 0) {
    absl::StrAppend(&text, ", ", counts.unread,
                    counts.unread == 1 ? " bijection" : " bijections",
                    " proven but reads not seen");
  }
  if (counts.in_part > 0) {
    absl::StrAppend(&text, ", ", counts.in_part,
                    " as far as names were opened");
  }
  return text;
}

// How much of a ledger is proven.
std::string VerdictText(const LedgerProof& proof, bool broken) {
  const Counts counts = CountsOf(proof);
  std::string text = CountsText(counts, proof.epochs.size(), broken);
  if (counts.skipped > 0) {
    absl::StrAppend(&text, ", ", counts.skipped,
                    " skipped: the dataset or settings changed");
  }
  return text;
}

std::string NodeName(const VerifyResult& result, size_t node) {
  return node == 0 ? "this node" : result.others[node - 1].path;
}

std::string JointLine(const VerifyResult& result, const JointEpoch& epoch) {
  std::string line = absl::StrCat(
      ShownPath(ViewName(epoch.view_path)), "  epoch ", epoch.epoch, " on ",
      epoch.nodes.size(), epoch.nodes.size() == 1 ? " node: " : " nodes: ",
      HumanCount(epoch.consumed), " of ", HumanCount(epoch.names),
      epoch.running && !epoch.complete() ? " so far" : "");
  if (epoch.again == 0) {
    line += ", each once";
  } else {
    absl::StrAppend(&line, "; ", HumanCount(epoch.again),
                    " times a sample came on one more node");
  }
  if (epoch.early > 0) {
    absl::StrAppend(&line, "; ", HumanCount(epoch.early),
                    " carried from the epoch before");
  }
  if (!epoch.running && !epoch.complete()) {
    absl::StrAppend(&line, "; ",
                    HumanCount(epoch.names - epoch.consumed - epoch.early),
                    " not opened");
  }
  if (epoch.held) line += "; held, so opens near its ends may count elsewhere";
  for (const size_t node : epoch.others) {
    const bool apart =
        epoch.broken() && absl::c_linear_search(epoch.apart, node);
    absl::StrAppend(&line, apart ? "; BROKEN: " : "; ",
                    "names showed other samples on ",
                    ShownPath(NodeName(result, node)));
  }
  return line + "\n";
}

// How many of the epochs that ended came once on all nodes together.
std::string JointVerdict(const std::vector<JointEpoch>& joint) {
  Counts counts;
  size_t ended = 0;
  uint64_t more = 0;
  for (const JointEpoch& epoch : joint) {
    if (epoch.running) continue;
    ++ended;
    ++(!epoch.once()      ? more
       : epoch.complete() ? counts.proven
                          : counts.in_part);
  }
  if (ended == 0) return "";
  const bool broken = absl::c_any_of(
      joint, [](const JointEpoch& epoch) { return epoch.broken(); });
  std::string text =
      absl::StrCat("all nodes together  ", CountsText(counts, ended, broken));
  if (more > 0) {
    absl::StrAppend(&text, ", ", more, " not as one, as said above");
  }
  return text + "\n";
}

// What other nodes' ledgers say, and all together.
std::string OthersText(const VerifyResult& result) {
  std::string text;
  for (const VerifyResult::Other& other : result.others) {
    absl::StrAppend(&text, ShownPath(other.path), "  ",
                    VerdictText(other.proof, other.proof.broken()), "\n");
  }
  for (const JointEpoch& epoch : result.joint) {
    absl::StrAppend(&text, JointLine(result, epoch));
  }
  text += JointVerdict(result.joint);
  if (!result.others.empty() && result.joint.empty()) {
    text += "no epoch was recorded on two nodes: do they mount one dataset?\n";
  }
  return text;
}

// The measures of each view's last measured epoch.
std::string QualityTables(const LedgerProof& proof) {
  std::map<std::string, const EpochProof*> last;
  for (const EpochProof& epoch : proof.epochs) {
    if (epoch.quality) last[ShownName(epoch.begin)] = &epoch;
  }
  std::string text;
  for (const auto& [view, epoch] : last) {
    absl::StrAppend(
        &text, view, "  epoch ", epoch->begin.epoch.value(),
        epoch->begin.reactive ? " as it was read:\n" : " as it is planned:\n",
        QualityText(*epoch->quality, "the epoch before"));
    const auto memory = proof.memory.find(epoch->begin.view_path);
    if (memory == proof.memory.end()) continue;
    absl::StrAppend(&text, EpochMemoryText(memory->second));
  }
  return text;
}

ProofObject TextOrNull(const std::string& text) {
  return text.empty() ? ProofObject() : ProofObject(text);
}

ProofObject EpochObject(const VerifyResult& result, const EpochProof& epoch) {
  const absl::Status* live = LiveStatus(result, epoch);
  return {{"view", ViewName(epoch.begin)},
          {"epoch", epoch.begin.epoch.value()},
          {"binding", epoch.begin.binding.value()},
          {"policy", epoch.begin.policy},
          {"seed", epoch.begin.seed.value()},
          {"running", epoch.running},
          {"names", epoch.begin.names},
          {"consumed", epoch.consumed},
          {"consumed_again", epoch.twice},
          {"bound_anew", epoch.bound_anew},
          {"complete", epoch.complete()},
          {"consumed_without_name",
           epoch.begin.reactive ? ProofObject(epoch.unnamed) : ProofObject()},
          {"reactive", epoch.begin.reactive},
          {"first_not_shown", TextOrNull(epoch.not_shown)},
          {"first_not_read", TextOrNull(epoch.not_read)},
          {"repeats", epoch.begin.repeats},
          {"shown_fewest",
           epoch.times ? ProofObject(epoch.times->fewest) : ProofObject()},
          {"shown_most",
           epoch.times ? ProofObject(epoch.times->most) : ProofObject()},
          {"carried", epoch.begin.retained.size()},
          {"switched", epoch.switches},
          {"bijection", epoch.bijection.ok()                ? ProofObject(true)
                        : absl::IsDataLoss(epoch.bijection) ? ProofObject(false)
                                                            : ProofObject()},
          {"bijection_why", std::string(epoch.bijection.message())},
          {"shown_by_mount",
           live == nullptr ? ProofObject() : ProofObject(live->ok())},
          {"not_compared", TextOrNull(NotCompared(result, epoch))},
          {"mixing_of", !epoch.quality         ? ProofObject()
                        : epoch.begin.reactive ? ProofObject("reading")
                                               : ProofObject("plan")},
          {"mixing",
           epoch.quality ? QualityObject(*epoch.quality) : ProofObject()}};
}

ProofObject JointObject(const VerifyResult& result, const JointEpoch& epoch) {
  const auto names = [&](const std::vector<size_t>& nodes) {
    ProofObject array = ProofObject::array();
    for (const size_t node : nodes) array.push_back(NodeName(result, node));
    return array;
  };
  return {{"view", ViewName(epoch.view_path)},
          {"epoch", epoch.epoch},
          {"running", epoch.running},
          {"names", epoch.names},
          {"nodes", names(epoch.nodes)},
          {"showed_other_samples", names(epoch.others)},
          {"bound_differently", names(epoch.apart)},
          {"consumed", epoch.consumed},
          {"consumed_on_one_more_node", epoch.again},
          {"carried_from_before", epoch.early},
          {"held", epoch.held},
          {"complete", epoch.complete()},
          {"once", epoch.once()}};
}

bool Proven(const LedgerProof& proof) {
  return !proof.broken() && CountsOf(proof).any();
}

void AddOthers(const VerifyResult& result, ProofObject& json) {
  ProofObject others = ProofObject::array();
  for (const VerifyResult::Other& other : result.others) {
    others.push_back({{"path", other.path}, {"proven", Proven(other.proof)}});
  }
  ProofObject joint = ProofObject::array();
  for (const JointEpoch& epoch : result.joint) {
    joint.push_back(JointObject(result, epoch));
  }
  json["others"] = std::move(others);
  json["joint"] = std::move(joint);
}

}  // namespace

bool VerifyResult::broken() const {
  return proof.broken() ||
         std::any_of(others.begin(), others.end(),
                     [](const Other& other) { return other.proof.broken(); }) ||
         std::any_of(joint.begin(), joint.end(),
                     [](const JointEpoch& epoch) { return epoch.broken(); }) ||
         std::any_of(live.begin(), live.end(),
                     [](const auto& view) { return !view.second.ok(); });
}

bool VerifyResult::proven() const { return !broken() && CountsOf(proof).any(); }

std::string ProofText(const VerifyResult& result) {
  std::string text;
  for (const EpochProof& epoch : result.proof.epochs) {
    absl::StrAppend(&text, EpochLine(result, epoch));
  }
  if (!result.proof.ledger.ok()) {
    absl::StrAppend(&text, "BROKEN: ", ShownPath(result.proof.ledger.message()),
                    "\n");
  }
  absl::StrAppend(&text, VerdictText(result.proof, result.broken()), "\n",
                  OthersText(result));
  return text + QualityTables(result.proof);
}

std::string ProofJson(const VerifyResult& result) {
  ProofObject epochs = ProofObject::array();
  for (const EpochProof& epoch : result.proof.epochs) {
    epochs.push_back(EpochObject(result, epoch));
  }
  const auto in_part =
      std::count_if(result.proof.epochs.begin(), result.proof.epochs.end(),
                    [](const EpochProof& epoch) { return epoch.in_part(); });
  ProofObject memory = ProofObject::object();
  for (const auto& [view, report] : result.proof.memory) {
    memory[ViewName(view)] = EpochMemoryArray(report);
  }
  ProofObject json = {
      {"proven", result.proven()},
      {"opened_in_part", in_part},
      {"reads_not_seen", CountsOf(result.proof).unread},
      {"ledger", result.proof.ledger.ok()
                     ? std::string("ok")
                     : std::string(result.proof.ledger.message())},
      {"epochs", std::move(epochs)},
      {"epoch_memory", std::move(memory)}};
  if (!result.others.empty()) AddOthers(result, json);
  return json.dump(2, ' ', false, ProofObject::error_handler_t::replace) + "\n";
}

}  // namespace shufflefs
