#pragma once

#include <cstdint>
#include <span>

#include "draft/drafter.h"

namespace millrace::draft {

// Where the last tokens of a sequence were before: what followed there is text[next] and on, up to the end of the text
// or to a negative number.
struct Place {
  std::span<const std::int32_t> text;
  std::int64_t next = 0;
  std::int64_t alike = 0;  // tokens before `next` that are as the sequence's last ones
};

// Adds what followed at places that go on otherwise than task.drafts, from where they do: the task.further_branches
// likeliest by how many places speak for them, each for as much as it is alike. O(places^2 + places * most).
void branch_off(Task& task, std::span<const Place> places);

}  // namespace millrace::draft
