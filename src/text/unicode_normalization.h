#pragma once

#include <memory>

#include "text/normalizer.h"

namespace millrace::text {

// The normalization forms of Unicode Standard Annex 15.
enum class NormalizationForm { kNfd, kNfc, kNfkd, kNfkc };
std::unique_ptr<const Normalizer> make_unicode_normalizer(NormalizationForm form);

}  // namespace millrace::text
