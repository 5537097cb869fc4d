// SPDX-License-Identifier: Apache-2.0
#include "core/binding/nodes/epoch_share.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"

namespace shufflefs {

std::shared_ptr<const EpochShare> EpochShare::Make(const Names& names,
                                                   const NameSharing& sharing,
                                                   const EpochShare* before) {
  auto known = RetainedBindings::Make(sharing.known);
  if (sharing.members.empty() ||
      sharing.members.size() > NodeShares::kMostNodes || !known.ok()) {
    return nullptr;
  }
  auto share = std::make_shared<EpochShare>();
  share->members = sharing.members;
  share->self = share->IndexOf(sharing.self);
  share->binding = sharing.binding;
  share->known = *std::move(known);
  if (before != nullptr && before->members.size() == share->members.size()) {
    share->nodes = before->nodes;
    if (before->self == share->self) share->own_counts = before->own_counts;
  } else {
    share->nodes = std::make_shared<const NodeShares>(
        *names.grouping, *names.chunks, names.dataset_key,
        static_cast<uint32_t>(share->members.size()));
  }
  if (names.passes && share->own_counts == nullptr) {
    share->own_counts = std::make_shared<const std::vector<uint32_t>>(
        share->nodes->CountsOf(share->self));
  }
  return share;
}

SharedName EpochShare::Named(SampleId name) const {
  const SampleId partner(known.Shown(name.value(), [&](uint64_t n) {
    return nodes->PartnerOf(SampleId(n)).value();
  }));
  return {name, partner, nodes->OwnerOf(partner)};
}

SampleId EpochShare::NameOfPartner(SampleId partner) const {
  return SampleId(known.NameOf(partner.value(), [&](uint64_t s) {
    return nodes->NameOf(SampleId(s)).value();
  }));
}

std::vector<uint32_t> EpochShare::OwnChunks(
    const NodeShares::Chunks& chunks) const {
  std::vector<uint32_t> ours;
  for (uint32_t c = 0; c < chunks.size(); ++c) {
    if (!chunks[c].empty() &&
        nodes->OwnerOf(SampleId(chunks[c].front())) == self) {
      ours.push_back(c);
    }
  }
  return ours;
}

uint32_t EpochShare::IndexOf(const std::string& member) const {
  return static_cast<uint32_t>(
      std::find(members.begin(), members.end(), member) - members.begin());
}

}  // namespace shufflefs
