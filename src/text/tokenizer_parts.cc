#include "text/tokenizer_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/bpe/byte_alphabet.h"
#include "unicode/code_points.h"

namespace millrace::text {
namespace {

class SpellBytes final : public WordRewriter {
 public:
  void append(const MarkedText& source, Word word, bool, MarkedText& out) const override {
    for (std::size_t i = word.begin; i < word.end; ++i) {
      out.append(spelling_of_bytes(source.text().substr(i, 1)), source, i, i + 1);
    }
  }
};

}  // namespace

void TokenizerParts::reserve_texts(std::size_t count, std::size_t bytes) {
  texts.reserve(count, bytes);
  by_text.reserve(count);
}

void TokenizerParts::add_text(std::string_view text) {
  texts.push_back(text);
  by_text.insert(texts, static_cast<TokenId>(texts.size() - 1));
}

TokenId TokenizerParts::find(std::string_view text) const noexcept {
  const TokenId id = by_text.find(texts, text);
  if (id >= 0 || in_holes.empty()) return id;
  const auto found = in_holes.find(text);
  return found == in_holes.end() ? -1 : found->second;
}

std::vector<TokenId> TokenizerParts::fallback_bytes() const {
  std::vector<TokenId> out;
  for (int byte = 0; byte < 256; ++byte) {
    const TokenId id = by_text.find(texts, fmt::format("<0x{:02X}>", byte));
    out.push_back(id >= 0 && (in_model.empty() || in_model[static_cast<std::size_t>(id)]) ? id : -1);
  }
  return out;
}

std::optional<TokenId> TokenizerParts::find_named(const std::optional<std::string>& name) const {
  const TokenId id = name && !name->empty() ? find(*name) : -1;
  return id >= 0 ? std::optional(id) : std::nullopt;
}

void TokenizerParts::add_step(std::unique_ptr<const PreTokenizerStep> step) {
  if (pre_tokenizer.byte_level) spell_words();
  pre_tokenizer.steps.push_back(std::move(step));
}

void TokenizerParts::spell_bytes() {
  if (pre_tokenizer.byte_level) spell_words();
  pre_tokenizer.byte_level = spells_bytes = true;
}

void TokenizerParts::spell_words() {
  pre_tokenizer.byte_level = false;
  pre_tokenizer.steps.push_back(std::make_unique<SpellBytes>());
}

bool TokenizerParts::decodes_to_one_text() const {
  return std::ranges::any_of(decoders, [](const auto& decoder) { return decoder->joins(); });
}

StringTable make_forms(const StringTable& texts, const std::vector<bool>& hidden, bool byte_level) {
  StringTable forms;
  forms.reserve(texts.size(), texts.size() * 8);
  for (std::size_t id = 0; id < texts.size(); ++id) {
    if (hidden[id]) {
      forms.push_back("");
    } else {
      forms.push_back(byte_level ? bytes_of_spelling(texts[id]).value_or("") : std::string(texts[id]));
    }
  }
  return forms;
}

bool is_symbol(std::string_view text, Affixes affixes) {
  const auto is_character = [](std::string_view part) {
    return !part.empty() && unicode::code_point_at(part, 0).size == part.size();
  };
  const auto ends_as_one = [&](std::string_view part) {
    return is_character(part) ||
           (part.ends_with(affixes.suffix) && is_character(part.substr(0, part.size() - affixes.suffix.size())));
  };
  return ends_as_one(text) || (text.starts_with(affixes.prefix) && ends_as_one(text.substr(affixes.prefix.size())));
}

std::vector<bool> hidden_tokens(const TokenizerParts& parts, Affixes affixes) {
  std::vector<bool> hidden = parts.in_model;
  hidden.flip();
  hidden.resize(parts.texts.size());
  for (const TokenId id : parts.repeated) hidden[static_cast<std::size_t>(id)] = true;
  for (const AddedToken& token : parts.added) {
    const auto id = static_cast<std::size_t>(token.id);
    if (token.special && parts.texts[id] == token.content && !is_symbol(token.content, affixes)) hidden[id] = true;
  }
  return hidden;
}

Error with_advice(Error error, std::string_view damaged, std::string_view unsupported) {
  const bool is_unsupported = error.code == ErrorCode::kUnsupported;
  if (!is_unsupported && error.code != ErrorCode::kBadFile) return error;
  error.message += fmt::format(". {}.", is_unsupported ? unsupported : damaged);
  return error;
}

namespace {

constexpr std::array<std::string_view, 21> kEndNames = {
    "</s>",
    "<|endoftext|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<|end|>",
    "<|eot|>",
    "<|return|>",
    "<|end_of_text|>",
    "<|call|>",
    "<|endofprompt|>",
    "<|END_OF_TURN_TOKEN|>",
    "[|endofturn|]",
    "<|assistant_end|>",
    "<|observation|>",
    "<|endofturn|>",
    "</assistant>",
    "<|flush|>",
    "<|calls|>",
    "<\xef\xbd\x9c"
    "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",
};

// Models whose answers consist of several messages: `inner` ends one of them, and `end` the last.
struct MessageEnds {
  std::string_view inner, known_by, end;
};
constexpr std::array<MessageEnds, 3> kMessageEnds = {{
    {"<|im_end|>", "<|endofturn|>", "<|stop|>"},  // HyperCLOVA X: behind its reasoning too
    {"<|end|>", "<|channel|>", "<|return|>"},     // gpt-oss
    {"<|end|>", "<|begin|>", "<|flush|>"},        // Solar Open
}};

// Those of `parts`.
std::vector<MessageEnds> message_ends(const TokenizerParts& parts) {
  std::vector<MessageEnds> out;
  for (const MessageEnds& one : kMessageEnds) {
    if (parts.find(one.known_by) >= 0 && parts.find(one.end) >= 0) out.push_back(one);
  }
  return out;
}

}  // namespace

std::vector<TokenId> find_end_of_generation(const TokenizerParts& parts) {
  const std::vector<MessageEnds> messages = message_ends(parts);
  std::vector<std::string_view> ends(kEndNames.begin(), kEndNames.end());
  for (const MessageEnds& one : messages) ends.push_back(one.end);
  std::vector<TokenId> out;
  if (parts.eos) out.push_back(*parts.eos);
  for (const AddedToken& token : parts.added) {
    if (!token.special || std::ranges::find(messages, token.content, &MessageEnds::inner) != messages.end()) continue;
    if (std::ranges::find(ends, token.content) != ends.end()) out.push_back(token.id);
  }
  std::ranges::sort(out);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

void add_end_tokens(std::span<const TokenId> ids, TokenizerParts& parts) {
  const std::vector<MessageEnds> messages = message_ends(parts);
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= parts.texts.size()) continue;
    const std::string_view text = parts.texts[static_cast<std::size_t>(id)];
    std::vector<TokenId>& ends = parts.end_of_generation;
    const bool inner = std::ranges::find(messages, text, &MessageEnds::inner) != messages.end();
    if (!inner && std::ranges::find(ends, id) == ends.end()) ends.push_back(id);
  }
}

}  // namespace millrace::text
