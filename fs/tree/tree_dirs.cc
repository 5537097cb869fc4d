// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/tree_dirs.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/binding/listing.h"
#include "core/binding/ranked_names.h"
#include "fs/model/reply_types.h"

namespace shufflefs {
namespace {

// Fills in everything except the nodeid.
void Describe(const Catalogue& catalogue, EntryId name, EntryId shown,
              DirEntry& out) {
  const absl::string_view bytes = catalogue.name(name);
  out.name.assign(bytes.data(), bytes.size());
  const Catalogue::Identity identity = catalogue.identity(shown);
  out.ino = identity.ino;
  out.type = identity.type;
  out.nodeid = 0;
}

// Maximum number of entries that are processed together.
constexpr size_t kMostTogether = 64;

// A name that cannot be looked up is not listed either.
void HideBehindControl(DirId dir, DirEntry& out) {
  if (dir == DirId(0) && out.name == kControlName) out.name.clear();
}

Node LiveNode(const Catalogue& catalogue, EntryId shown) {
  if (catalogue.kind(shown) == EntryKind::kDirectory) {
    return Node{NodeKind::kLiveDir, 0, 0, catalogue.as_dir(shown).value()};
  }
  return Node{NodeKind::kLiveFile, 0, 0, shown.value()};
}

class SourceOrderDir : public DirHandle {
 public:
  SourceOrderDir(const Catalogue& catalogue, DirId dir)
      : catalogue_(catalogue), dir_(dir) {}
  bool Get(uint64_t offset, DirEntry& out) const override {
    if (DotEntry(offset, catalogue_.dir_attributes(dir_).ino, out)) return true;
    const uint64_t k = offset - 2;
    if (k >= catalogue_.dir_size(dir_)) return false;
    const EntryId entry = catalogue_.in_source_order(dir_, k);
    Describe(catalogue_, entry, entry, out);
    HideBehindControl(dir_, out);
    out.nodeid = PackNode(LiveNode(catalogue_, entry));
    return true;
  }

 private:
  const Catalogue& catalogue_;
  const DirId dir_;
};

// A directory of a view in the order of one epoch. In a live one, names that
// may rebind are listed unbound (nodeid 0), so that a reply that an epoch
// switch overtakes cannot leave an old binding in the kernel. The dentry
// warmer's listings cannot be overtaken, so they bind (`binds`), but for
// containers: a lookup of one takes its records.
class EpochDir : public DirHandle {
 public:
  struct Binds {
    bool binds = false;
    std::shared_ptr<RecordEpoch> records;  // may be null
  };
  EpochDir(const Catalogue& catalogue, std::shared_ptr<const Binding> binding,
           Node node, Binds binds)
      : catalogue_(catalogue),
        listing_(std::move(binding), DirId(node.id)),
        node_(node),
        binds_(std::move(binds)) {}
  bool Get(uint64_t offset, DirEntry& out) const override {
    if (DotEntry(offset, catalogue_.dir_attributes(DirId(node_.id)).ino, out)) {
      return true;
    }
    const uint64_t k = offset - 2;
    if (k >= listing_.size()) return false;
    const EntryId entry = listing_.At(k);
    Fill(entry, listing_.binding().Shown(entry), out);
    return true;
  }

  // Works in steps, each over all entries. The rows are far apart, and this way
  // their cache misses overlap.
  size_t GetBatch(uint64_t offset, absl::Span<DirEntry> out) const override {
    if (offset < 2) return Get(offset, out[0]) ? 1 : 0;
    const uint64_t from = offset - 2;
    if (from >= listing_.size()) return 0;
    const size_t count =
        std::min({out.size(), kMostTogether,
                  static_cast<size_t>(listing_.size() - from)});
    std::array<EntryId, kMostTogether> names;
    std::array<EntryId, kMostTogether> shown;
    const Grouping& grouping = listing_.binding().plan().dataset().grouping();
    for (size_t i = 0; i < count; ++i) {
      names[i] = listing_.At(from + i);
      catalogue_.PrefetchName(names[i]);
      grouping.Prefetch(names[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      shown[i] = listing_.binding().Shown(names[i]);
      catalogue_.PrefetchIdentity(shown[i]);
      catalogue_.PrefetchNameBytes(names[i]);
    }
    for (size_t i = 0; i < count; ++i) Fill(names[i], shown[i], out[i]);
    return count;
  }

 private:
  void Fill(EntryId entry, EntryId shown, DirEntry& out) const {
    Describe(catalogue_, entry, shown, out);
    if (binds_.binds &&
        (binds_.records == nullptr || !binds_.records->Has(entry))) {
      out.nodeid = PackNode(LiveNode(catalogue_, shown));
    }
    if (node_.kind == NodeKind::kLiveDir) {
      HideBehindControl(DirId(node_.id), out);
    }
    if (node_.kind == NodeKind::kFixedDir &&
        catalogue_.kind(entry) == EntryKind::kDirectory) {
      Node child = node_;
      child.id = catalogue_.as_dir(entry).value();
      out.ino = PackNode(child);
    }
  }

  const Catalogue& catalogue_;
  const Listing listing_;
  const Node node_;
  const Binds binds_;
};

class RankedDir : public DirHandle {
 public:
  RankedDir(const Catalogue& catalogue,
            std::shared_ptr<const RankedNames> names,
            std::shared_ptr<const Binding> binding)
      : catalogue_(catalogue),
        names_(std::move(names)),
        binding_(std::move(binding)) {
    const Grouping& grouping = binding_->plan().dataset().grouping();
    uint32_t columns = 1;
    for (uint32_t g = 0; g < grouping.group_count(); ++g) {
      columns = std::max<uint32_t>(columns, grouping.group(GroupId(g)).columns);
    }
    columns_ = columns;
  }

  // An offset is rank * columns_ + column. A sample of a group with fewer
  // columns leaves a gap, which is skipped.
  bool Get(uint64_t offset, DirEntry& out) const override {
    const Dataset& dataset = binding_->plan().dataset();
    const Grouping& grouping = dataset.grouping();
    if (DotEntry(offset, catalogue_.dir_attributes(dataset.root()).ino, out)) {
      return true;
    }
    const uint64_t rank = (offset - 2) / columns_;
    if (rank >= grouping.sample_count()) return false;
    const SampleId sample(binding_->plan().view_order().SampleAt(rank));
    const GroupId id = grouping.group_of(sample);
    const Grouping::Group& group = grouping.group(id);
    const uint32_t column = (offset - 2) % columns_;
    out.nodeid = 0;
    if (column >= group.columns) {
      out.name.clear();
      return true;
    }
    const EntryId file =
        grouping.member(id, sample.value() - group.first_sample, column);
    Describe(catalogue_, file, file, out);
    out.name = names_->Name(rank, file);
    return true;
  }

 private:
  const Catalogue& catalogue_;
  const std::shared_ptr<const RankedNames> names_;
  const std::shared_ptr<const Binding> binding_;
  uint32_t columns_ = 1;
};

}  // namespace

std::unique_ptr<DirHandle> MakeSourceDir(const ServedDataset& served,
                                         DirId dir) {
  return std::make_unique<SourceOrderDir>(served.catalogue(), dir);
}

std::unique_ptr<DirHandle> MakeLiveDir(const ServedDataset& served,
                                       const View& view, DirId dir,
                                       bool binds) {
  const std::shared_ptr<const LiveEpoch> live = view.live();
  return std::make_unique<EpochDir>(served.catalogue(), live->binding,
                                    Node{NodeKind::kLiveDir, 0, 0, dir.value()},
                                    EpochDir::Binds{binds, live->records});
}

std::unique_ptr<DirHandle> MakeFixedDir(const ServedDataset& served,
                                        std::shared_ptr<const Binding> binding,
                                        Node node) {
  return std::make_unique<EpochDir>(served.catalogue(), std::move(binding),
                                    node, EpochDir::Binds());
}

std::unique_ptr<DirHandle> MakeRankedDir(
    const ServedDataset& served, const View& view,
    std::shared_ptr<const Binding> binding) {
  return std::make_unique<RankedDir>(served.catalogue(), view.setup()->ranked,
                                     std::move(binding));
}

}  // namespace shufflefs
