#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "checkpoint/quote_name.h"
#include "cli.h"
#include "command.h"
#include "model_flags.h"
#include "runtime/chat_prompt.h"
#include "unicode/code_points.h"

namespace millrace::commands {
namespace {

using text::TokenId;

constexpr std::size_t kMaxInputBytes = std::size_t{256} << 20;
constexpr int kMaxJsonDepth = 64;

struct TokenizeFlags {
  std::string model = "default", text, chat;
  CLI::Option* text_option = nullptr;
  app::HubFlags hub;
  bool ids = false, pieces = false, json = false, no_special = false, add_bos = false, decode = false, count = false;
};

std::string read_stdin() {
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, stdin)) {
    text.append(buffer, n);
    if (text.size() > kMaxInputBytes) {
      throw_load_error(ErrorCode::kInvalidArgument, "text", "stdin: more than {} bytes", kMaxInputBytes);
    }
  }
  return text;
}

// What is tokenized: pieces, and whether BOS and EOS go around them.
using Pieces = std::vector<text::TextPiece>;

// A chat as the OpenAI API spells it: an object with messages, tools ..., or the list of messages alone.
Pieces chat_pieces(const std::string& path, const checkpoint::Checkpoint& checkpoint) {
  const auto format = runtime::load_chat_format(checkpoint);
  if (format == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "chat", "{}: this model has no chat template", checkpoint.path);
  }
  const std::string source = path == "-" ? read_stdin() : read_file(Env::system(), path, kMaxInputBytes).or_throw();
  // Deeper nesting is refused here already: nothing below has to recurse into it.
  const auto limit_depth = [&](int depth, nlohmann::ordered_json::parse_event_t, nlohmann::ordered_json&) {
    if (depth > kMaxJsonDepth) {
      throw_load_error(ErrorCode::kInvalidArgument, "chat", "{}: nested deeper than {} levels", path, kMaxJsonDepth);
    }
    return true;
  };
  nlohmann::ordered_json request;
  try {
    request = nlohmann::ordered_json::parse(source, limit_depth);
  } catch (const nlohmann::ordered_json::parse_error& e) {
    throw_load_error(ErrorCode::kInvalidArgument, "chat", "{}: {}", path, e.what());
  }
  if (request.is_array()) request = {{"messages", std::move(request)}};
  return runtime::render_chat(*format, std::move(request)).or_throw();
}

// "1, 2 3" or "[1, 2, 3]".
std::vector<TokenId> parse_ids(std::string_view text, int vocab_size) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  std::vector<TokenId> ids;
  for (std::size_t at = text.find_first_not_of(kBetween); at < text.size(); at = text.find_first_not_of(kBetween, at)) {
    const std::string_view word = text.substr(at, text.find_first_of(kBetween, at) - at);
    TokenId id = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 0 || id >= vocab_size) {
      throw_load_error(ErrorCode::kInvalidArgument, "text", "{} is not a token id: a number from 0 to {} expected",
                       checkpoint::quote_name(word), vocab_size - 1);
    }
    ids.push_back(id);
    at += word.size();
  }
  return ids;
}

void write_text(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// The bytes of a token on one line: quoted, control characters and what is not UTF-8 escaped.
std::string escaped(const std::string& bytes) {
  std::string out = "\"";
  const bool valid = unicode::is_valid_utf8(bytes);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '"' || c == '\\') {
      out += std::string("\\") + c;
    } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !valid)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

int print_json(const text::Tokenizer& tokenizer, const Pieces& pieces, const text::Tokenizer::Encoding& encoding) {
  nlohmann::ordered_json tokens = nlohmann::ordered_json::array(), offsets = nlohmann::ordered_json::array();
  for (const TokenId id : encoding.ids) tokens.push_back(tokenizer.token_text(id));
  for (const text::TokenSpan& span : encoding.spans) offsets.push_back({span.begin, span.end});
  std::string text;
  for (const text::TextPiece& piece : pieces) text += piece.text;
  write_text(json_text({{"count", encoding.ids.size()},
                        {"ids", encoding.ids},
                        {"tokens", tokens},
                        {"offsets", offsets},
                        {"text", text}}));
  return 0;
}

int print_tokens(const TokenizeFlags& flags, const text::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  if (flags.count) {
    std::printf("%zu\n", ids.size());
  } else if (flags.ids || flags.pieces) {
    std::string line;
    for (const TokenId id : ids) {
      line += (line.empty() ? "" : " ") + (flags.ids ? std::to_string(id) : escaped(tokenizer.token_bytes(id)));
    }
    write_text(line + "\n");
  } else {
    for (const TokenId id : ids) {
      std::printf("%7d  %s%s\n", id, escaped(tokenizer.token_bytes(id)).c_str(),
                  tokenizer.is_special(id) ? "  special" : "");
    }
  }
  return 0;
}

int tokenize(const TokenizeFlags& flags) {
  const auto checkpoint = app::open_model(flags.model, flags.hub);
  if (checkpoint->tokenizer == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "tokenizer", "{}: this model has no tokenizer", checkpoint->path);
  }
  const text::Tokenizer& tokenizer = *checkpoint->tokenizer;
  const auto input = [&] { return flags.text_option->count() > 0 ? flags.text : read_stdin(); };
  if (flags.decode) {
    const std::vector<TokenId> ids = parse_ids(input(), tokenizer.vocab_size());
    const std::string text = tokenizer.decode(ids, false);
    if (flags.json) {
      write_text(json_text({{"text", text}}));
    } else {
      write_text(text);
      if (::isatty(STDOUT_FILENO) == 1) write_text("\n");
    }
    return 0;
  }
  if (!flags.chat.empty() && flags.text_option->count() > 0) {
    throw_load_error(ErrorCode::kInvalidArgument, "chat",
                     "--chat takes its text from a file; a text beside it is one too many");
  }
  const Pieces pieces =
      flags.chat.empty() ? Pieces{{input(), !flags.no_special}} : chat_pieces(flags.chat, *checkpoint);
  text::Tokenizer::Encoding encoding;
  if (flags.json) {
    encoding = tokenizer.encode_with_spans(pieces, false);
  } else {
    encoding.ids = tokenizer.encode(pieces, false);
  }
  if (flags.add_bos) {
    if (!tokenizer.bos()) {
      throw_load_error(ErrorCode::kInvalidArgument, "add-bos", "{}: this tokenizer has no BOS token", checkpoint->path);
    }
    encoding.ids.insert(encoding.ids.begin(), *tokenizer.bos());
    encoding.spans.insert(encoding.spans.begin(), text::TokenSpan{});
  }
  return flags.json ? print_json(tokenizer, pieces, encoding) : print_tokens(flags, tokenizer, encoding.ids);
}

}  // namespace

app::Command tokenize() {
  return {.name = "tokenize",
          .summary = "Convert text to tokens, or tokens to text",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<TokenizeFlags>();
            app.add_option("model", flags->model,
                           "Model: a .gguf file, a model directory, org/name on the Hugging Face hub, or 'default'");
            flags->text_option = app.add_option(
                "text", flags->text, "Text to tokenize, or token ids with --decode; default read from stdin");
            CLI::Option* ids = app.add_flag("--ids", flags->ids, "Print only the token ids, on one line");
            CLI::Option* pieces = app.add_flag("--pieces", flags->pieces, "Print only the token texts, on one line");
            CLI::Option* json =
                app.add_flag("--json", flags->json, "Print one JSON object with token ids, texts and byte offsets");
            CLI::Option* count = app.add_flag("--count", flags->count, "Print only the number of tokens");
            ids->excludes(json)->excludes(count)->excludes(pieces);
            pieces->excludes(json)->excludes(count);
            count->excludes(json);
            CLI::Option* no_special =
                app.add_flag("--no-special", flags->no_special, "Treat special tokens in the text as plain text");
            CLI::Option* add_bos =
                app.add_flag("--add-bos", flags->add_bos, "Prepend the beginning-of-sequence (BOS) token");
            CLI::Option* chat = app.add_option("--chat", flags->chat,
                                               "JSON file of chat messages, or of a request with tools and documents, "
                                               "to tokenize with the chat template; '-' = stdin")
                                    ->type_name("FILE")
                                    ->excludes(no_special)
                                    ->excludes(add_bos);
            app.add_flag("--decode", flags->decode, "Convert token ids to text, byte for byte")
                ->excludes(ids)
                ->excludes(pieces)
                ->excludes(chat)
                ->excludes(count)
                ->excludes(no_special)
                ->excludes(add_bos);
            flags->hub.declare(app);
            return [flags] { return tokenize(*flags); };
          },
          .example = "millrace tokenize default \"Hello, world\""};
}

}  // namespace millrace::commands
