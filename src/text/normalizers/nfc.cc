#include "text/containers/tokenizer_components.h"
#include "text/unicode_normalization.h"

// {"type": "NFC"}
namespace millrace::text::normalizers {

ComponentReader nfc() {
  return {"NFC", [](const JsonNode&, TokenizerParts& parts) {
            parts.normalizers.push_back(make_unicode_normalizer(NormalizationForm::kNfc));
          }};
}

}  // namespace millrace::text::normalizers
