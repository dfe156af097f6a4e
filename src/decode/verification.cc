#include "decode/verification.h"

namespace millrace::decode {

const VerificationRule* find_verification_rule(std::string_view name) {
  for (const VerificationRule& rule : all_verification_rules()) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace millrace::decode
