// Requests and sessions on their way between two engines.

#include <algorithm>

#include "engine/active_sequence.h"
#include "simulator/request_driver.h"

namespace millrace::simulator {

using engine::Engine;
using engine::RequestId;
using engine::SessionId;

void RequestDriver::count_departure(const Asked& asked, const Engine& engine) {
  if (asked.request.beams) coverage_.count(Event::kMovedBeams);
  if (asked.request.session) coverage_.count(Event::kMovedWithSession);
  if (asked.forked && asked.request.n > 1) coverage_.count(Event::kMovedSeveralAnswers);
  const auto count = [&](const sched::Sequence* sequence, bool waits) {
    if (static_cast<const engine::ActiveSequence*>(sequence)->request != asked.id) return;
    coverage_.count(sequence->swapped               ? Event::kMovedSwapped
                    : waits                         ? Event::kMovedWaiting
                    : sequence->output_tokens() > 0 ? Event::kMovedDecoding
                                                    : Event::kMovedPrefilling);
  };
  for (const sched::Sequence* sequence : engine.scheduler().waiting()) count(sequence, true);
  for (const sched::Sequence* sequence : engine.scheduler().running()) count(sequence, false);
}

void RequestDriver::take_out(RequestId id, std::vector<engine::Output>& outputs) {
  Asked& asked = *book_.find(id);
  Engine& engine = *engines_[asked.engine];
  const auto before = engine.counters().exports;
  count_departure(asked, engine);
  auto snapshot = engine.transfers().export_sequence(id, outputs);
  const bool ended =
      std::ranges::any_of(outputs, [&](const engine::Output& output) { return output.request == id && output.last; });
  if (snapshot.ok() == ended || engine.counters().exports != before + (ended ? 0 : 1)) {
    verdict_.fail("M1", id, "a request that {} was {}", ended ? "has ended" : "is in flight",
                  snapshot ? "exported" : "not exported: " + snapshot.error().message);
  }
  if (!snapshot) return;
  auto bytes = engine::to_bytes(*snapshot);
  transit_.push_back({.bytes = std::move(bytes), .id = id, .from = asked.engine, .begin = snapshot->exported});
  if (asked.request.session) {
    const auto session = sessions_.find(*asked.request.session);
    if (session != sessions_.end()) session->second.engine = kInTransit;
  }
  asked.engine = kInTransit;
}

// Nothing of it may be left behind.
void RequestDriver::expect_bad_ones_rejected(const std::vector<std::byte>& bytes, Engine& engine) {
  const auto imports = engine.counters().imports;
  const kv::CacheUse use = engine.cache().use();
  std::vector<std::byte> cut(bytes.begin(), bytes.end() - 1 - static_cast<std::ptrdiff_t>(bytes.size() / 3));
  expect_rejection(!engine::sequence_from_bytes(cut), "a truncated snapshot");
  std::vector<std::byte> damaged = bytes;
  damaged[bytes.size() / 2] ^= std::byte{0x10};
  expect_rejection(!engine::sequence_from_bytes(damaged), "a damaged snapshot");
  std::vector<std::byte> version = bytes;
  version[8] ^= std::byte{0x7f};
  expect_rejection(!engine::sequence_from_bytes(version), "a snapshot of another version");
  auto other = engine::sequence_from_bytes(bytes);
  if (!other) return verdict_.fail("M1", 0, "a snapshot cannot be read: {}", other.error().message);
  ++other->origin.model_key;
  expect_rejection(!engine.transfers().import_sequence(*other), "a snapshot of another model");
  --other->origin.model_key;
  other->answers[0].computed += scenario_.executor.block_tokens;
  expect_rejection(!engine.transfers().import_sequence(*other), "a snapshot with too few pages");
  if (engine.counters().imports != imports || engine.cache().use().used != use.used) {
    verdict_.fail("M1", 0, "a rejected snapshot left something behind");
  }
  coverage_.count(Event::kBadSnapshotRejected);
}

std::optional<engine::ImportedSequence> RequestDriver::import(const Transit& transit, std::size_t place) {
  Engine& engine = *engines_[place];
  const bool full = static_cast<std::int64_t>(engine.scheduler().waiting().size()) >= scenario_.engine.max_waiting;
  auto snapshot = engine::sequence_from_bytes(transit.bytes).or_throw();
  auto imported = engine.transfers().import_sequence(snapshot);
  if (imported.ok() == full) {
    verdict_.fail("M1", transit.id, "an import into an engine that {} was {}", full ? "is full" : "has capacity",
                  imported ? "accepted" : "refused: " + imported.error().message);
  }
  if (full) coverage_.count(Event::kMoveRejectedFull);
  if (!imported) return std::nullopt;
  return *imported;
}

// The new ids, and what its client did meanwhile.
RequestDriver::Renamed RequestDriver::settle_in(const Transit& transit, const engine::ImportedSequence& imported,
                                                std::size_t place) {
  Renamed renamed{.request = std::pair(transit.id, imported.request)};
  book_.rename(transit.id, imported.request);
  Asked& asked = *book_.find(imported.request);
  Engine& engine = *engines_[place];
  asked.engine = place;
  if (asked.deadline) *asked.deadline += env_.time - transit.begin;
  if (imported.session) {
    auto node = sessions_.extract(*asked.request.session);
    if (node.empty()) {
      engine.sessions().close(*imported.session);  // as it was meanwhile
    } else {
      renamed.session = std::pair(node.key(), *imported.session);
      node.key() = *imported.session;
      node.mapped().engine = place;
      sessions_.insert(std::move(node));
    }
    asked.request.session = imported.session;
  }
  if (asked.paused) engine.pause(asked.id, true);
  if (transit.cancelled) {
    engine.cancel(asked.id);
    asked.must_end_by = step_ + scenario_.executor.depth;
  }
  return renamed;
}

std::vector<RequestDriver::Renamed> RequestDriver::arrive() {
  std::vector<Renamed> renamed;
  std::erase_if(transit_, [&](const Transit& transit) {
    if (verdict_.failed()) return false;
    for (const std::size_t place : {1 - transit.from, transit.from}) {
      expect_bad_ones_rejected(transit.bytes, *engines_[place]);
      if (const auto imported = import(transit, place)) {
        renamed.push_back(settle_in(transit, *imported, place));
        return true;
      }
    }
    return false;
  });
  return renamed;
}

std::optional<RequestDriver::Renamed> RequestDriver::move_session(SessionId id) {
  const Session& session = sessions_.at(id);
  if (session.engine == kInTransit) return std::nullopt;
  const std::size_t to = 1 - session.engine;
  const auto snapshot = engines_[session.engine]->transfers().export_session(id);
  if (snapshot.ok() == session.busy) {
    verdict_.fail("M1", 0, "a session that {} was {}", session.busy ? "is busy" : "is idle",
                  snapshot ? "exported" : "not exported: " + snapshot.error().message);
  }
  if (!snapshot || session.busy) return std::nullopt;
  auto bytes = engine::to_bytes(*snapshot);
  const auto imported = engines_[to]->transfers().import_session(engine::session_from_bytes(bytes).or_throw());
  if (!imported) {
    verdict_.fail("M1", 0, "a session cannot be imported: {}", imported.error().message);
    return std::nullopt;
  }
  auto node = sessions_.extract(id);
  node.key() = *imported;
  node.mapped().engine = to;
  sessions_.insert(std::move(node));
  coverage_.count(Event::kSessionMoved);
  return Renamed{.request = {}, .session = std::pair(id, *imported)};
}

}  // namespace millrace::simulator
