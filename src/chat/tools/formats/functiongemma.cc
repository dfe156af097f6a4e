// <start_function_call>call:f{a:<escape>x<escape>,b:1}<end_function_call>: FunctionGemma. Strings stand between
// <escape>, keys of objects within values too.

#include <utility>

#include "chat/marker_matcher.h"
#include "chat/tools/call_grammar.h"
#include "chat/tools/json_scanner.h"
#include "chat/tools/tool_format.h"
#include "chat/white_space.h"

namespace millrace::chat::tools::formats {
namespace {

using Id = grammar::ExpressionId;

constexpr std::string_view kOpen = "<start_function_call>", kClose = "<end_function_call>", kEscape = "<escape>";
constexpr std::string_view kCall = "call:";

int recognise(std::string_view chat_template) { return 3 * (chat_template.find(kOpen) != std::string_view::npos); }

// Numbers and JSON's words are themselves; any other word is a string.
std::string bare_value(const std::string& word) {
  const auto value = parse_json(word);
  return value && value->is_primitive() ? word : json_string(word);
}

class FunctionGemma final : public ToolParser {
 public:
  explicit FunctionGemma(PartWriter& writer)
      : writer_(writer), openers_({std::string(kOpen)}), escapes_({std::string(kEscape)}) {}

  void finish() override {
    if (state_ == State::kName) writer_.content(std::string(kOpen) + word_);
    if (state_ == State::kArguments) arguments(escapes_.finish());
    writer_.content(openers_.finish());
    writer_.finish();
  }

 protected:
  void take(char byte) override {
    switch (state_) {
      case State::kContent: {
        std::string text;
        const bool opens = openers_.push(byte, text) >= 0;
        writer_.content(text);
        if (opens) state_ = State::kName;
        return;
      }
      case State::kName: return name(byte);
      case State::kArguments: {
        std::string text;
        const bool escapes = escapes_.push(byte, text) >= 0;
        arguments(text);
        if (escapes) state_ == State::kArguments ? quote() : writer_.content(kEscape);
        return;
      }
      case State::kAfter:
        if (word_.empty() && is_space(byte)) return;
        word_ += byte;
        if (word_ == kClose) return go_to(State::kContent);
        if (!kClose.starts_with(word_)) give_up(std::exchange(word_, {}));
        return;
    }
  }

 private:
  enum class State : std::uint8_t { kContent, kName, kArguments, kAfter };

  void go_to(State next) {
    state_ = next;
    word_.clear();
  }
  // The text is none of a call's.
  void give_up(const std::string& text) {
    if (writer_.in_call()) writer_.end_call();
    go_to(State::kContent);
    for (const char byte : text) take(byte);
  }
  void name(char byte) {
    const std::string_view word = word_;
    const bool begun = word.size() >= kCall.size();
    const bool fits = begun ? word.size() < kMaxName : byte == kCall[word.size()];
    if (byte == '{' && word.size() > kCall.size()) {
      writer_.begin_call(word.substr(kCall.size()));
      writer_.arguments("{");
      open_.assign(1, '{');
      key_ = true;
      string_ = false;
      return go_to(State::kArguments);
    }
    word_ += byte;
    if (fits) return;
    writer_.content(kOpen);
    give_up(std::exchange(word_, {}));
  }
  void quote() {
    writer_.arguments("\"");
    string_ = !string_;
  }
  // Bytes that are no part of <escape>.
  void arguments(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (state_ != State::kArguments) {
        take(text[i]);
      } else if (string_) {
        if (text[i] == '"' || text[i] == '\\') writer_.arguments("\\");
        writer_.arguments(json_byte(text[i], true));
      } else if (!plain(text[i])) {
        return give_up(std::string(text.substr(i)));
      }
    }
  }
  // A byte outside strings; false if it cannot be there.
  bool plain(char byte) {
    if (is_space(byte)) return true;
    if (byte == ':' && key_) {
      if (!word_.empty()) writer_.arguments(json_string(std::exchange(word_, {})));
      writer_.arguments(": ");
      key_ = false;
    } else if (byte == ',' && !key_) {
      end_word();
      writer_.arguments(", ");
      key_ = open_.back() == '{';
    } else if ((byte == '{' || byte == '[') && !key_ && word_.empty()) {
      open_ += byte;
      writer_.arguments({&byte, 1});
      key_ = byte == '{';
    } else if (byte == '}' || byte == ']') {
      if (byte != (open_.back() == '{' ? '}' : ']') || (key_ && !word_.empty())) return false;
      end_word();
      writer_.arguments({&byte, 1});
      open_.pop_back();
      key_ = false;
      if (!open_.empty()) return true;
      writer_.end_call();
      go_to(State::kAfter);
    } else {
      word_ += byte;
      return word_.size() <= kMaxName;
    }
    return true;
  }
  void end_word() {
    if (!word_.empty()) writer_.arguments(bare_value(std::exchange(word_, {})));
  }

  PartWriter& writer_;
  MarkerMatcher openers_, escapes_;
  State state_ = State::kContent;
  std::string word_;                   // a name, a key or a value without <escape>
  std::string open_;                   // the brackets around
  bool key_ = false, string_ = false;  // a key comes next; within <escape>
};

std::unique_ptr<ToolParser> parser(const ToolUse& /*use*/, PartWriter& writer) {
  return std::make_unique<FunctionGemma>(writer);
}

// Values by the type at the schema's top; what is within them is any value.
class Values {
 public:
  explicit Values(CallGrammar& to) : to_(to), g_(to.grammar()) {
    unicode::CodePointSet digits;
    digits.add(U'0', U'9');
    const Id digit = g_.character(digits);
    integer_ = g_.sequence({g_.optional(to.bytes("-")), g_.repeat(digit, 1, 18)});
    number_ = g_.sequence({integer_, g_.optional(g_.sequence({to.bytes("."), g_.repeat(digit, 1, 18)}))});
    string_ = g_.sequence({to.special(kEscape), to.until(kEscape)});
    word_ = g_.choice({to.bytes("true"), to.bytes("false")});
    const grammar::RuleId rule = g_.declare("value");
    const Id any = g_.rule(rule);
    list_ = enclosed("[", any, "]");
    object_ = enclosed("{", g_.sequence({string_, to.bytes(":"), any}), "}");
    g_.define(rule, g_.choice({string_, number_, word_, to.bytes("null"), list_, object_}));
    any_ = any;
  }
  Id of(const Json& schema) const {
    if (!schema.is_object()) return any_;
    const Json values = schema.value("enum", Json());
    if (values.is_array() && !values.empty()) {
      std::vector<Id> out;
      for (const Json& one : values) out.push_back(of_constant(one));
      return g_.choice(std::move(out));
    }
    const Json type = schema.value("type", Json());
    if (type == "string") return string_;
    if (type == "integer") return integer_;
    if (type == "number") return number_;
    if (type == "boolean") return word_;
    if (type == "null") return to_.bytes("null");
    return type == "array" ? list_ : type == "object" ? object_ : any_;
  }

 private:
  Id of_constant(const Json& value) const {
    if (!value.is_string()) return to_.bytes(dumped(value));
    return g_.sequence({to_.special(kEscape), to_.bytes(value.get<std::string>()), to_.special(kEscape)});
  }
  Id enclosed(std::string_view open, Id one, std::string_view close) {
    const Id more = g_.repeat(g_.sequence({to_.bytes(","), one}), 0, grammar::kUnlimited);
    return g_.sequence({to_.bytes(open), g_.optional(g_.sequence({one, more})), to_.bytes(close)});
  }
  CallGrammar& to_;
  grammar::Grammar& g_;
  Id integer_, number_, string_, word_, list_, object_, any_;
};

Result<Id> calls(CallGrammar& to) {
  const Values values(to);
  auto call = to.any([&](const Tool& tool) -> Result<Id> {
    const auto spell = [&](const CallGrammar::Property& property) -> Result<Id> {
      return to.sequence({to.bytes(property.name + ":"), values.of(property.schema)});
    };
    auto members = to.properties(tool, to.bytes(","), spell, to.bytes(""));
    if (!members) return members;
    return to.sequence({to.special(kOpen), to.bytes(std::string(kCall) + tool.name + "{"), *members, to.bytes("}"),
                        to.special(kClose)});
  });
  if (!call) return call;
  return to.several(*call, to.bytes(""));
}

}  // namespace

ToolFormat functiongemma() {
  return {.name = "functiongemma",
          .description = "<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>: FunctionGemma",
          .aliases = {},
          .recognise = recognise,
          .markers = {kOpen, kClose, kEscape},
          .parser = parser,
          .calls = calls,
          .openers = {kOpen}};
}

}  // namespace millrace::chat::tools::formats
