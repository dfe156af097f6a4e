#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "chat/answer_parts.h"
#include "chat/tools/json_scanner.h"
#include "chat/tools/tool_use.h"

namespace millrace::chat::tools {

// Reads one call in the form of a JSON object, {"name": "f", "arguments": {...}}, after its '{'. The call is reported
// when its name and the first byte of its arguments are known; arguments are passed on as they arrive. Other members
// are skipped.
class JsonCallReader {
 public:
  // With `known_only`, an object whose name is not a function of the request is no call.
  JsonCallReader(const ToolUse& use, PartWriter& writer, bool known_only)
      : use_(use), writer_(writer), known_only_(known_only) {}

  enum class Step : std::uint8_t { kMore, kDone, kBad };  // kDone: the object ends with this byte
  Step push(char byte);

 private:
  enum class Where : std::uint8_t { kFirstMember, kMember, kKey, kColon, kValue, kAfterValue };
  enum class Member : std::uint8_t { kName, kArguments, kOther };
  Step in_value(char byte);
  bool end_value();
  Step end();

  const ToolUse& use_;
  PartWriter& writer_;
  const bool known_only_;
  Where where_ = Where::kFirstMember;
  Member member_ = Member::kOther;
  JsonScanner value_;
  bool escaped_ = false;                         // in a key
  std::string key_, text_;                       // of the member; of its value, where kept
  std::optional<std::string> name_, arguments_;  // known, and not begun
  bool streaming_ = false, said_ = false;        // arguments
};

}  // namespace millrace::chat::tools
