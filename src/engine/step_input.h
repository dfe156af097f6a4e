#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/kv_format.h"
#include "base/byte_archive.h"
#include "decode/row_sampling.h"
#include "decode/token_score.h"
#include "engine/request.h"
#include "kv/page_device.h"
#include "model/expert_use.h"
#include "model/ranks/rank_time.h"
#include "tensor/view.h"

namespace millrace::engine {

// What one step computes, as a value: T tokens of any mix of sequences, prefill chunks and decode tokens alike. It can
// be sent to an executor in another process (visit_fields()). As the engine makes it, pages are views of its block
// tables, valid until the next launch or wait: copying hundreds of page numbers for each sequence would cost a step of
// many sequences more than its scheduling. A copy owns its pages, and so does what was read from bytes: an executor
// with several steps in flight keeps copies.
struct StepInput {
  // The adapters of a sequence, by model::Adapter::id().
  struct Adapters {
    std::array<std::uint64_t, kMaxAdapters> ids{};  // 0 behind the last
    std::array<float, kMaxAdapters> scales{};
    std::array<std::int64_t, kMaxAdapters> firsts{};  // the first position that goes through it
    bool empty() const noexcept { return ids[0] == 0; }
    bool operator==(const Adapters&) const = default;
  };
  // Consecutive rows of one sequence; together they cover [0, T).
  struct Rows {
    std::int64_t first_row = 0, n_rows = 0;
    std::int64_t first_position = 0;
    std::int64_t rope_length = 0;        // of the sequence's PrefixScope
    std::span<const kv::BlockId> pages;  // of all its positions
    // The same in layers with a window: numbers of window pages, of which those that no row sees say nothing. Empty
    // where no layer has a window.
    std::span<const kv::BlockId> window_pages;
    Adapters adapters = {};
  };
  // A row whose logits score a token and the likeliest few beside it.
  struct Scored {
    std::int64_t row = 0;
    std::int32_t token = 0;
    int top = 0;  // [0, decode::kMaxLogprobs]
  };
  // A row from whose logits the executor samples a token, so that steps launched after this one may go on from it
  // before this one is waited for.
  struct Sampled {
    std::int64_t row = 0;
    std::int64_t position = 0;  // of the token
    decode::RowSampling sampling;
  };
  // A row whose token an earlier step samples: its entry in `tokens` is 0 until then.
  struct Fed {
    std::int64_t row = 0;
    std::int32_t steps_back = 1;  // launches ago; [1, depth of the executor)
    std::int32_t sampled = 0;     // index in that step's sampled_rows
  };

  std::vector<std::int32_t> tokens;       // [T], ids below vocab_size
  std::vector<Rows> sequences;            // in the order of their rows
  std::vector<std::int64_t> logit_rows;   // rows whose logits are wanted, ascending
  std::vector<Scored> scored_rows;        // ascending by row
  std::vector<Sampled> sampled_rows;      // ascending by row; neither logit nor scored rows
  std::vector<Fed> fed_rows;              // ascending by row; empty where the executor's depth is 1
  std::vector<std::int64_t> hidden_rows;  // rows whose final hidden states are wanted, ascending

  StepInput() = default;
  StepInput(StepInput&&) = default;
  StepInput& operator=(StepInput&&) = default;
  StepInput(const StepInput& other)
      : tokens(other.tokens),
        sequences(other.sequences),
        logit_rows(other.logit_rows),
        scored_rows(other.scored_rows),
        sampled_rows(other.sampled_rows),
        fed_rows(other.fed_rows),
        hidden_rows(other.hidden_rows) {
    std::vector<kv::BlockId> pages;
    for (const Rows& rows : sequences) {
      pages.insert(pages.end(), rows.pages.begin(), rows.pages.end());
      pages.insert(pages.end(), rows.window_pages.begin(), rows.window_pages.end());
    }
    own(std::move(pages));
  }
  StepInput& operator=(const StepInput& other) { return *this = StepInput(other); }

  // The sequences' pages and window pages become those of the list, one sequence after the other, each as many as it
  // has now.
  void own(std::vector<kv::BlockId> pages) {
    own_pages_ = std::move(pages);
    std::size_t at = 0;
    for (Rows& rows : sequences) {
      for (std::span<const kv::BlockId>* list : {&rows.pages, &rows.window_pages}) {
        const std::size_t n = list->size();
        *list = std::span(own_pages_).subspan(at, n);
        at += n;
      }
    }
  }

 private:
  std::vector<kv::BlockId> own_pages_;
};

// What came of it. [T, V] logits are never kept: of scored rows the scores alone are.
struct StepResult {
  TensorView logits;                                      // [logit_rows, V] f32, valid until the next launch
  std::vector<std::optional<decode::TokenScore>> scores;  // [scored_rows]; nothing where the logits are no numbers
  std::vector<std::optional<std::int32_t>> sampled;       // [sampled_rows]; nothing likewise
  std::vector<float> hidden;                              // [hidden_rows, E], outputs of the final norm
  model::ExpertUse experts;
  std::vector<model::RankTime> ranks;             // empty: one rank alone
  std::vector<backend::KvOverflow> kv_overflows;  // of this step
  std::int64_t weight_rounds = 0;                 // see model::WeightWalk; of all steps, since ranks were started
};

// Without its pages, which visit_fields() of the whole has.
template <typename Archive>
void visit_fields(Archive& archive, StepInput::Rows& rows) {
  archive(rows.first_row, rows.n_rows, rows.first_position, rows.rope_length);
  for (std::size_t i = 0; i < kMaxAdapters; ++i) {
    archive(rows.adapters.ids[i], rows.adapters.scales[i], rows.adapters.firsts[i]);
  }
}
template <typename Archive>
void visit_fields(Archive& archive, StepInput::Scored& scored) {
  archive(scored.row, scored.token, scored.top);
}
template <typename Archive>
void visit_fields(Archive& archive, StepInput::Sampled& sampled) {
  archive(sampled.row, sampled.position, sampled.sampling);
}
template <typename Archive>
void visit_fields(Archive& archive, StepInput::Fed& fed) {
  archive(fed.row, fed.steps_back, fed.sampled);
}
template <typename Archive>
void visit_fields(Archive& archive, StepInput& input) {
  std::vector<std::vector<kv::BlockId>> pages, window_pages;
  for (const StepInput::Rows& rows : input.sequences) {
    pages.emplace_back(rows.pages.begin(), rows.pages.end());
    window_pages.emplace_back(rows.window_pages.begin(), rows.window_pages.end());
  }
  archive(input.tokens, input.sequences, pages, window_pages, input.logit_rows, input.scored_rows, input.sampled_rows,
          input.fed_rows, input.hidden_rows);
  if constexpr (kReads<Archive>) {
    if (pages.size() != input.sequences.size() || window_pages.size() != pages.size()) return archive.fail();
    std::vector<kv::BlockId> all;
    for (std::size_t i = 0; i < pages.size(); ++i) {
      input.sequences[i].pages = pages[i];  // as many as these, until own() has them
      input.sequences[i].window_pages = window_pages[i];
      all.insert(all.end(), pages[i].begin(), pages[i].end());
      all.insert(all.end(), window_pages[i].begin(), window_pages[i].end());
    }
    input.own(std::move(all));
  }
}

}  // namespace millrace::engine
