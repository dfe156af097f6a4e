#pragma once

#include <memory>

#include "draft/drafter.h"
#include "draft/speculators/feature_speculator.h"

namespace millrace::draft {

// Makes a drafter that drafts token by token with a head of one layer. The head's keys, values and states lie under the
// target's page numbers, and are a page's companion where it is swapped out or exported. It drafts nothing for a
// sequence whose states are missing, as they are in pages from the disk tier.
Result<std::unique_ptr<Drafter>> make_feature_drafter(const DraftPlace& place, std::unique_ptr<FeatureSpeculator> head);
// Bytes that it keeps for each page of the target.
std::size_t feature_page_bytes(const SpeculatorSpec& spec, const DraftPlace& place);

}  // namespace millrace::draft
