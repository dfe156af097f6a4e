#include "chat/tools/json_call_reader.h"

#include "chat/white_space.h"

namespace millrace::chat::tools {
namespace {

constexpr std::size_t kMaxKey = 64;  // bytes; a longer one is no call

}  // namespace

JsonCallReader::Step JsonCallReader::push(char byte) {
  switch (where_) {
    case Where::kFirstMember:
    case Where::kMember:
      if (is_space(byte)) return Step::kMore;
      if (byte == '}' && where_ == Where::kFirstMember) return Step::kBad;  // an object without a name
      if (byte != '"') return Step::kBad;
      key_.clear();
      where_ = Where::kKey;
      return Step::kMore;
    case Where::kKey:
      if (byte == '"' && !escaped_) {
        where_ = Where::kColon;
        return Step::kMore;
      }
      escaped_ = byte == '\\' && !escaped_;
      key_ += byte;
      return key_.size() > kMaxKey ? Step::kBad : Step::kMore;
    case Where::kColon:
      if (is_space(byte)) return Step::kMore;
      if (byte != ':') return Step::kBad;
      member_ = key_ == "name" || key_ == "tool_name"         ? Member::kName
                : key_ == "arguments" || key_ == "parameters" ? Member::kArguments
                                                              : Member::kOther;
      value_ = {};
      text_.clear();
      where_ = Where::kValue;
      return Step::kMore;
    case Where::kValue: return in_value(byte);
    case Where::kAfterValue:
      if (is_space(byte)) return Step::kMore;
      if (byte == '}') return end();
      where_ = Where::kMember;
      return byte == ',' ? Step::kMore : Step::kBad;
  }
  return Step::kBad;
}

JsonCallReader::Step JsonCallReader::in_value(char byte) {
  const bool begins = text_.empty() && !streaming_;
  if (begins && is_space(byte)) return Step::kMore;
  if (begins && member_ == Member::kArguments) {
    if (said_ || arguments_) return Step::kBad;  // there can be only one
    if (byte == '{' && name_) {
      writer_.begin_call(*name_);
      streaming_ = true;
    }
  }
  if (begins && member_ == Member::kName && (byte != '"' || name_)) return Step::kBad;
  const bool in_string = value_.in_string();
  const JsonScanner::Step step = value_.push(byte);
  if (step == JsonScanner::Step::kBad) return Step::kBad;
  if (step == JsonScanner::Step::kDoneBefore) {
    if (!end_value()) return Step::kBad;
    return push(byte);
  }
  if (streaming_) {
    writer_.arguments(json_byte(byte, in_string));
  } else if (member_ == Member::kOther) {
    text_ = "?";  // it has begun
  } else {
    text_ += json_byte(byte, in_string);
    if (member_ == Member::kName && text_.size() > kMaxName) return Step::kBad;
  }
  if (step == JsonScanner::Step::kDone && !end_value()) return Step::kBad;
  return Step::kMore;
}

bool JsonCallReader::end_value() {
  where_ = Where::kAfterValue;
  if (streaming_) {
    streaming_ = false;
    said_ = true;
    return true;
  }
  if (member_ == Member::kName) {
    const Json value = Json::parse(text_, nullptr, false);
    if (!value.is_string()) return false;
    name_ = value.get<std::string>();
    if (name_->empty() || (known_only_ && use_.find(*name_) == nullptr)) return false;
    if (!arguments_) return true;
    writer_.begin_call(*name_);
    writer_.arguments(*arguments_);
    said_ = true;
    return true;
  }
  if (member_ != Member::kArguments) return true;
  if (text_.front() == '"') {  // the text of an object, as the API itself has it
    const Json value = Json::parse(text_, nullptr, false);
    if (!value.is_string()) return false;
    text_ = value.get<std::string>();
    if (text_.empty()) text_ = "{}";
    JsonScanner inner;
    JsonScanner::Step step = JsonScanner::Step::kMore;
    for (std::size_t i = 0; i < text_.size() && step == JsonScanner::Step::kMore; ++i) {
      step = inner.push(text_[i]);
      if (step == JsonScanner::Step::kDone && i + 1 != text_.size()) return false;
    }
    if (step != JsonScanner::Step::kDone || text_.front() != '{') return false;
  } else if (text_ == "null") {
    text_ = "{}";
  } else if (text_.front() != '{') {
    return false;
  }
  if (!name_) {
    arguments_ = text_;
    return true;
  }
  writer_.begin_call(*name_);
  writer_.arguments(text_);
  said_ = true;
  return true;
}

JsonCallReader::Step JsonCallReader::end() {
  if (!name_) return Step::kBad;
  if (!said_) {  // a function without arguments
    writer_.begin_call(*name_);
    writer_.arguments("{}");
  }
  writer_.end_call();
  return Step::kDone;
}

}  // namespace millrace::chat::tools
