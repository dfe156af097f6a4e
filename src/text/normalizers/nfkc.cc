#include "text/containers/tokenizer_components.h"
#include "text/unicode_normalization.h"

// {"type": "NFKC"}
namespace millrace::text::normalizers {

ComponentReader nfkc() {
  return {"NFKC", [](const JsonNode&, TokenizerParts& parts) {
            parts.normalizers.push_back(make_unicode_normalizer(NormalizationForm::kNfkc));
          }};
}

}  // namespace millrace::text::normalizers
