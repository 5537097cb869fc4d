// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/grouping_builder.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/dataset/file_kinds.h"
#include "core/dataset/splits.h"

namespace shufflefs {
namespace {

// If text files outnumber all others by this factor, they are the samples.
constexpr uint64_t kTextMajority = 100;

bool SpeaksOfOthers(FileKind kind) {
  return kind == FileKind::kManifest || kind == FileKind::kText;
}

}  // namespace

void GroupingBuilder::MarkDirectories() {
  fixed_dirs_ = SplitDirs(catalogue_);
  for (const DirId view : options_.other_views)
    fixed_dirs_[view.value()] = true;
  uint32_t root = options_.root.value();
  uint32_t end = catalogue_.subtree_end(options_.root).value();
  for (uint32_t d = root + 1; d < end; ++d) {
    FileKind kind =
        KindOfDirectoryName(catalogue_.name(*catalogue_.entry_of(DirId(d))));
    if (fixed_dirs_[catalogue_.parent(DirId(d)).value()] ||
        kind == FileKind::kHidden ||
        (kind == FileKind::kContainer && sorts_out_)) {
      fixed_dirs_[d] = true;
    }
  }
}

// Decides whether text files are the samples of this view or describe other
// files, and whether containers are samples or are beside them.
void GroupingBuilder::CountFiles() {
  const uint32_t first = options_.root.value();
  const uint32_t end = catalogue_.subtree_end(options_.root).value();
  std::atomic<uint64_t> text = 0;
  std::atomic<uint64_t> others = 0;
  std::atomic<uint64_t> containers = 0;
  ParallelFor(end - first, ParallelOptions::ToCompute("kinds"),
              [&](uint64_t begin, uint64_t until) {
                for (uint64_t i = begin; i < until; ++i) {
                  const DirId dir(first + static_cast<uint32_t>(i));
                  if (fixed_dirs_[dir.value()]) continue;
                  const Kinds kinds = KindsIn(dir);
                  text += kinds.text;
                  others += kinds.others;
                  containers += kinds.containers;
                }
                return true;
              });
  text_view_ = others * kTextMajority <= text;
  containers_stay_ = others > 2 * containers && labels_.label_of.empty();
}

GroupingBuilder::Kinds GroupingBuilder::KindsIn(DirId dir) const {
  Kinds kinds;
  KindMemo memo;
  const uint32_t first = catalogue_.first_entry(dir).value();
  for (uint32_t e = first; e < first + catalogue_.dir_size(dir); ++e) {
    const EntryId entry(e);
    if (catalogue_.kind(entry) != EntryKind::kFile) continue;
    const FileKind kind = memo.KindOf(catalogue_.name(entry));
    if (kind == FileKind::kHidden || kind == FileKind::kDocument) continue;
    ++(SpeaksOfOthers(kind) ? kinds.text : kinds.others);
    kinds.containers += kind == FileKind::kContainer;
  }
  return kinds;
}

GroupingBuilder::File GroupingBuilder::Describe(EntryId entry,
                                                bool text_is_sample) {
  absl::string_view name = catalogue_.name(entry);
  FileKind kind = FileKind::kUnknown;
  if (sorts_out_) kind = kinds_.KindOf(name);
  absl::string_view extension = kinds_.ExtensionOf(name);
  File file;
  file.entry = entry.value();
  file.extension = sets_.Extension(extension);
  file.stem = name;
  file.pairs = !extension.empty() && options_.pair == PairMode::kStem;
  if (file.pairs) file.stem.remove_suffix(extension.size() + 1);
  file.fixed = catalogue_.kind(entry) != EntryKind::kFile ||
               catalogue_.tables().size[entry.value()] == 0 ||
               !catalogue_.readable(entry) || IsSplitName(name);
  if (sorts_out_ && !file.fixed) {
    file.fixed = kind == FileKind::kDocument || kind == FileKind::kHidden;
    file.manifest = SpeaksOfOthers(kind) && !text_is_sample;
    file.container = kind == FileKind::kContainer;
  }
  return file;
}

void GroupingBuilder::CollectFiles(DirId dir) {
  files_.clear();
  uint32_t first = catalogue_.first_entry(dir).value();
  uint32_t end = first + catalogue_.dir_size(dir);
  bool leaf = catalogue_.subtree_end(dir).value() == dir.value() + 1;
  bool dotted = false;
  for (uint32_t e = first; e < end; ++e) {
    EntryId entry(e);
    if (catalogue_.kind(entry) == EntryKind::kDirectory ||
        catalogue_.name(entry)[0] == '.') {
      continue;
    }
    files_.push_back(Describe(entry, text_view_ && leaf));
    const File& file = files_.back();
    dotted |= file.stem.find('.') != absl::string_view::npos;
  }
  // Names are sorted, so files that share a stem are already neighbours if no
  // stem has a dot: everything that sorts between a.x and a.y also begins with
  // "a.". The name a.jpg_original has no extension, so it is its own stem.
  if (!dotted) return;
  std::stable_sort(
      files_.begin(), files_.end(),
      [](const File& a, const File& b) { return a.stem < b.stem; });
}

absl::StatusOr<uint32_t> GroupingBuilder::LabelOf(const File* begin,
                                                  const File* end) {
  uint32_t label = GroupLabels::kNone;
  if (labels_.label_of.empty()) return label;
  uint32_t line = 0;
  for (const File* file = begin; file != end; ++file) {
    auto at = labels_.label_of.find(EntryId(file->entry));
    if (at == labels_.label_of.end()) continue;
    if (label != GroupLabels::kNone && label != at->second) {
      return absl::InvalidArgumentError(
          absl::StrCat(options_.groups_name, ":",
                       labels_.line_of.find(EntryId(file->entry))->second, ": ",
                       catalogue_.name(EntryId(file->entry)),
                       " is one sample with the file of line ", line,
                       ", which is in another group"));
    }
    label = at->second;
    line = labels_.line_of.find(EntryId(file->entry))->second;
  }
  return label;
}

uint32_t GroupingBuilder::AccessOf(const File* begin, const File* end) {
  const AccessTable& table = catalogue_.access_table();
  if (table.count() == 1 && table.value(AccessId(0)).is_open()) return 0;
  std::string text;
  for (const File* file = begin; file != end; ++file) {
    const AccessId access = catalogue_.access(EntryId(file->entry));
    const EffectiveAccess& value = table.value(access);
    text += value.is_open() ? "-" : value.Text();
    text += ';';
  }
  // Groups that everybody may read have the same name as if there were no
  // others.
  if (text.find(':') == std::string::npos) return 0;
  const auto [at, fresh] = access_of_.emplace(text, accesses_.size());
  if (fresh) accesses_.push_back(std::move(text));
  return at->second;
}

GroupingBuilder::Filling& GroupingBuilder::FillingOf(DirId dir,
                                                     const Filling& wanted) {
  const FillingKey key(wanted.alone, wanted.set, wanted.label, wanted.access);
  if (!filling_.empty() && key == last_key_) return filling_[last_filling_];
  auto [at, fresh] = filling_of_.emplace(key, filling_.size());
  if (fresh) {
    filling_.push_back(wanted);
    const bool tree = options_.substitute == Substitute::kTree;
    filling_.back().dir = tree ? options_.root : dir;
    noted_.push_back(0);
  }
  last_key_ = key;
  last_filling_ = at->second;
  return filling_[last_filling_];
}

absl::Status GroupingBuilder::AddSample(DirId dir, File* begin, File* end) {
  bool fixed = false;
  bool only_manifests = true;
  for (File* file = begin; file != end; ++file) {
    fixed |= file->fixed;
    only_manifests &= file->manifest;
  }
  if (fixed || only_manifests) return absl::OkStatus();
  if (end - begin > 1) {
    std::stable_sort(begin, end, [this](const File& a, const File& b) {
      return sets_.extension_text(a.extension) <
             sets_.extension_text(b.extension);
    });
  }
  extensions_.clear();
  for (File* file = begin; file != end; ++file) {
    extensions_.push_back(file->extension);
  }
  ASSIGN_OR_RETURN(uint32_t label, LabelOf(begin, end));
  Filling wanted;
  wanted.set = sets_.Set(extensions_);
  wanted.label = label;
  wanted.access = AccessOf(begin, end);
  if (containers_stay_ && std::any_of(begin, end, [](const File& file) {
        return file.container;
      })) {
    wanted.alone = begin->entry + 1;
  }
  wanted.columns = static_cast<uint32_t>(end - begin);
  Filling& filling = FillingOf(dir, wanted);
  for (File* file = begin; file != end; ++file) {
    filling.members.push_back(file->entry);
  }
  return absl::OkStatus();
}

// Records the part of each group that this directory has added.
void GroupingBuilder::NotePieces(DirId dir) {
  uint32_t row = dir.value() - result_.first_dir_.value();
  result_.piece_of_[row] = static_cast<uint32_t>(result_.pieces_.size());
  for (uint32_t f = 0; f < filling_.size(); ++f) {
    auto now = static_cast<uint32_t>(filling_[f].members.size());
    if (now == noted_[f]) continue;
    uint32_t columns = filling_[f].columns;
    result_.pieces_.push_back(
        {GroupId(f), noted_[f] / columns, (now - noted_[f]) / columns});
    noted_[f] = now;
  }
}

absl::Status GroupingBuilder::AddDirectory(DirId dir) {
  if (!fixed_dirs_[dir.value()]) {
    CollectFiles(dir);
    File* end = files_.data() + files_.size();
    for (File* begin = files_.data(); begin != end;) {
      File* next = begin + 1;
      while (begin->pairs && next != end && next->pairs &&
             next->stem == begin->stem) {
        ++next;
      }
      RETURN_IF_ERROR(AddSample(dir, begin, next));
      begin = next;
    }
  }
  NotePieces(dir);
  if (options_.substitute != Substitute::kTree) Flush();
  return absl::OkStatus();
}

uint64_t GroupingBuilder::KeyOf(const Filling& filling) const {
  // Relative to the view. So a view of SOURCE/train at its root and a view of
  // SOURCE at train have the same keys.
  const size_t root = catalogue_.path(options_.root).size();
  const auto in_view = [root](const std::string& path) {
    return path.substr(std::min(path.size(), root == 0 ? 0 : root + 1));
  };
  std::string text = in_view(catalogue_.path(filling.dir));
  text += '\0';
  text += sets_.set_text(filling.set);
  text += '\0';
  text += labels_.labels[filling.label];
  if (filling.access != 0) {
    text += '\0';
    text += accesses_[filling.access];
  }
  if (filling.alone != 0) {
    text += '\0';
    text += in_view(catalogue_.path(EntryId(filling.alone - 1)));
  }
  return XXH3_64bits(text.data(), text.size());
}

// Turns the fillings into groups. Their order depends only on names and on who
// may read them.
void GroupingBuilder::Flush() {
  std::vector<uint32_t> order(filling_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    return std::tie(sets_.set_text(filling_[a].set),
                    labels_.labels[filling_[a].label],
                    accesses_[filling_[a].access], filling_[a].alone) <
           std::tie(sets_.set_text(filling_[b].set),
                    labels_.labels[filling_[b].label],
                    accesses_[filling_[b].access], filling_[b].alone);
  });
  std::vector<uint32_t> number(filling_.size());
  for (uint32_t f : order) {
    const Filling& filling = filling_[f];
    auto id = static_cast<uint32_t>(result_.groups_.size());
    auto slot = static_cast<uint32_t>(result_.members_.size());
    number[f] = id;
    Grouping::Group group;
    group.first_sample = result_.sample_count_;
    group.columns = filling.columns;
    group.samples =
        static_cast<uint32_t>(filling.members.size() / filling.columns);
    group.key = KeyOf(filling);
    group.dir = filling.dir;
    group.first_slot = slot;
    result_.groups_.push_back(group);
    result_.first_slots_.push_back(slot);
    result_.sample_count_ += group.samples;
    for (uint32_t entry : filling.members) {
      result_.slot_[entry - result_.first_entry_] = slot++;
    }
    result_.members_.insert(result_.members_.end(), filling.members.begin(),
                            filling.members.end());
  }
  for (; open_pieces_ < result_.pieces_.size(); ++open_pieces_) {
    GroupId& group = result_.pieces_[open_pieces_].group;
    group = GroupId(number[group.value()]);
  }
  filling_.clear();
  noted_.clear();
  filling_of_.clear();
}

absl::StatusOr<Grouping> GroupingBuilder::Build() {
  result_.moves_ =
      options_.substitute == Substitute::kDirectory ||
      options_.substitute == Substitute::kTree ||
      (options_.substitute == Substitute::kAuto && options_.proven);
  sorts_out_ = result_.moves_ || options_.ranked;
  DirId root = options_.root;
  uint32_t dirs = catalogue_.subtree_end(root).value() - root.value();
  result_.first_dir_ = root;
  result_.first_entry_ = catalogue_.first_entry(root).value();
  uint32_t rows = catalogue_.entries_end(root).value() - result_.first_entry_;
  result_.slot_.assign(rows, kFixed);
  result_.members_.reserve(rows);
  result_.piece_of_.resize(dirs + 1);
  MarkDirectories();
  if (sorts_out_) CountFiles();
  for (uint32_t d = 0; d < dirs; ++d) {
    RETURN_IF_ERROR(AddDirectory(DirId(root.value() + d)));
  }
  Flush();
  result_.piece_of_[dirs] = static_cast<uint32_t>(result_.pieces_.size());
  return std::move(result_);
}

}  // namespace shufflefs
