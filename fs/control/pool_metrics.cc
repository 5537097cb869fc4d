// SPDX-License-Identifier: Apache-2.0
#include "fs/control/pool_metrics.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "core/pool/sample_producer.h"

namespace shufflefs {
namespace {

struct Row {
  const char* name;
  const char* type;
  const char* help;
  double (*value)(const ProducerStatus&);
};

constexpr Row kRows[] = {
    {"shufflefs_pool_hits_total", "counter",
     "names bound to a sample that was in memory or on its way",
     [](const ProducerStatus& s) { return static_cast<double>(s.hits); }},
    {"shufflefs_pool_misses_total", "counter",
     "names bound to a sample that was not",
     [](const ProducerStatus& s) { return static_cast<double>(s.misses); }},
    {"shufflefs_pool_bypass_total", "counter", "samples read alone",
     [](const ProducerStatus& s) { return static_cast<double>(s.bypass); }},
    {"shufflefs_chunk_loads_total", "counter", "chunks that were loaded",
     [](const ProducerStatus& s) {
       return static_cast<double>(s.chunk_loads);
     }},
    {"shufflefs_chunk_fill_ratio", "gauge",
     "share of the loaded chunks' samples that were wanted and fitted",
     [](const ProducerStatus& s) { return s.fill_rate.value_or(0); }},
    {"shufflefs_fill_rate", "gauge",
     "old name of shufflefs_chunk_fill_ratio, for one release",
     [](const ProducerStatus& s) { return s.fill_rate.value_or(0); }},
    {"shufflefs_pool_bytes", "gauge", "samples in memory or on their way",
     [](const ProducerStatus& s) { return static_cast<double>(s.pool_bytes); }},
    {"shufflefs_pool_limit_bytes", "gauge",
     "what they may take if no other view needs memory",
     [](const ProducerStatus& s) {
       return static_cast<double>(s.memory_limit);
     }},
    {"shufflefs_pool_guaranteed_bytes", "gauge",
     "what they may take whatever other views need",
     [](const ProducerStatus& s) {
       return static_cast<double>(s.memory_guaranteed);
     }},
};

// For views with mini-epochs.
struct TierRow {
  const char* name;
  const char* type;
  const char* help;
  double (*value)(const TierStatus&);
};

constexpr TierRow kTierRows[] = {
    {"shufflefs_tier_bytes_total", "counter",
     "bytes of samples read from the performance tier",
     [](const TierStatus& s) { return static_cast<double>(s.tier_bytes); }},
    {"shufflefs_tier_source_bytes_total", "counter",
     "bytes of samples that readers got from the source beside it",
     [](const TierStatus& s) { return static_cast<double>(s.source_bytes); }},
    {"shufflefs_tier_copied_bytes_total", "counter",
     "bytes of samples read from the source to be copied to the tier",
     [](const TierStatus& s) { return static_cast<double>(s.copied_bytes); }},
    {"shufflefs_tier_staged_bytes", "gauge", "what copies take in the tier",
     [](const TierStatus& s) { return static_cast<double>(s.staged_bytes); }},
    {"shufflefs_tier_capacity_bytes", "gauge",
     "bytes of the tier's device that copies may take",
     [](const TierStatus& s) { return static_cast<double>(s.capacity); }},
};

std::string Label(const View& view) {
  return absl::StrReplaceAll(view.name(),
                             {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

// The rows of a table, each for all views that have such a status.
template <typename Rows, typename Status>
void AppendRows(const Rows& rows,
                const std::vector<std::pair<std::string, Status>>& views,
                std::string& text) {
  if (views.empty()) return;
  for (const auto& row : rows) {
    absl::StrAppend(&text, "# HELP ", row.name, " ", row.help, "\n# TYPE ",
                    row.name, " ", row.type, "\n");
    for (const auto& [view, status] : views) {
      absl::StrAppendFormat(&text, "%s{view=\"%s\"} %.17g\n", row.name, view,
                            row.value(status));
    }
  }
}

}  // namespace

std::string PoolMetrics(const std::vector<View*>& views) {
  std::vector<std::pair<std::string, ProducerStatus>> pools;
  std::vector<std::pair<std::string, TierStatus>> tiers;
  for (const View* view : views) {
    const std::shared_ptr<const ViewSetup> setup = view->setup();
    if (setup->records.staging != nullptr) {
      tiers.emplace_back(Label(*view), setup->records.tier());
    }
    if (setup->provider() == nullptr) continue;
    pools.emplace_back(Label(*view), setup->provider()->status());
    if (setup->samples == nullptr || !setup->samples->repeats()) continue;
    tiers.emplace_back(Label(*view), setup->samples->sets().tier());
  }
  std::string text;
  AppendRows(kRows, pools, text);
  AppendRows(kTierRows, tiers, text);
  return text;
}

}  // namespace shufflefs
