#include "text/bert_frame.h"

namespace millrace::text {
namespace {

TokenId token_of(const JsonNode& pair, const TokenizerParts& parts) {
  const std::vector<JsonNode> items = pair.items();
  if (items.size() != 2) pair.wrong("[spelling, id]");
  return checked_id(items[1], parts);
}

}  // namespace

void read_bert_frame(const JsonNode& node, TokenizerParts& parts) {
  parts.prefix.insert(parts.prefix.begin(), token_of(node["cls"], parts));
  parts.suffix.push_back(token_of(node["sep"], parts));
}

}  // namespace millrace::text
