#include "bench/speculation_prompts.h"

#include <array>

namespace millrace::bench {
namespace {

#define MILL_TEXT                                                                                                    \
  "The river ran slowly past the old mill, turning its great wooden wheel. The miller, a patient man named Aldous, " \
  "counted sacks of flour by candlelight while his daughter read aloud from a book of tides. Every spring the "      \
  "flood would come and wash the lower fields with silt, and every summer the wheat would grow taller than the "     \
  "year before. The villagers paid for their bread with eggs, with candles and with promises, and Aldous wrote "     \
  "each promise down in a ledger that nobody but his daughter was allowed to open."
#define CODE_TEXT                                                                                          \
  "def read_table(path, separator=','):\n    rows = []\n    with open(path) as source:\n        header = " \
  "source.readline().strip().split(separator)\n        for line in source:\n            values = "         \
  "line.strip().split(separator)\n            if len(values) != len(header):\n                raise "      \
  "ValueError('expected ' + str(len(header)) + ' values')\n            rows.append(dict(zip(header, "      \
  "values)))\n    return rows\n"

constexpr std::array<SpeculationPrompt, 8> kPrompts = {{
    {"repeat", true, "Repeat the following text exactly, word for word:\n\n" MILL_TEXT},
    {"edit", true, "Replace the name Aldous with Bertram in this text and write the whole text:\n\n" MILL_TEXT},
    {"code", true, "Write this Python function again with the parameter separator renamed to sep:\n\n" CODE_TEXT},
    {"summarise", true,
     "Summarise this text in its own words, quoting the important sentences exactly:\n\n" MILL_TEXT "\n\n" MILL_TEXT},
    {"story", false, "Write a story about a dragon who is afraid of heights."},
    {"explain", false, "Explain how a refrigerator works to a curious child."},
    {"letter", false, "Write a letter to a landlord about a broken heater."},
    {"plan", false, "Plan a three day trip to the mountains with a small budget."},
}};

}  // namespace

std::span<const SpeculationPrompt> speculation_prompts() { return kPrompts; }

}  // namespace millrace::bench
