#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "backend/kv_format.h"
#include "base/byte_archive.h"
#include "kv/page_device.h"
#include "model/adapters/adapter_options.h"
#include "model/batch_input.h"

namespace millrace::model {

// What rank 0 says to the other ranks of a shared model, so that all of them do the same in the same order.

// A step of the model over the pages of a store: a BatchInput as a value. `pages`: the pages, then the window pages, of
// each sequence after the other. The answer is a RankReport.
struct RankStep {
  std::uint64_t number = 0;      // of the step
  bool checks_residual = false;  // RankReport::residual_key is wanted
  std::uint32_t store = 0;
  std::vector<std::int32_t> tokens;
  struct Sequence {
    std::int64_t first_row = 0, n_rows = 0, first_position = 0, pages = 0, window_pages = 0;
  };
  std::vector<Sequence> sequences;
  std::vector<std::int32_t> pages;
  std::vector<std::int64_t> rope_lengths, logit_rows, scored_rows, hidden_rows, layers, state_layers;
  bool has_windows = false;
  struct Adapter {  // an AdapterRange
    std::uint64_t adapter = 0;
    std::int64_t first_row = 0, n_rows = 0;
    float scale = 1.0f;
  };
  std::vector<Adapter> adapters;
};

// An adapter of that number, which no other one has: what the files at `path` are, if their key is this one. The answer
// is a RankAdapterRead.
struct RankAdapter {
  std::uint64_t adapter = 0;
  std::string path, key;
  AdapterType type = AdapterType::kAuto;
  std::int64_t max_rank = 0;
  std::size_t bytes = 0;  // that rank 0 has of it
};
struct RankAdapterEnd {
  std::uint64_t adapter = 0;
};
struct RankAdapterAhead {  // a RankAdapter of these files is likely to come
  std::string path;
  AdapterType type = AdapterType::kAuto;
  std::int64_t max_rank = 0;
};

// A store of that number, which no other one has. The answer is a RankStoreMade.
struct RankStore {
  std::uint32_t store = 0;
  std::string encoding, layout;
  std::int64_t block_tokens = 0;
  struct Exception {
    std::int64_t first = 0, last = 0;
    std::string encoding;
  };
  std::vector<Exception> exceptions;
  std::int32_t pages = 0, window_pages = 0;
};
struct RankStoreEnd {
  std::uint32_t store = 0;
};

struct RankPage {
  std::uint32_t store = 0;
  bool windowed = false;
  kv::BlockId page = 0;
};
struct RankPageCopy {
  RankPage from;
  kv::BlockId to = 0;
};
struct RankPageRead {  // the answer is the bytes that the rank has of it
  RankPage page;
};
struct RankPageWrite {  // with what the others have of it, one rank's behind the other, `sizes` bytes of each rank
  RankPage page;
  std::vector<std::uint64_t> sizes;
  std::vector<std::byte> bytes;
};

struct RankGiveBack {  // see kv::PageRanks::give_back()
  std::uint32_t store = 0;
  bool windowed = false;
  std::int32_t first_part = 0, end_part = 0, parts = 0;
  std::vector<kv::BlockId> kept;
};

struct RankStatistics {  // see outliers.h; where they end the answer is a RankCounts
  bool start = false;
};
struct RankInt8x2 {
  std::vector<std::string> weights;
};
struct RankEnd {};  // there is nothing more to do

using RankCommand =
    std::variant<RankStep, RankStore, RankStoreEnd, RankPageCopy, RankPageRead, RankPageWrite, RankStatistics,
                 RankInt8x2, RankEnd, RankAdapter, RankAdapterEnd, RankAdapterAhead, RankGiveBack>;

template <typename Archive>
void visit_fields(Archive& archive, RankStep::Sequence& s) {
  archive(s.first_row, s.n_rows, s.first_position, s.pages, s.window_pages);
}
template <typename Archive>
void visit_fields(Archive& archive, RankStep& s) {
  archive(s.number, s.checks_residual, s.store, s.tokens, s.sequences, s.pages, s.rope_lengths, s.logit_rows,
          s.scored_rows, s.hidden_rows, s.layers, s.state_layers, s.has_windows, s.adapters);
}
template <typename Archive>
void visit_fields(Archive& archive, RankStep::Adapter& a) {
  archive(a.adapter, a.first_row, a.n_rows, a.scale);
}
template <typename Archive>
void visit_fields(Archive& archive, RankAdapter& a) {
  archive(a.adapter, a.path, a.key, a.type, a.max_rank, a.bytes);
}
template <typename Archive>
void visit_fields(Archive& archive, RankAdapterEnd& a) {
  archive(a.adapter);
}
template <typename Archive>
void visit_fields(Archive& archive, RankAdapterAhead& a) {
  archive(a.path, a.type, a.max_rank);
}
template <typename Archive>
void visit_fields(Archive& archive, RankStore::Exception& e) {
  archive(e.first, e.last, e.encoding);
}
template <typename Archive>
void visit_fields(Archive& archive, RankStore& s) {
  archive(s.store, s.encoding, s.layout, s.block_tokens, s.exceptions, s.pages, s.window_pages);
}
template <typename Archive>
void visit_fields(Archive& archive, RankStoreEnd& s) {
  archive(s.store);
}
template <typename Archive>
void visit_fields(Archive& archive, RankPage& p) {
  archive(p.store, p.windowed, p.page);
}
template <typename Archive>
void visit_fields(Archive& archive, RankPageCopy& c) {
  archive(c.from, c.to);
}
template <typename Archive>
void visit_fields(Archive& archive, RankPageRead& r) {
  archive(r.page);
}
template <typename Archive>
void visit_fields(Archive& archive, RankPageWrite& w) {
  archive(w.page, w.sizes, w.bytes);
}
template <typename Archive>
void visit_fields(Archive& archive, RankGiveBack& g) {
  archive(g.store, g.windowed, g.first_part, g.end_part, g.parts, g.kept);
}
template <typename Archive>
void visit_fields(Archive& archive, RankStatistics& s) {
  archive(s.start);
}
template <typename Archive>
void visit_fields(Archive& archive, RankInt8x2& i) {
  archive(i.weights);
}
template <typename Archive>
void visit_fields(Archive&, RankEnd&) {}

}  // namespace millrace::model
