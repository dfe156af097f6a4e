#include <algorithm>

#include "sched/admission_resource.h"

namespace millrace::sched::resources {
namespace {

// Pages of the KV cache now: a sequence needs those of its next chunk and one token more; one that runs alone those of
// all it has to compute. Of window pages, which go back as the window moves on, one that runs alone needs those of a
// token. Pages in use are the draft's account.
class Pages final : public AdmissionResource {
 public:
  explicit Pages(const kv::PagedCache& cache) : cache_(cache) {}

  std::optional<Error> never_fits(const Sequence& sequence) const override {
    const std::int64_t limit = cache_.total_pages() * cache_.block_tokens();
    if (sequence.max_total <= limit) return std::nullopt;
    return make_error(ErrorCode::kResourceExhausted, "max_tokens",
                      "prompt and answer may need {} tokens of the KV cache, which holds {}", sequence.max_total,
                      limit);
  }
  bool begin(const PlanDraft&) override {
    reserved_ = {};
    return true;
  }
  bool fits(const PlanDraft& draft, const JoiningSequence& joining) override {
    return required(draft, joining).fits_in(draft.pages.available);
  }
  void commit(const PlanDraft& draft, const JoiningSequence& joining) override {
    reserved_ += chunk_of(draft, joining.member, joining.member.chunk + 1);
  }
  bool relieved_by(const PlanDraft& draft, const PlanMember& member, const JoiningSequence& joining) const override {
    return draft.gain(member).relieves(required(draft, joining), draft.pages.available);
  }

 private:
  // Besides its first page. A chunk that wants more window pages than there are beside one sequence's is cut to them.
  kv::PageCount chunk_of(const PlanDraft& draft, const PlanMember& member, std::int64_t tokens) const {
    kv::PageCount chunk = kv::at_end(cache_, draft.extra_pages(member, tokens));
    if (const kv::WindowPages* window = cache_.window()) {
      chunk.window = std::min(chunk.window, std::max(0, window->total() - window->span()));
    }
    return chunk;
  }
  // By all that take part, with the one that joins.
  kv::PageCount required(const PlanDraft& draft, const JoiningSequence& joining) const {
    const PlanMember& member = joining.member;
    const Sequence& sequence = *member.place.sequence;
    const bool alone = draft.nobody_runs();
    const std::int64_t next = alone ? sequence.length() - member.start : member.chunk;
    const std::int64_t tokens = std::min(next + 1, sequence.max_total - member.start);
    kv::PageCount chunk = chunk_of(draft, member, tokens);
    if (alone) chunk.window = 0;
    return draft.pages.required + reserved_ + member.first_page + chunk;
  }

  const kv::PagedCache& cache_;
  kv::PageCount reserved_;  // that those admitted in this step need for their next chunk besides their first page
};

}  // namespace

AdmissionResourceKind pages() {
  return {.name = "pages", .order = 300, .make = [](const ResourceContext& context) {
            return std::unique_ptr<AdmissionResource>(std::make_unique<Pages>(context.cache));
          }};
}

}  // namespace millrace::sched::resources
