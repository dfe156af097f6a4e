#pragma once

#include <cstdint>
#include <span>

#include "draft/drafter.h"

namespace millrace::draft {

// A place where the last tokens of a sequence occurred before. The tokens that followed there are text[next] and on, up
// to the end of the text or to a negative number.
struct Place {
  std::span<const std::int32_t> text;
  std::int64_t next = 0;
  std::int64_t alike = 0;  // number of tokens before `next` that are equal to the sequence's last ones
};

// Adds branches to task.branches: what followed at places that continue differently from task.drafts, from the first
// different token on. Takes the task.further_branches continuations that most places have, each with as many tokens as
// these places have in common. O(places^2 + places * most).
void branch_off(Task& task, std::span<const Place> places);

}  // namespace millrace::draft
