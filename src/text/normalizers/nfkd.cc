#include "text/containers/tokenizer_components.h"
#include "text/unicode_normalization.h"

// {"type": "NFKD"}
namespace millrace::text::normalizers {

ComponentReader nfkd() {
  return {"NFKD", [](const JsonNode&, TokenizerParts& parts) {
            parts.normalizers.push_back(make_unicode_normalizer(NormalizationForm::kNfkd));
          }};
}

}  // namespace millrace::text::normalizers
