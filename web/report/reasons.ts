import { bytes, integer, isNumber, ms, percent, plural, share } from '../shared/format';
import { PART_NAMES, split, type Measured, type Part } from './derive';
import type { CompareReport, ServeReport } from './schema';
import { ascending, mean, quantile } from './stats';

export interface Finding {
  kind: 'note' | 'warning';
  text: string;
  section: string; // where it is shown
}

// What dominates a request's latency, in words: "waiting in the queue 74 %, prefill 20 %". Empty where the server said nothing.
export function why(request: Measured, until: 'first token' | 'end'): string {
  const parts = split(request, until);
  if (!parts) return '';
  const total = Object.values(parts).reduce((sum, value) => sum + value, 0);
  if (total <= 0) return '';
  return (Object.entries(parts) as [Part, number][])
    .filter(([, value]) => value / total >= 0.1)
    .sort((a, b) => b[1] - a[1])
    .map(([part, value]) => `${PART_NAMES[part]} ${Math.round((value / total) * 100)} %`)
    .join(', ');
}

// The share of the slowest tenth's time that each part takes, the largest first.
function tail(requests: Measured[], figure: 'ttft' | 'latency'): { part: Part; share: number; n: number }[] {
  const limit = quantile(ascending(requests.map((r) => r[figure]).filter(isNumber)), 0.9);
  if (limit === null) return [];
  const parts = requests
    .filter((r) => isNumber(r[figure]) && r[figure] >= limit)
    .map((r) => split(r, figure === 'ttft' ? 'first token' : 'end'))
    .filter((s) => s !== null);
  const total = parts.reduce((sum, s) => sum + Object.values(s).reduce((a, b) => a + b, 0), 0);
  if (total <= 0) return [];
  return (Object.keys(parts[0]!) as Part[])
    .map((part) => ({ part, share: parts.reduce((sum, s) => sum + s[part], 0) / total, n: parts.length }))
    .sort((a, b) => b.share - a.share);
}

// Reasons one after the other, without the full stops that they may have.
function sentences(reasons: string[]): string {
  return reasons.map((reason) => reason.trim().replace(/\.+$/, '').replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase())).join('; ');
}

// What a reader should know first. Says only what the report holds; each finding has its rule beside it.
export function findings(report: ServeReport, requests: Measured[]): Finding[] {
  const all: Finding[] = [];
  const add = (kind: Finding['kind'], section: string, text: string) => all.push({ kind, section, text });
  const whole = requests.filter((r) => r.whole);

  if (report.noise?.verdict === 'noisy') {
    add('warning', 'machine', `The machine was noisy: ${report.noise.reasons?.length ? sentences(report.noise.reasons) : 'no reason was recorded'}.`);
  }
  if (report.load?.stopped) add('warning', 'run', 'The run was stopped before its end: its last requests are missing.');
  if (isNumber(report.failed) && report.failed > 0) {
    const count = report.failed + (report.completed ?? 0);
    add('warning', 'errors', `${integer(report.failed)} of ${plural(count, 'request')} failed. Latency is of the others; goodput counts all.`);
  }
  const cpu = report.client?.cpu_share;
  if (isNumber(cpu) && cpu > 0.7) {
    add('warning', 'client', `The load client was busy ${share(cpu)} of one processor: it may be what limits these figures.`);
  }
  const lag = report.client?.send_lag_ms?.p99;
  if (isNumber(lag) && isNumber(report.median_ttft_ms) && lag > 10 && lag > 0.1 * report.median_ttft_ms) {
    add('warning', 'client', `Requests left up to ${ms(lag)} late (p99), which is ${percent((lag / report.median_ttft_ms) * 100)} of the median TTFT.`);
  }
  if (whole.length > 0 && whole.length < 100) {
    add('note', 'distributions', `p99 of ${plural(whole.length, 'request')} is the slowest one or two: read its interval, or run more.`);
  }
  const [first] = tail(requests, 'ttft');
  if (first && first.share > 0.4) {
    add('note', 'why', `In the slowest tenth by TTFT, ${PART_NAMES[first.part]} takes ${share(first.share)} of the time to the first token.`);
  }
  // The backlog at the end against that in the middle: an open load above what the server can do never settles.
  const waiting = report.samples?.waiting?.some(isNumber) ? report.samples.waiting : report.steps?.waiting;
  if (waiting && waiting.length >= 20 && report.load?.kind === 'open') {
    const part = (from: number, to: number) => mean(waiting.slice(Math.floor(waiting.length * from), Math.floor(waiting.length * to)).filter(isNumber));
    const [early, middle, late] = [part(0, 0.2), part(0.4, 0.6), part(0.7, 0.9)];
    if (isNumber(early) && isNumber(middle) && isNumber(late) && late > 4 && late > 1.5 * middle && middle > 1.5 * early) {
      add('warning', 'timeline', 'The queue grew throughout the run: the load is above what the server can do, and a longer run would show longer latencies.');
    }
  }
  const preempted = report.server?.counters?.preemptions ?? report.steps?.preempted.reduce((a, b) => a + b, 0);
  if (isNumber(preempted) && preempted > 0) {
    add('note', 'timeline', `${plural(preempted, 'sequence')} lost the KV cache to others and computed it again (preemption).`);
  }
  const cached = report.server?.counters?.cached_tokens;
  const prompt = report.server?.counters?.prompt_tokens ?? report.total_input_tokens;
  if (isNumber(cached) && isNumber(prompt) && prompt > 0 && cached / prompt > 0.02) {
    add('note', 'overview', `${share(cached / prompt)} of the prompt tokens came from the prefix cache.`);
  }
  const capacity = report.server?.kv_capacity_tokens;
  const perToken = report.server?.kv_bytes_per_token;
  const peak = Math.max(0, ...(report.samples?.kv_used ?? []).filter(isNumber));
  if (peak > 0.95 && isNumber(capacity)) {
    const size = isNumber(perToken) ? ` (${bytes(capacity * perToken)})` : '';
    add('note', 'timeline', `The KV cache of ${integer(capacity)} tokens${size} was full at times.`);
  }
  return all;
}

type Side = CompareReport['sides'][number];
const address = (side: Side | undefined) => (typeof side?.target === 'string' ? side.target : (side?.target?.url ?? null));

// The title of a comparison: by the sides' names, or by their addresses where nobody named them.
export function comparisonTitle(sides: Side[]): string {
  const [a, b] = sides;
  if (a?.name !== 'A' || b?.name !== 'B') return `A ${a?.name ?? '?'} · B ${b?.name ?? '?'}`;
  const [x, y] = [address(a), address(b)];
  if (x === null || y === null) return 'A and B, two servers without an address';
  return x === y ? `${x} beside itself` : `A ${x} · B ${y}`;
}

// "Of 11 metrics, B is better in 2 and worse in 1; 8 are undecided."
export function verdictsInWords(verdicts: { verdict: string }[]): string {
  const all = verdicts.length;
  if (all === 0) return '';
  const count = (verdict: string) => verdicts.filter((v) => v.verdict === verdict).length;
  const undecided = count('undecided');
  if (undecided === all) return all === 1 ? 'The one metric is undecided.' : `All ${all} metrics are undecided.`;
  const parts = [[count('B better'), 'better'], [count('B worse'), 'worse'], [count('equal'), 'equal']] as const;
  const said = parts.filter(([n]) => n > 0).map(([n, word]) => `${word} in ${n}`);
  const last = said.pop();
  const ranked = said.length ? `${said.join(', ')} and ${last}` : last;
  return `Of ${plural(all, 'metric')}, B is ${ranked}${undecided ? `; ${undecided} ${undecided === 1 ? 'is' : 'are'} undecided` : ''}.`;
}

// "default" is what the command line calls a model, and no name of one.
export function modelName(id: string | null | undefined): string {
  return id === 'default' ? "millrace's default model" : (id ?? 'A model without a name');
}
