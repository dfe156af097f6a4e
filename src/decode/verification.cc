#include "decode/verification.h"

#include "base/old_names.h"

namespace millrace::decode {

const VerificationRule* find_verification_rule(std::string_view name) {
  if (const auto now = renamed(OldName::Kind::kRule, name)) name = *now;
  for (const VerificationRule& rule : all_verification_rules()) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace millrace::decode
