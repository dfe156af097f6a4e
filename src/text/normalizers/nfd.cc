#include "text/containers/tokenizer_components.h"
#include "text/unicode_normalization.h"

// {"type": "NFD"}
namespace millrace::text::normalizers {

ComponentReader nfd() {
  return {"NFD", [](const JsonNode&, TokenizerParts& parts) {
            parts.normalizers.push_back(make_unicode_normalizer(NormalizationForm::kNfd));
          }};
}

}  // namespace millrace::text::normalizers
