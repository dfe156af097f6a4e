import { isNumber } from '../../shared/format';
import type { Measured } from '../derive';
import type { Steps } from '../schema';
import { everyKth } from '../stats';

export type Kind = 'queue' | 'prefill' | 'decode' | 'waiting' | 'answering' | 'failed';
// One rectangle: its request's place among the rows, times in seconds.
export interface Bar {
  row: number;
  start: number;
  end: number;
  kind: Kind;
}

// A request as rectangles: its phases in the server where they are known, else before and after its first token.
export function bars(request: Measured, row: number): Bar[] {
  const { row: r, whole } = request;
  const end = r.last_token ?? r.ended ?? r.sent ?? r.due;
  if (!whole) return [{ row, start: r.due, end: Math.max(end, r.due), kind: 'failed' }];
  const phases = (r.phases ?? []).map((p): Bar => ({ row, start: p.start, end: p.end, kind: p.phase }));
  if (phases.length > 0) {
    const begun = phases[0]!.start;
    return begun > r.due ? [{ row, start: r.due, end: begun, kind: 'waiting' }, ...phases] : phases;
  }
  const first = r.first_token ?? end;
  return [
    { row, start: r.due, end: first, kind: 'waiting' },
    { row, start: first, end, kind: 'answering' },
  ];
}

export interface Window {
  shown: Measured[];
  inside: number; // how many there are in the window
  bars: Bar[];
}

// The requests that live within [from, to], in order of sending, at most `most` of them: then the slowest tenth of `most` and all
// that failed (as far as there is room) stay, of the others every k-th.
export function requestsWithin(requests: Measured[], from: number, to: number, most: number): Window {
  const inside = requests.filter((r) => r.row.due <= to && (r.row.last_token ?? r.row.ended ?? r.row.due) >= from);
  let shown = inside;
  if (inside.length > most) {
    const kept = new Set<Measured>();
    const slow = inside.filter((r) => isNumber(r.latency)).sort((a, b) => b.latency! - a.latency!);
    for (const r of slow.slice(0, Math.ceil(most / 10))) kept.add(r);
    for (const r of everyKth(inside.filter((x) => !x.whole), Math.ceil(most / 10))) kept.add(r);
    for (const r of everyKth(inside.filter((x) => !kept.has(x)), most - kept.size)) kept.add(r);
    shown = inside.filter((r) => kept.has(r));
  }
  return { shown, inside: inside.length, bars: shown.flatMap((r, row) => bars(r, row)) };
}

export type Lane = [number, number | null][];

// A list of the server within [from, to] as at most `most` points: each then the mean of as many neighbours as must be.
export function lane(t: number[], values: (number | null)[], from: number, to: number, most: number): { points: Lane; each: number } {
  let begin = t.findIndex((x) => x >= from);
  if (begin < 0) begin = t.length;
  begin = Math.max(0, begin - 1);
  let end = begin;
  while (end < t.length && t[end]! <= to) ++end;
  const each = Math.max(1, Math.ceil((end - begin) / most));
  const points: Lane = [];
  for (let i = begin; i < end; i += each) {
    const part = values.slice(i, Math.min(end, i + each)).filter(isNumber);
    points.push([t[i]!, part.length ? part.reduce((a, b) => a + b, 0) / part.length : null]);
  }
  return { points, each };
}

// Requests between sent and ended, by the client's own clock: known without any help of the server.
export function inFlight(requests: Measured[]): { t: number[]; values: number[] } {
  const events = requests.flatMap(({ row }): [number, number][] =>
    isNumber(row.sent) && isNumber(row.ended) ? [[row.sent, 1], [row.ended, -1]] : [],
  );
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let count = 0;
  const values = events.map(([, change]) => (count += change));
  return { t: events.map(([t]) => t), values };
}

export function kvUsed(steps: Steps): number[] {
  return steps.pages_used.map((used, i) => used / Math.max(1, used + steps.pages_free[i]!));
}
