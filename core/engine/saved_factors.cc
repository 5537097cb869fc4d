// SPDX-License-Identifier: Apache-2.0
#include "core/engine/saved_factors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMostBytes = uint64_t{16} << 20;
constexpr char kFormat[] = "shufflefs learnt factors, 1";

// Paths may have any bytes, but JSON is UTF-8. So they are escaped as in C.
Json Escaped(const std::string& bytes) { return absl::CHexEscape(bytes); }

bool Unescape(const Json& value, std::string& bytes) {
  return value.is_string() && absl::CUnescape(value.get<std::string>(), &bytes);
}

bool TakeFactors(const Json& values, std::vector<uint32_t>& factors) {
  if (!values.is_array() || values.size() > SavedFactors::kMostFactors) {
    return false;
  }
  for (const Json& value : values) {
    if (!value.is_number_unsigned() ||
        value.get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
      return false;
    }
    factors.push_back(value.get<uint32_t>());
  }
  return true;
}

}  // namespace

SavedFactors::SavedFactors(FilePlace place) : place_(std::move(place)) {
  const absl::StatusOr<std::string> text = ReadWholeFile(place_, kMostBytes);
  if (absl::IsNotFound(text.status())) return;
  absl::Status read = text.status();  // names the path
  if (text.ok()) {
    absl::StatusOr<std::vector<Entry>> entries = Parse(*text);
    if (entries.ok()) {
      entries_ = *std::move(entries);
      return;
    }
    read = Annotate(entries.status(), place_.path());
  }
  Log(LogLevel::kWarning,
      absl::StrCat("learnt repeating factors are dropped: ", read.message()));
}

absl::StatusOr<std::vector<SavedFactors::Entry>> SavedFactors::Parse(
    absl::string_view text) {
  const Json file = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  const absl::Status damaged = absl::DataLossError("not what was written");
  if (!file.is_object() || file.value("format", Json()) != kFormat) {
    return damaged;
  }
  const Json list = file.value("learnt", Json());
  if (!list.is_array() || list.size() > kMostKeys) return damaged;
  std::vector<Entry> entries;
  for (const Json& item : list) {
    Entry entry;
    if (!item.is_object()) return damaged;
    const Json dataset = item.value("dataset", Json());
    if (!dataset.is_number_unsigned() ||
        !Unescape(item.value("view", Json()), entry.key.view) ||
        !Unescape(item.value("model", Json()), entry.key.model) ||
        !TakeFactors(item.value("factors", Json()), entry.factors)) {
      return damaged;
    }
    entry.key.dataset = dataset.get<uint64_t>();
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string SavedFactors::Render(const std::vector<Entry>& entries) {
  Json list = Json::array();
  for (const Entry& entry : entries) {
    list.push_back({{"dataset", entry.key.dataset},
                    {"view", Escaped(entry.key.view)},
                    {"model", Escaped(entry.key.model)},
                    {"factors", entry.factors}});
  }
  return Json{{"format", kFormat}, {"learnt", list}}.dump() + "\n";
}

std::vector<uint32_t> SavedFactors::Load(const Key& key) const {
  const MutexLock lock(mu_);
  for (const Entry& entry : entries_) {
    if (entry.key == key) return entry.factors;
  }
  return {};
}

absl::Status SavedFactors::Store(const Key& key,
                                 std::vector<uint32_t> factors) {
  if (factors.size() > kMostFactors) factors.resize(kMostFactors);
  const MutexLock lock(mu_);
  const auto old = std::find_if(entries_.begin(), entries_.end(),
                                [&](const Entry& e) { return e.key == key; });
  if (old != entries_.end()) entries_.erase(old);
  entries_.push_back({key, std::move(factors)});
  if (entries_.size() > kMostKeys) entries_.erase(entries_.begin());
  const std::string text = Render(entries_);
  return ReplaceFile(place_, {text});
}

}  // namespace shufflefs
