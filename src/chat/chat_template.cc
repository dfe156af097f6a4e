#include "chat/chat_template.h"

#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "chat/jinja/interpreter.h"
#include "chat/jinja/json_value.h"
#include "chat/jinja/parser.h"
#include "chat/jinja/unicode.h"

namespace millrace::chat {
namespace {

// Longest message handed on: a template may raise one that quotes a whole conversation.
constexpr std::size_t kMaxMessageBytes = 2000;

std::string shortened(std::string message) {
  if (message.size() > kMaxMessageBytes) {
    message.resize(kMaxMessageBytes);
    while (!message.empty() && (static_cast<unsigned char>(message.back()) & 0xC0) == 0x80) message.pop_back();
    if (!message.empty() && static_cast<unsigned char>(message.back()) >= 0x80) message.pop_back();
    message += "...";
  }
  return message;
}

// Runs `work`, which returns a Result, and makes whatever the engine throws an Error. `line` is asked only then.
template <typename Work, typename Line>
auto guarded(Work work, Line line) -> decltype(work()) {
  try {
    return work();
  } catch (const jinja::Failure& failure) {
    const bool add_line = !failure.is_final && failure.code != ErrorCode::kBadFile;
    return Error{
        failure.code, "chat_template",
        shortened(add_line ? fmt::format("chat template, line {}: {}", line(), failure.message) : failure.message)};
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kResourceExhausted, "chat_template", "chat template: out of memory");
  } catch (const std::length_error&) {
    return make_error(ErrorCode::kResourceExhausted, "chat_template", "chat template: out of memory");
  }
}

class CompiledTemplate final : public ChatTemplate {
 public:
  CompiledTemplate(jinja::Program program, TemplateLimits limits) : program_(std::move(program)), limits_(limits) {}

  Result<std::vector<text::TextPiece>> render(const nlohmann::ordered_json& variables,
                                              const TemplateContext& context) const override {
    if (!variables.is_object()) {
      return make_error(ErrorCode::kInvalidArgument, "chat_template",
                        "the variables of a chat template must be a JSON object");
    }
    int line = 1;
    return guarded([&] { return render_pieces(variables, context, line); }, [&] { return line; });
  }

 private:
  Result<std::vector<text::TextPiece>> render_pieces(const nlohmann::ordered_json& variables,
                                                     const TemplateContext& context, int& line) const {
    jinja::Interpreter interpreter(program_, limits_, context);
    define_context(interpreter, context);
    for (const auto& [name, value] : variables.items()) {
      if (!program_.ids.contains(name)) continue;
      interpreter.define(name, name == "messages" ? jinja::messages_from_json(interpreter, value)
                                                  : jinja::from_json(interpreter, value));
    }
    jinja::Text output;
    try {
      output = interpreter.run();
    } catch (...) {
      line = interpreter.line();
      throw;
    }
    std::vector<text::TextPiece> pieces;
    output.for_each_run(0, output.size(),
                        [&](std::string_view text, bool trusted) { pieces.push_back({std::string(text), trusted}); });
    return pieces;
  }

  // A model without such a token leaves the name undefined, as transformers does.
  static void define_context(jinja::Interpreter& interpreter, const TemplateContext& context) {
    const auto define = [&](std::string_view name, const std::string& text, bool trusted) {
      if (!text.empty()) interpreter.define(name, jinja::Text(jinja::replace_invalid_utf8(text), trusted));
    };
    define("bos_token", context.bos_token, true);
    define("eos_token", context.eos_token, true);
    define("date_string", context.date_string, false);
  }

  const jinja::Program program_;
  const TemplateLimits limits_;
};

}  // namespace

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::compile(std::string_view source, TemplateLimits limits) {
  using Compiled = Result<std::shared_ptr<const ChatTemplate>>;
  const auto work = [&]() -> Compiled {
    if (source.size() > static_cast<std::size_t>(limits.source_bytes)) {
      return make_error(ErrorCode::kBadFile, "chat_template",
                        "the chat template is longer than {} bytes (source_bytes)", limits.source_bytes);
    }
    if (jinja::replace_invalid_utf8(source) != source) {
      return make_error(ErrorCode::kBadFile, "chat_template", "the chat template is not valid UTF-8");
    }
    std::shared_ptr<const ChatTemplate> compiled =
        std::make_shared<CompiledTemplate>(jinja::parse(source, limits), limits);
    return compiled;
  };
  return guarded(work, [] { return 1; });
}

}  // namespace millrace::chat
