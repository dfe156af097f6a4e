#include "chat/tools/tagged_call_parser.h"

#include <algorithm>
#include <utility>

#include "chat/marker_matcher.h"
#include "chat/tools/json_scanner.h"
#include "chat/white_space.h"

namespace millrace::chat::tools {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Whether the schema takes a string and nothing else there.
bool is_text(const Tool* tool, const std::string& key) {
  if (tool == nullptr || !tool->parameters.is_object()) return false;
  const auto properties = tool->parameters.find("properties");
  if (properties == tool->parameters.end() || !properties->is_object()) return false;
  const auto property = properties->find(key);
  if (property == properties->end() || !property->is_object()) return false;
  const auto type = property->find("type");
  if (type != property->end()) return *type == "string" || *type == Json::array({"string"});
  const auto values = property->find("enum");
  return values != property->end() && values->is_array() && !values->empty() &&
         std::ranges::all_of(*values, [](const Json& value) { return value.is_string(); });
}

// Text that no schema calls a string: JSON where it is that, Python's words for what JSON spells otherwise.
std::string as_json(std::string_view text) {
  const std::string_view value = trimmed(text);
  if (value == "True") return "true";
  if (value == "False") return "false";
  if (value == "None") return "null";
  const auto parsed = parse_json(value);
  return parsed ? dumped(*parsed) : json_string(text);
}

class TaggedCallParser final : public ToolParser {
 public:
  TaggedCallParser(TaggedCallStyle style, const ToolUse& use, PartWriter& writer)
      : style_(std::move(style)), use_(use), writer_(writer), openers_({first_word()}), closers_(value_closers()) {}

  void finish() override {
    switch (state_) {
      case State::kContent: writer_.content(openers_.finish()); break;
      case State::kNameOpen:
      case State::kName: writer_.content(raw_); break;
      case State::kSection: writer_.content(called_ ? "" : raw_); break;
      case State::kValue: value(closers_.finish()); break;
      default: break;
    }
    writer_.finish();
  }

 protected:
  void take(char byte) override {
    switch (state_) {
      case State::kContent: {
        std::string text;
        const int opener = openers_.push(byte, text);
        writer_.content(text);
        if (opener < 0) break;
        raw_ = first_word();
        called_ = false;
        style_.section_open.empty() ? begin_call() : expect(State::kSection);
        break;
      }
      case State::kSection: section(byte); break;
      case State::kNameOpen:
        raw_ += byte;
        literal(byte, style_.name_open, [&] { expect(State::kName); });
        break;
      case State::kName: name(byte); break;
      case State::kMember: member(byte); break;
      case State::kKey:
        text_ += byte;
        if (text_.size() > kMaxName) return broken(byte);
        if (!text_.ends_with(style_.key_end)) break;
        text_.resize(text_.size() - style_.key_end.size());
        key_ = trimmed(text_);
        style_.value_open.empty() ? begin_value() : expect(State::kValueOpen);
        break;
      case State::kValueOpen: literal(byte, style_.value_open, [&] { begin_value(); }); break;
      case State::kValue: {
        std::string text;
        const int closer = closers_.push(byte, text);
        value(text);
        if (closer >= 0) end_value();
        break;
      }
      case State::kClose: literal(byte, style_.close, [&] { end_call(); }); break;
    }
  }

 private:
  enum class State : std::uint8_t { kContent, kSection, kNameOpen, kName, kMember, kKey, kValueOpen, kValue, kClose };

  const std::string& first_word() const { return style_.section_open.empty() ? style_.open : style_.section_open; }
  std::vector<std::string> value_closers() const {
    if (!style_.value_lines) return {style_.value_close};
    return {"\n" + style_.value_close, style_.value_close};
  }
  void expect(State next) {
    state_ = next;
    text_.clear();
  }
  void begin_call() { expect(style_.name_open.empty() ? State::kName : State::kNameOpen); }
  void end_call() {
    called_ = true;
    if (style_.section_open.empty()) {
      state_ = State::kContent;
    } else {
      raw_.clear();
      expect(State::kSection);
    }
  }
  // A call, or the end of all.
  void section(char byte) {
    const bool between = text_.empty() && is_space(byte);
    if (!between || !called_) raw_ += byte;
    if (between) return;
    text_ += byte;
    if (text_ == style_.open) return begin_call();
    if (called_ && text_ == style_.section_close) {
      state_ = State::kContent;
    } else if (!style_.open.starts_with(text_) && !(called_ && style_.section_close.starts_with(text_))) {
      broken(byte);
    }
  }
  // White space and then exactly `word`.
  template <typename Then>
  void literal(char byte, const std::string& word, Then then) {
    if (text_.empty() && is_space(byte)) return;
    text_ += byte;
    if (!word.starts_with(text_)) return broken(byte);
    if (text_ == word) then();
  }
  // What was begun is over; a call that has begun ends, what was none is content.
  void broken(char byte) {
    if (writer_.in_call()) {
      writer_.arguments("}");
      writer_.end_call();
      if (state_ != State::kClose && !text_.empty() && text_.back() == byte) text_.pop_back();
      writer_.content(std::exchange(text_, {}));
    } else if (state_ == State::kClose) {
      text_.pop_back();
      writer_.content(std::exchange(text_, {}));
    } else {
      raw_.pop_back();
      writer_.content(std::exchange(raw_, {}));
    }
    state_ = State::kContent;
    take(byte);
  }
  // Until name_end; a function without arguments may come to its end at once.
  void name(char byte) {
    raw_ += byte;
    text_ += byte;
    if (text_.size() > kMaxName) return broken(byte);
    const std::string& close = style_.name_close.empty() ? style_.close : style_.name_close;
    const bool ends = text_.ends_with(style_.name_end), closes = text_.ends_with(close);
    if (!ends && !closes) return;
    const std::string_view name =
        trimmed(std::string_view(text_).substr(0, text_.size() - (closes ? close : style_.name_end).size()));
    if (name.empty() || name.find_first_of("<>{}\"") != std::string_view::npos) return broken(byte);
    tool_ = use_.find(name);
    writer_.begin_call(name);
    writer_.arguments("{");
    any_ = false;
    raw_.clear();
    if (closes) return end_of_members();
    expect(style_.name_end == style_.key_open ? State::kKey : State::kMember);
  }
  // An argument, or the end.
  void member(char byte) {
    if (text_.empty() && is_space(byte)) return;
    text_ += byte;
    const std::string& close = style_.name_close.empty() ? style_.close : style_.name_close;
    if (text_ == style_.key_open) return expect(State::kKey);
    if (text_ == close) return end_of_members();
    if (!style_.key_open.starts_with(text_) && !close.starts_with(text_)) broken(byte);
  }
  void end_of_members() {
    writer_.arguments("}");
    writer_.end_call();
    style_.name_close.empty() ? end_call() : expect(State::kClose);
  }
  void begin_value() {
    expect(State::kValue);
    writer_.arguments((any_ ? ", " : "") + json_string(key_) + ": ");
    any_ = true;
    is_text_ = is_text(tool_, key_);
    first_ = true;
    if (is_text_) writer_.arguments("\"");
  }
  void value(std::string_view text) {
    if (text.empty()) return;
    if (std::exchange(first_, false) && style_.value_lines && text.front() == '\n') text.remove_prefix(1);
    if (!is_text_) {
      text_ += text;
      return;
    }
    // Bytes of a character may come one by one, so they are not looked at.
    for (const char byte : text) {
      if (byte == '"' || byte == '\\') writer_.arguments("\\");
      writer_.arguments(json_byte(byte, true));
    }
  }
  void end_value() {
    writer_.arguments(is_text_ ? "\"" : as_json(text_));
    expect(State::kMember);
  }

  const TaggedCallStyle style_;
  const ToolUse& use_;
  PartWriter& writer_;
  MarkerMatcher openers_, closers_;
  State state_ = State::kContent;
  const Tool* tool_ = nullptr;
  bool called_ = false;                                 // there was a call in this section
  bool any_ = false, is_text_ = false, first_ = false;  // arguments; the value is a string; nothing of it yet
  std::string raw_;                                     // taken, and not yet known to be a call
  std::string text_, key_;                              // of the state
};

}  // namespace

std::unique_ptr<ToolParser> tagged_call_parser(TaggedCallStyle style, const ToolUse& use, PartWriter& writer) {
  return std::make_unique<TaggedCallParser>(std::move(style), use, writer);
}

}  // namespace millrace::chat::tools
