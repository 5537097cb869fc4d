// SPDX-License-Identifier: Apache-2.0
// The keys of policies, such as `lirs.page`, and what they hold. Each policy
// has a table of its keys in its entry (core/policy/policy_entry.h); nothing
// here knows one of them.
#ifndef SHUFFLEFS_CORE_CONFIG_POLICY_OPTIONS_H_
#define SHUFFLEFS_CORE_CONFIG_POLICY_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace shufflefs {

// One key: all that help, man pages, parsers and the hash of a resume need.
struct PolicyOption {
  enum class Kind {
    kWord,     // one of `words`
    kText,     // any, but not empty
    kPath,     // absolute
    kNumber,   // min to max
    kBytes,    // as kNumber, written as a size
    kNumbers,  // a list of at most `max` whole numbers
  };
  // Of `place`: the key came later than the places, see there.
  static constexpr int kByName = std::numeric_limits<int>::max();

  absl::string_view key;
  // As help shows it, and as the default is written; where it cannot be
  // written, words that say what happens instead.
  absl::string_view default_text;
  absl::string_view values;  // completes the sentence "must be …"
  absl::string_view help;    // one line
  Kind kind = Kind::kNumber;
  absl::Span<const absl::string_view> words =
      {};                // the first one is the default
  uint64_t initial = 0;  // a number that is not given; may be out of range
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<uint64_t>::max();
  bool power_of_two = false;
  // How `initial` is written where that is out of range; "": not at all.
  absl::string_view unset = {};
  bool run_time = true;      // may change while the view is mounted
  bool whole_mount = false;  // one for all views
  // Whether names show other samples with another value: an epoch is resumed
  // only with the value with which it began.
  bool binds = false;
  // Of a key that binds: its place in the text whose hash ledgers keep, beside
  // those of the view's keys (core/view/view_setup.cc). kByName: behind all of
  // these, with its name, and only where it does not hold its default, so that
  // epochs that began before there was such a key are resumed.
  int place = kByName;
};

// The values of keys, by key. A key without a value holds its default. A plain
// value; look-ups compare strings, so read what you need once.
class PolicyOptions {
 public:
  void Set(absl::string_view key, uint64_t number);
  void Set(absl::string_view key, absl::string_view text);
  void Set(absl::string_view key, std::vector<uint64_t> numbers);
  // Takes over all values of `others`.
  void Add(const PolicyOptions& others);

  // The value of a kNumber or kBytes.
  uint64_t number(const PolicyOption& option) const;
  // Of a kWord, kText or kPath.
  std::string text(const PolicyOption& option) const;
  // Of a kNumbers.
  std::vector<uint64_t> numbers(const PolicyOption& option) const;
  // Of a kWord whose words are those of E, in the same order.
  template <typename E>
  E word(const PolicyOption& option) const {
    return static_cast<E>(WordIndex(option));
  }

  // InvalidArgument that names the key, the value and what is allowed.
  [[nodiscard]] absl::Status Check(const PolicyOption& option) const;
  // The value as the hash of a resume takes it.
  std::string HashText(const PolicyOption& option) const;

  friend bool operator==(const PolicyOptions&, const PolicyOptions&) = default;

 private:
  using Value = std::variant<uint64_t, std::string, std::vector<uint64_t>>;
  template <typename T>
  const T* Find(const PolicyOption& option) const {
    const auto found = values_.find(option.key);
    return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
  }
  size_t WordIndex(const PolicyOption& option) const;

  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_CONFIG_POLICY_OPTIONS_H_
