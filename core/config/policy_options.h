// SPDX-License-Identifier: Apache-2.0
// The keys of policies, such as `lirs.page`, and their values. Each policy has
// a table of its keys in its entry (core/policy/policy_entry.h). Nothing here
// knows a particular policy.
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

// One key: all that help, man pages, parsers and the resume hash need.
struct PolicyOption {
  enum class Kind {
    kWord,      // one of `words`
    kText,      // any non-empty text
    kPath,      // absolute
    kNumber,    // min to max
    kBytes,     // like kNumber, written as a size
    kNumbers,   // a list of at most `max` whole numbers
    kFraction,  // 0 to 1, as text; 0 if it is not set
  };
  // Value of `place` for a key that was added after places were fixed.
  static constexpr int kByName = std::numeric_limits<int>::max();

  absl::string_view key;
  // The default as help shows it and as users write it. If it cannot be
  // written, words that describe it.
  absl::string_view default_text;
  absl::string_view values;  // completes the sentence "must be …"
  absl::string_view help;    // one line
  Kind kind = Kind::kNumber;
  // The first one is the default.
  absl::Span<const absl::string_view> words = {};
  uint64_t initial = 0;  // value of an unset number; may be out of range
  uint64_t min = 0;
  uint64_t max = std::numeric_limits<uint64_t>::max();
  bool power_of_two = false;
  // How users write `initial` if it is out of range. "": they cannot.
  absl::string_view unset = {};
  bool run_time = true;      // may change while the view is mounted
  bool whole_mount = false;  // one value for all views
  bool common = false;       // most mounts with the policy need it
  // Its name in earlier versions, which goes on working for a release.
  absl::string_view formerly = {};
  // Names show other samples with another value. So an epoch is resumed only
  // with the value with which it began.
  bool binds = false;
  // For a key that binds: its place in the text whose hash ledgers store, among
  // the view's keys (core/view/view_setup.cc). kByName: the key comes after all
  // of these, with its name, and only if it differs from its default. So epochs
  // that began before the key existed can be resumed.
  int place = kByName;
};

// The values of policy keys, by key. A key without a value has its default. A
// plain value. Look-ups compare strings, so read what you need once.
class PolicyOptions {
 public:
  void Set(absl::string_view key, uint64_t number);
  void Set(absl::string_view key, absl::string_view text);
  void Set(absl::string_view key, std::vector<uint64_t> numbers);
  // Adds all values of `others`; they replace existing ones.
  void Add(const PolicyOptions& others);

  // The value of a kNumber or kBytes key.
  uint64_t number(const PolicyOption& option) const;
  // The value of a kWord, kText or kPath key.
  std::string text(const PolicyOption& option) const;
  // The value of a kFraction key.
  double fraction(const PolicyOption& option) const;
  // The value of a kNumbers key.
  std::vector<uint64_t> numbers(const PolicyOption& option) const;
  // The value of a kWord key whose words are those of E, in the same order.
  template <typename E>
  E word(const PolicyOption& option) const {
    return static_cast<E>(WordIndex(option));
  }

  // InvalidArgument names the key, the value and the allowed values.
  [[nodiscard]] absl::Status Check(const PolicyOption& option) const;
  // The value in the form that the resume hash uses.
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
