// SPDX-License-Identifier: Apache-2.0
#include "core/binding/ranked_names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "xxhash.h"

namespace shufflefs {
namespace {

constexpr size_t kNameMax = 255;
constexpr size_t kRankDigits = 9;
constexpr size_t kHashDigits = 16;
// Room for the widest rank that the catalogue's 32-bit ids allow.
constexpr size_t kPrefixMax = 11;
constexpr size_t kTailMax = 100;

bool NeedsHash(absl::string_view path) {
  return path.find('~') != absl::string_view::npos ||
         path.size() + kPrefixMax > kNameMax;
}

// What the directories of a view's files add to their paths. So nobody makes
// the path of each file to see whether it needs a hash.
class DirectoryForms {
 public:
  // `prefix_bytes`: of the view's own path.
  DirectoryForms(const Catalogue& catalogue, size_t prefix_bytes)
      : catalogue_(catalogue), forms_(catalogue.dir_count()) {
    for (uint32_t d = 0; d < forms_.size(); ++d) {
      const std::string path = catalogue.path(DirId(d));
      if (path.size() <= prefix_bytes) continue;
      forms_[d].bytes = path.size() - prefix_bytes + 1;
      forms_[d].has_tilde = path.find('~', prefix_bytes) != std::string::npos;
    }
  }
  // As NeedsHash, of the file's path.
  bool NeedHash(EntryId file) const {
    const Form& form = forms_[catalogue_.parent(file).value()];
    const absl::string_view name = catalogue_.name(file);
    return form.has_tilde || NeedsHash(name) ||
           form.bytes + name.size() + kPrefixMax > kNameMax;
  }

 private:
  struct Form {
    size_t bytes = 0;  // with the slash behind it
    bool has_tilde = false;
  };
  const Catalogue& catalogue_;
  std::vector<Form> forms_;
};

// "<16 hex>~<tail>", or "<16 hex>~<number>~<tail>". The hash distinguishes
// paths. The tail keeps the extension and a recognisable part of the name.
std::string HashedKey(absl::string_view path, uint64_t number = 0) {
  const uint64_t hash = XXH3_64bits(path.data(), path.size());
  absl::string_view tail = path.substr(path.rfind('/') + 1);
  if (tail.size() > kTailMax) tail = tail.substr(tail.size() - kTailMax);
  if (number == 0) return absl::StrFormat("%016x~%s", hash, tail);
  return absl::StrFormat("%016x~%d~%s", hash, number, tail);
}

}  // namespace

RankedNames::RankedNames(std::shared_ptr<const Dataset> dataset,
                         std::function<void()> waits)
    : dataset_(std::move(dataset)),
      prefix_bytes_(dataset_->root() == DirId(0)
                        ? 0
                        : dataset_->catalogue().path(dataset_->root()).size() +
                              1),
      waits_(std::move(waits)) {}

std::string RankedNames::PathInView(EntryId file) const {
  return dataset_->catalogue().path(file).substr(prefix_bytes_);
}

std::string RankedNames::Name(uint64_t rank, EntryId file) const {
  std::string path = PathInView(file);
  if (NeedsHash(path)) {
    path = HashedName(file, path);
  } else {
    std::replace(path.begin(), path.end(), '/', '~');
  }
  return absl::StrFormat("%09d~%s", rank, path);
}

absl::optional<EntryId> RankedNames::Find(absl::string_view name) const {
  const size_t tilde = name.find('~');
  if (tilde == absl::string_view::npos || tilde < kRankDigits) {
    return absl::nullopt;
  }
  const absl::string_view rank = name.substr(0, tilde);
  if (!std::all_of(rank.begin(), rank.end(), absl::ascii_isdigit)) {
    return absl::nullopt;
  }
  const absl::string_view key = name.substr(tilde + 1);
  const absl::optional<EntryId> plain = FindPlain(key);
  return plain ? plain : FindHashed(key);
}

absl::optional<EntryId> RankedNames::FindPlain(absl::string_view key) const {
  std::string path(key);
  std::replace(path.begin(), path.end(), '~', '/');
  if (NeedsHash(path)) return absl::nullopt;
  const Catalogue& catalogue = dataset_->catalogue();
  std::string full = catalogue.path(dataset_->root());
  if (!full.empty()) full += '/';
  const absl::optional<EntryId> entry = catalogue.FindPath(full + path);
  if (!entry || !dataset_->grouping().place(*entry)) return absl::nullopt;
  return entry;
}

absl::optional<EntryId> RankedNames::FindHashed(absl::string_view key) const {
  if (key.size() <= kHashDigits || key[kHashDigits] != '~') {
    return absl::nullopt;
  }
  const std::shared_ptr<const Hashed> hashed = Collected();
  const auto found = hashed->files.find(key);
  if (found == hashed->files.end()) return absl::nullopt;
  return found->second;
}

std::string RankedNames::HashedName(EntryId file,
                                    absl::string_view path) const {
  const std::shared_ptr<const Hashed> hashed = Collected();
  const auto number = hashed->numbers.find(file);
  return HashedKey(path, number == hashed->numbers.end() ? 0 : number->second);
}

std::shared_ptr<const RankedNames::Hashed> RankedNames::Collected() const {
  if (std::shared_ptr<const Hashed> known = collected_.Get()) return known;
  if (waits_) waits_();
  MutexLock one_at_a_time(collecting_mu_);
  if (std::shared_ptr<const Hashed> known = collected_.Get()) return known;
  collected_.Set(std::make_shared<const Hashed>(Collect()));
  return collected_.Get();
}

bool RankedNames::Claim(const std::string& key, EntryId file,
                        Hashed& hashed) const {
  // A path of the plain form may spell the name of a hashed one.
  return !FindPlain(key) && hashed.files.emplace(key, file).second;
}

std::vector<EntryId> RankedNames::FilesToHash() const {
  const DirectoryForms forms(dataset_->catalogue(), prefix_bytes_);
  const Grouping& grouping = dataset_->grouping();
  std::vector<EntryId> files;
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    for (uint64_t k = 0; k < uint64_t{group.samples} * group.columns; ++k) {
      const EntryId file =
          grouping.member(GroupId(g), k / group.columns, k % group.columns);
      if (forms.NeedHash(file)) files.push_back(file);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

RankedNames::Hashed RankedNames::Collect() const {
  Hashed hashed;
  std::vector<EntryId> refused;
  for (const EntryId file : FilesToHash()) {
    if (!Claim(HashedKey(PathInView(file)), file, hashed)) {
      refused.push_back(file);
    }
  }
  absl::flat_hash_map<std::string, uint64_t> last;  // by the refused name
  for (const EntryId file : refused) {
    const std::string path = PathInView(file);
    uint64_t& number = last.try_emplace(HashedKey(path), 1).first->second;
    while (!Claim(HashedKey(path, ++number), file, hashed)) {
    }
    hashed.numbers[file] = number;
  }
  return hashed;
}

}  // namespace shufflefs
