#pragma once

#include <memory>

#include "draft/drafter.h"
#include "draft/speculators/feature_speculator.h"

namespace millrace::draft {

// Drafts with a head of one layer, token by token. Its keys and values and the states it goes on from lie in pages of
// the target's numbers. Where a sequence's states are not there, as in pages from the disk tier, it drafts nothing.
Result<std::unique_ptr<Drafter>> make_feature_drafter(const DraftPlace& place, std::unique_ptr<FeatureSpeculator> head);
// What it keeps beside each of the target's pages.
std::size_t feature_page_bytes(const SpeculatorSpec& spec, const DraftPlace& place);

}  // namespace millrace::draft
