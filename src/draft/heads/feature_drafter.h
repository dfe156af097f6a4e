#pragma once

#include <memory>

#include "draft/drafter.h"
#include "draft/heads/feature_head.h"

namespace millrace::draft {

// Drafts with a head of one layer, token by token. Its keys and values and the states it goes on from lie in pages of
// the target's numbers. Where a sequence's states are not there, as in pages from the archive, it has no guess.
Result<std::unique_ptr<Drafter>> make_feature_drafter(const DraftPlace& place, std::unique_ptr<FeatureHead> head);
// What it keeps beside each of the target's pages.
std::size_t feature_page_bytes(const FeatureHeadSpec& spec, const DraftPlace& place);

}  // namespace millrace::draft
