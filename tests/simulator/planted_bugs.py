"""Planted bugs, each a change of one place, most of them of kv/, sched/, engine/ or model/ranks/, that the simulator must find within 1,000 seeds.

    ninja -C build/release millrace
    python tests/simulator/planted_bugs.py [name ...]

Each changed file is compiled as the build has it and linked before the libraries into a copy of millrace; the build itself stays as
it is. Prints which seed and which invariant found each; exits 1 if one was not found, or no longer fits the source.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release")
SEEDS, CHUNK = 1000, 50

# name: (file, what stands there, what the bug makes of it)
BUGS = {
    "a replaced adapter keeps its name": ("src/model/adapters/adapter_store_thread.cc",
        "  named = version;\n", "  if (named == nullptr) named = version;\n"),
    "an adapter that is read again may be another one": ("src/model/adapters/adapter_store_thread.cc",
        "  if (content && again && content->adapter->key() != version->key) {", "  if (content && again && content->adapter->key().empty()) {"),
    "pages are shared whatever the adapters": ("src/engine/adapter_seats.cc",
        "  state_.set_adapters(sequence, flight.request, nullptr);\n",
        "  state_.set_adapters(sequence, flight.request, nullptr);\n  sequence.scope.adapter.clear();\n"),
    "an adapter in use leaves memory": ("src/model/adapters/adapter_residency.cc",
        "version->uses == 0 && (oldest", "version->uses <= 1 && (oldest"),
    "a use of an adapter does not end": ("src/model/adapters/adapter_residency.cc",
        "  --version->uses;\n", "  if (version->uses != 2) --version->uses;\n"),
    "a replaced adapter stays in memory": ("src/model/adapters/adapter_residency.cc",
        "  if (version->adapter != nullptr && version->uses == 0) let_go(version);", ""),
    "one more adapter than the limit": ("src/model/adapters/adapter_residency.cc",
        "count <= limits.count)", "count <= limits.count + 1)"),
    "a request runs before its adapters are there": ("src/engine/intake.cc",
        "  first.adapters_missing = claim != nullptr;", "  first.adapters_missing = claim != nullptr && id % 3 != 0;"),
    "nobody asks for adapters": ("src/engine/adapter_seats.cc", "asks < kAsks", "asks > kAsks"),
    "a page is freed twice": ("src/kv/block_table.cc",
        "    pool_->release(blocks_.back());\n    blocks_.pop_back();",
        "    pool_->release(blocks_.back());\n    if (keep == 0 && blocks_.size() == 5) pool_->release(blocks_.back());\n    blocks_.pop_back();"),
    "a reference is lost on cancel": ("src/engine/endings.cc",
        "  if (!sequence.descheduled) state_.scheduler.remove(sequence);\n",
        "  if (!sequence.descheduled) state_.scheduler.remove(sequence);\n  if (reason == FinishReason::kCancelled) new kv::BlockTable(std::move(sequence.blocks));\n"),
    "no copy on write": ("src/kv/paged_cache.cc",
        "  if (others == 0) return false;", "  if (others >= 0) return false;"),
    "the salt is ignored in the tree": ("src/kv/prefix_tree.cc",
        "scope.activated.empty() ? roots_.find(scope) :", "scope.activated.empty() ? roots_.begin() :"),
    "a partial match is one token too long": ("src/kv/paged_cache.cc",
        "  return room ? match.partial_tokens : 0;", "  return room ? match.partial_tokens + 1 : 0;"),
    "attach trusts an old match": ("src/kv/prefix_tree.cc",
        "  return pool_.published(block) && version_[static_cast<std::size_t>(block)] <= version;",
        "  return version <= ~std::uint64_t{0} && block >= 0;"),
    "a preempted one keeps what it has computed": ("src/engine/preemptor.cc",
        "  sequence.blocks.truncate(0);\n  sequence.scheduled = sequence.computed = 0;",
        "  sequence.blocks.truncate(0);"),
    "swap restores pages in another order": ("src/kv/swap_space.cc",
        "    device_.write(pages[i], page);", "    device_.write(pages[pages.size() - 1 - i], page);"),
    "what is beside a page is the page's before": ("src/kv/swap_space.cc",
        "const auto [page, companion] = slot(ticket, i);\n    device_", "const auto [page, companion] = std::pair(slot(ticket, i).page, slot(ticket, i == 0 ? 0 : i - 1).companion);\n    device_"),
    "what another drafter keeps is taken": ("src/engine/sequence_transfer.cc",
        "  if (theirs != state.cache.companion()) contents", "  if (theirs.page_bytes != state.cache.companion().page_bytes) contents"),
    "a shared page counts as its writer's": ("src/kv/paged_cache.cc",
        "  return others > 1 || !pool_.published(block) || tree_->tokens_in(block) > kept;",
        "  return others > 1 && tree_->tokens_in(block) > kept;"),
    "a row reserves one token too few": ("src/engine/step_loop.cc",
        "s.scheduled + row.n_tokens);", "s.scheduled + row.n_tokens - 1);"),
    "computed advances twice": ("src/sched/scheduler.cc",
        "    sequence.computed += row.n_tokens;", "    sequence.computed += row.n_tokens + (row.n_tokens == 7 ? 1 : 0);"),
    "a swapped one that is cancelled leaks": ("src/engine/endings.cc",
        "  output.last = --flight.live == 0;",
        "  if (sequence.swapped) new kv::SwapTicket(std::move(*sequence.swapped));\n  output.last = --flight.live == 0;"),
    "a session lends more than is computed": ("src/engine/sessions.cc",
        "  const auto computed_end = session.tokens.begin() + session.computed;",
        "  const auto computed_end = session.tokens.end();"),
    "nothing is forgotten after a failure": ("src/engine/endings.cc",
        "  if (!trusted) state_.cache.forget(sequence.scope, sequence.tokens, 0);", ""),
    "an disk page's key leaves out its parent": ("src/kv/disk_pages.cc",
        "scope, parent, tokens.subspan(first, block_tokens))", "scope, nullptr, tokens.subspan(first, block_tokens))"),
    "the disk checks nothing": ("src/kv/disk_segment.cc",
        "  return checksum(page) == record->page_checksum;", "  return true;"),
    "a paused one is still served": ("src/sched/plan_draft.cc",
        "    if (sequence->paused) {\n      any_paused = true;\n    } else {",
        "    if (sequence->paused && sequence->id == 0) {\n      any_paused = true;\n    } else {"),
    "the oldest is preempted first": ("src/sched/plan_draft.cc",
        "      if (oldest == nullptr && !sequence->blocked) oldest = sequence;\n", ""),
    "a time limit never comes": ("src/engine/endings.cc",
        " end_request(*id, FinishReason::kTimeout, outputs);", "{}"),
    "an output is sent twice": ("src/engine/row_sampler.cc",
        "  output.stats = sequence.stats;\n  outputs.push_back(std::move(output));",
        "  output.stats = sequence.stats;\n  if (sequence.stats.output_tokens == 9) outputs.push_back(output);\n  outputs.push_back(std::move(output));"),
    "a moved page's place in the tree stays the old one": ("src/kv/prefix_tree.cc",
        "  *std::find(node.blocks.begin(), node.blocks.end(), from) = to;\n", ""),
    "pages are moved in another order": ("src/kv/compaction.cc",
        "    device_.copy(from, to[i]);", "    device_.copy(from, to[to.size() - 1 - i]);"),
    "a page is read after it was freed": ("src/kv/swapped_pages.cc",
        "  auto ticket = swap_.store(pages, needed_window(window_.get(), table, pages.size(), tokens));",
        "  const auto seen = needed_window(window_.get(), table, pages.size(), tokens);\n"
        "  const std::vector<BlockId> freed(pages.begin(), pages.end()), windows(seen.begin(), seen.end());\n"
        "  table.truncate(0);\n  auto ticket = swap_.store(freed, windows);"),
    "a failed swap keeps its slots": ("src/kv/swap_space.cc",
        "  } catch (const std::bad_alloc&) {\n", "  } catch (const std::bad_alloc&) {\n    pages_.take(1);\n"),
    "one joins a batch that has begun": ("src/sched/step_admission.cc",
        "  if (!input.running.empty() || waiting.empty()) return false;",
        "  if (input.running.size() > 1 || waiting.empty()) return false;"),
    "a static batch waits for ever": ("src/sched/step_admission.cc",
        "  return milliseconds_between(since, input.view.now) >= draft.config.batch_wait_ms;",
        "  return dynamic && milliseconds_between(since, input.view.now) >= draft.config.batch_wait_ms;"),
    "one that has begun is refused as late": ("src/sched/policies/slo.cc",
        "    if (sequence.output_tokens() > 0) return std::nullopt;", "    if (sequence.output_tokens() > 9) return std::nullopt;"),
    "a session's pages go to any scope": ("src/engine/sessions.cc",
        "common = kv::common_tokens(session.scope, scope, cache_.block_tokens());", "common = std::int64_t{1} << 30;"),
    "a moved sequence's pages come in another order": ("src/kv/swap_space.cc",
        "subspan(index * page_bytes_, page_bytes_)",
        "subspan((static_cast<std::size_t>(ticket.contents_.n) - 1 - index) * page_bytes_, page_bytes_)"),
    "an exported sequence leaves its pages behind": ("src/engine/sequence_transfer.cc",
        "    if (!answer->descheduled) state_.scheduler.remove(*answer);",
        "    if (!answer->descheduled) state_.scheduler.remove(*answer);\n    if (answer->choice == 2) new kv::BlockTable(std::move(answer->blocks));"),
    "imported answers all have the first one's seed": ("src/engine/sequence_transfer.cc",
        "  if (!snapshot.beams) sampling.seed += static_cast<std::uint64_t>(answer.choice);\n", ""),
    "penalties forget what was said before the move": ("src/engine/sequence_transfer.cc",
        "    sequence.pipeline.accept(token);\n", ""),
    "a stop string does not reach over a move": ("src/engine/sequence_transfer.cc",
        "    if (sequence.is_beam) continue;", "    if (!sequence.is_beam || sequence.is_beam) continue;"),
    "a session that was moved stays open as well": ("src/engine/sequence_transfer.cc",
        "  state_.sessions.close(id);\n  return out;", "  return out;"),
    "a moved sequence is a token behind its pages": ("src/engine/sequence_transfer.cc",
        "    sequence.scheduled = sequence.computed = answer.computed;",
        "    sequence.scheduled = sequence.computed = answer.computed + (answer.computed + 1 < sequence.length() ? 1 : 0);"),
    "a token is fed from the step before, whichever sampled it": ("src/engine/batch_builder.cc",
        "launch - sequence.last_unseen.launch)", "1)"),
    "a token is fed to another answer": ("src/engine/batch_builder.cc",
        "static_cast<std::int32_t>(input.sampled_rows.size())}", "0}"),
    "the row after an answer's end is kept": ("src/engine/step_loop.cc",
        "  if (sequence.ending != FinishReason::kNone) return uncount(row);", "  if (sequence.ending != FinishReason::kNone) return;"),
    "an answer that ends in flight loses its last token": ("src/engine/endings.cc",
        "std::make_unique<Output>(std::move(output));", "std::make_unique<Output>();"),
    "a window lets go of its last token": ("src/kv/window_pages.cc",
        "(next - window_ + 1) / block_tokens_", "(next - window_ + 2) / block_tokens_"),
    "a sequence goes on where window pages are gone": ("src/kv/window_pages.cc",
        "  while (tokens > 0) {\n    const auto first", "  while (tokens < 0) {\n    const auto first"),
    "attach does not ask for window pages that went since": ("src/kv/window_match.cc",
        "std::ranges::all_of(pages.subspan(from), seen)", "std::ranges::all_of(pages.subspan(valid), seen)"),
    "swap forgets the window pages": ("src/kv/swapped_pages.cc",
        "  swap_.load(ticket, table.blocks(), window_pages.subspan(std::min(table.behind(), window_pages.size())));",
        "  swap_.load(ticket, table.blocks(), {});"),
    "a copy on write leaves the window page behind": ("src/kv/paged_cache.cc",
        "    if (window_) window_device_->copy(table.window_blocks()[page], window_copy[0]);\n", ""),
    "a window page leaks on cancel": ("src/engine/endings.cc",
        "  if (!sequence.descheduled) state_.scheduler.remove(sequence);\n",
        "  if (!sequence.descheduled) state_.scheduler.remove(sequence);\n  if (reason == FinishReason::kCancelled) sequence.blocks.begin_behind(sequence.blocks.blocks().size());\n"),
    "a session goes back to where its window is gone": ("src/kv/paged_cache.cc",
        "  if (window_) tokens = window_->reach(table.blocks(), tokens);\n", ""),
    "a moved page's window page stays with its old number": ("src/kv/compaction.cc",
        "    if (window_) window_->renamed(from, to[i]);\n", ""),
    "a window moves on with tokens that are only planned": ("src/engine/step_loop.cc",
        "release_behind(sequence->computed)", "release_behind(sequence->planned_length() + std::ssize(sequence->drafts))"),
    "a window never gives back": ("src/engine/step_loop.cc",
        "release_behind(sequence->computed)", "release_behind(0)"),
    "a token of no numbers is taken for the first one": ("src/engine/row_sampler.cc",
        "  if (token) {\n    take_sampled(sequence, *token, {}, outputs);", "  if (token || !token) {\n    take_sampled(sequence, token.value_or(0), {}, outputs);"),
    "beams that have scores keep pages that are lost": ("src/engine/step_loop.cc",
        "      if (beam != nullptr) forget(beam.get());\n", "      (void)beam;\n"),
    "ranks miss that a page was copied": ("src/model/ranks/rank_leader.cc",
        "    leader_.try_send(RankPageCopy{{store_, windowed, from}, to});\n", ""),
    "ranks copy a page in place of a window page": ("src/model/ranks/rank_leader.cc",
        "RankPageCopy{{store_, windowed, from}, to}", "RankPageCopy{{store_, false, from}, to}"),
    "ranks miss a page that is written": ("src/model/ranks/rank_leader.cc",
        "    leader_.try_send(RankPageWrite{", "    if (windowed) leader_.try_send(RankPageWrite{"),
    "parts of a page are taken in another order": ("src/model/ranks/rank_leader.cc",
        "= parts[rank - 1];", "= parts[parts.size() - rank];"),
    "a rank takes another one's part of a page": ("src/model/ranks/rank_follower.cc",
        "std::span(write.bytes).subspan(before, bytes)", "std::span(write.bytes).subspan(0, bytes)"),
    "borders of heads are off by one": ("src/model/shard.cc",
        "  return {border(place(rank)), border(place(rank) + 1)};",
        "  return {border(place(rank)), std::min(n, border(place(rank) + 1) + 1)};"),
    "a rank has a key head too few": ("src/model/shard.cc",
        "  return {queries.first / group, (queries.last + group - 1) / group};",
        "  return {queries.first / group, std::max(queries.first / group + 1, queries.last / group)};"),
    "a block of an exchange is read before it has come": ("src/simulator/fake_part.cc",
        "    group.await(number, comm::step_timeout(std::ssize(own))).or_throw();", "    (void)number;"),
    "statistics are those of rank 0": ("src/model/ranks/rank_counts.cc",
        "      all[at->second].outputs += of_weight.outputs;\n", ""),
    "ranks started anew get no stores": ("src/model/ranks/rank_leader.cc",
        "  for (const auto& [number, store] : stores_) {\n    for", "  for (const auto& [number, store] : std::map<std::uint32_t, RankStore>()) {\n    for"),
    "ranks started anew keep weights as the file has them": ("src/model/ranks/rank_leader.cc",
        "  if (!int8x2_.empty()) send(RankInt8x2{int8x2_});\n", ""),
    "ranks started anew are taken to have their adapters": ("src/model/ranks/rank_leader.cc",
        "  adapters_.clear();  // what steps still name they get again\n", ""),
    "ranks started anew go on with the key of commands": ("src/model/ranks/rank_leader.cc",
        "  commands_key_ = 0;\n  adapters_", "  adapters_"),
    "ranks forget the scale of an adapter": ("src/model/ranks/rank_leader.cc",
        "range.first_row, range.n_rows, range.scale});", "range.first_row, range.n_rows, 1.0f});"),
    "an answer is taken of whatever commands": ("src/model/ranks/rank_leader.cc",
        "  if (*key != expected) refuse(", "  if (*key == 1) refuse("),
    "answers that were not waited for are expected still": ("src/model/ranks/answer_queue.cc",
        "of_rank.clear();", "(void)of_rank;"),
    "a later answer is taken for an earlier one": ("src/model/ranks/answer_queue.cc",
        "  for (auto earlier = all.begin(); earlier != own; ++earlier) {", "  for (auto earlier = own; earlier != own; ++earlier) {"),
    "rows of any step are taken from the stage before": ("src/model/ranks/stage_link.cc",
        "  if (*number != step) {", "  if (*number == ~step) {"),
    "a step goes on where a rank was lost meanwhile": ("src/model/ranks/rank_leader.cc",
        "  if (lost_) throw LoadError(*lost_);  // no step is left\n", ""),
    "pages of ranks that have ended are exported": ("src/kv/swapped_pages.cc",
        "  if (!intact()) return std::nullopt;\n  return out;", "  return out;"),
    "pages of ranks that have ended are swapped out": ("src/kv/swap_space.cc",
        "  if (!device_.intact()) return std::nullopt;\n  return ticket;", "  return ticket;"),
    "pages of ranks that have ended are archived": ("src/kv/disk_pages.cc",
        "    if (intact()) disk_->put", "    disk_->put"),
    "pages that were lost are found by others": ("src/engine/step_loop.cc",
        "  state_.cache.clear();\n}\n\nvoid StepLoop::commit", "}\n\nvoid StepLoop::commit"),
    "sessions keep pages that were lost": ("src/engine/step_loop.cc",
        "  while (state_.sessions.reclaim()) {\n  }\n  const auto recovered", "  const auto recovered"),
}


def commands():
    """What compiles each source (command, file: its own, or the joined one of cmake/unity.cmake), and the link command of millrace."""
    entries = json.loads(subprocess.run(["ninja", "-C", BUILD, "-t", "compdb"], capture_output=True, check=True, text=True).stdout)
    compiles, link = {}, None
    for entry in entries:
        if entry["output"].endswith(".cc.o"):
            file = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
            joined = re.findall(r'#include "(.*)"', file.read_text()) if "unity" in file.parts else [file]
            compiles |= {str(ROOT / source): (entry["command"], file) for source in joined}
        elif entry["output"] == "bin/millrace":
            link = entry["command"]
    return compiles, link


def plant(name, folder, compiles, link):
    file, old, new = BUGS[name]
    source = ROOT / file
    text = source.read_text()
    if old not in text:
        return "does not fit the source"
    folder.mkdir(parents=True)
    changed, target, program = folder / source.name, folder / "changed.o", folder / "millrace"
    changed.write_text(text.replace(old, new))
    command, file = compiles[str(source)]
    unit = changed
    if file != source:
        unit = folder / file.name
        unit.write_text(file.read_text().replace(f'#include "{source.relative_to(ROOT)}"', f'#include "{changed}"'))
    words = [w for w in shlex.split(command) if "ccache" not in w]
    words[words.index("-o") + 1] = str(target)
    words[words.index("-c") + 1] = str(unit)
    for flag in ("-MD", "-MT", "-MF"):
        if flag in words:
            at = words.index(flag)
            del words[at:at + (1 if flag == "-MD" else 2)]
    built = subprocess.run([*words, "-Wno-error", f"-I{source.parent}"], cwd=BUILD, capture_output=True, text=True)
    if built.returncode:
        return "does not compile: " + built.stderr[-500:]
    words = shlex.split(link.split("&&")[1])
    words[words.index("-o") + 1] = str(program)
    words.insert(words.index("-o"), str(target))
    built = subprocess.run(words, cwd=BUILD, capture_output=True, text=True)
    if built.returncode:
        return "does not link: " + built.stderr[-500:]
    return None


def hunt(program):
    """The first seed that finds something, and what; None if none of SEEDS does."""
    for first in range(1, SEEDS, CHUNK):
        run = subprocess.run([program, "simulate", "--seed", str(first), "--seeds", str(CHUNK), "--json"], capture_output=True,
                             text=True, timeout=600)
        if run.returncode < 0 or run.returncode not in (0, 1):
            for seed in range(first, first + CHUNK):
                one = subprocess.run([program, "simulate", "--seed", str(seed)], capture_output=True, text=True, timeout=600)
                if one.returncode:
                    return seed, "crash: " + (one.stderr.strip().splitlines() or ["signal"])[-1][:70]
        elif run.returncode == 1:
            violation = json.loads(run.stdout)["violations"][0]
            return violation["seed"], violation["invariant"] + ": " + violation["what"][:70]
    return None


def main(names):
    compiles, link = commands()
    missed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(int(os.environ.get("MILLRACE_JOBS", "2"))) as pool:
        def one(numbered):
            number, name = numbered
            place = pathlib.Path(folder) / str(number)
            trouble = plant(name, place, compiles, link)
            if trouble:
                return name, trouble, None
            return name, None, hunt(place / "millrace")
        for name, trouble, found in pool.map(one, enumerate(names)):
            if trouble or found is None:
                missed += 1
            print(f"{name:<52} " + (trouble or (f"seed {found[0]:>4}  {found[1]}" if found else "NOT FOUND")), flush=True)
    print(f"{len(names) - missed} of {len(names)} found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(BUGS)))
