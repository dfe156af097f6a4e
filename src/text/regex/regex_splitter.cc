#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "text/pre_tokenizer.h"
#include "text/regex/regex_translation.h"

namespace millrace::text {
namespace {

// Steps of one match, and KiB it may allocate; an expression that needs more ends the splitting of that text.
constexpr std::uint32_t kMatchLimit = 1'000'000;
constexpr std::uint32_t kHeapLimitKib = 4096;
// JIT stack a thread; longer runs of backtracking end the match.
constexpr std::size_t kJitStackBytes = 1 << 20;

struct Free {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// What a match needs besides the expression; one a thread, as making them costs more than most matches.
struct MatchBuffers {
  Owned<pcre2_match_data> match{pcre2_match_data_create(1, nullptr)};
  Owned<pcre2_match_context> context{pcre2_match_context_create(nullptr)};
  Owned<pcre2_jit_stack> stack{pcre2_jit_stack_create(32 << 10, kJitStackBytes, nullptr)};

  MatchBuffers() {
    if (!context) return;
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_set_heap_limit(context.get(), kHeapLimitKib);
    if (stack) pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
};

class RegexSplitter final : public WordSplitter {
 public:
  RegexSplitter(Owned<pcre2_code> code, SplitBehavior behavior, bool invert)
      : code_(std::move(code)), behavior_(behavior), invert_(invert) {}

  void split(std::string_view text, Word word, std::vector<Word>& out) const override {
    thread_local MatchBuffers buffers;
    std::vector<Piece> pieces;
    std::size_t done = word.begin;
    if (buffers.match && buffers.context) done = find_pieces(text, word, *buffers.match, *buffers.context, pieces);
    if (done < word.end) pieces.push_back({done, word.end, false});
    const std::size_t first = out.size();
    apply_behavior(pieces, behavior_, invert_, out);
    const auto is_empty = [](const Word& w) { return w.begin == w.end; };
    out.erase(std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), is_empty), out.end());
  }

 private:
  // Lookbehind sees nothing before the word, as Hugging Face matches every piece by itself. Returns where the last
  // match ended.
  std::size_t find_pieces(std::string_view text, Word word, pcre2_match_data& match, pcre2_match_context& context,
                          std::vector<Piece>& pieces) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() + word.begin);
    const std::size_t size = word.end - word.begin;
    std::size_t at = 0, done = 0;
    bool matched = false;  // a match ended at `done`
    while (at <= size && pcre2_match(code_.get(), subject, size, at, PCRE2_NO_UTF_CHECK, &match, &context) >= 0) {
      const PCRE2_SIZE* found = pcre2_get_ovector_pointer(&match);
      const std::size_t begin = found[0], end = found[1];
      const bool is_new = end > begin ? begin >= done : begin > done || (begin == done && !matched);
      if (is_new) {  // an empty match cuts too
        if (done < begin) pieces.push_back({word.begin + done, word.begin + begin, false});
        pieces.push_back({word.begin + begin, word.begin + end, true});
        done = end;
        matched = true;
      }
      if (is_new && end > begin) {
        at = end;
        continue;
      }
      at = std::max(at, std::max(begin, end)) + 1;
      while (at < size && (subject[at] & 0xC0) == 0x80) ++at;
    }
    return word.begin + done;
  }

  Owned<pcre2_code> code_;
  SplitBehavior behavior_;
  bool invert_;
};

}  // namespace

std::unique_ptr<const WordSplitter> make_regex_splitter(std::string_view regex, SplitBehavior behavior, bool invert,
                                                        std::string& why) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  const auto pattern = translate_regex(regex, why);
  if (!pattern) return nullptr;
  Owned<pcre2_code> code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern->data()), pattern->size(),
                                       PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
  if (!code) {
    std::array<PCRE2_UCHAR, 160> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    why = std::string(reinterpret_cast<const char*>(text.data())) + " at offset " + std::to_string(offset);
    return nullptr;
  }
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // without JIT the interpreter gives the same matches
  return std::make_unique<RegexSplitter>(std::move(code), behavior, invert);
}

}  // namespace millrace::text
