#include "text/containers/tokenizer_components.h"

// {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}], ...}
namespace millrace::text::post_processors {
namespace {

void append_tokens(const JsonNode& special_tokens, const JsonNode& name, const TokenizerParts& parts,
                   std::vector<TokenId>& out) {
  for (const JsonNode& id : special_tokens[name.string()]["ids"].items()) out.push_back(checked_id(id, parts));
}

void read(const JsonNode& node, TokenizerParts& parts) {
  std::vector<TokenId> before, after;
  int texts = 0;
  for (const JsonNode& item : node["single"].items()) {
    const JsonNode special = item["SpecialToken"];
    if (special.is_null()) {
      if (item["Sequence"]["id"].string() != "A") item.wrong("SpecialToken or Sequence A");
      ++texts;
    } else {
      append_tokens(node["special_tokens"], special["id"], parts, texts == 0 ? before : after);
    }
  }
  if (texts != 1) node["single"].wrong("a template with Sequence A once");
  parts.prefix.insert(parts.prefix.begin(), before.begin(), before.end());
  parts.suffix.insert(parts.suffix.end(), after.begin(), after.end());
}

}  // namespace

ComponentReader template_processing() { return {"TemplateProcessing", read}; }

}  // namespace millrace::text::post_processors
