import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { svgOf } from '../../shared/echarts';
import { LIGHT } from '../../shared/theme';
import { counted, groupsBySpeed } from '../derive';
import type { CompareReport, PeersReport, ServeReport, SweepReport } from '../schema';
import { beyond, forest, forestLimit, rounds } from './compare';
import { cumulative, histogram, quantileTable } from './distribution';
import { logScale, logTicks, type Option } from './frame';
import { lanes } from './lanes';
import { heatShare, itlHeat, trimmed } from './itl_heat';
import { advantage, advantages, peerBars } from './peers';
import { againstPrompt, medians, overTime } from './scatter';
import { pareto, paretoPoints } from './pareto';
import { curves, estimateOf, goodput, objectives } from './sweep';
import { coverage, timeline } from './timeline';
import { panels } from './timeline_panels';
import { bars, inFlight, kvUsed, lane, requestsWithin } from './timeline_rows';
import { whereTimeGoes } from './where_time_goes';

const sample = <T>(name: string) => JSON.parse(readFileSync(new URL(`../samples/${name}.json`, import.meta.url), 'utf8')) as T;
const serve = sample<ServeReport>('serve');
const sweep = sample<SweepReport>('sweep');
const compare = sample<CompareReport>('compare');
const peers = sample<PeersReport>('peers');
const requests = counted(serve);

// Drawn for real, without a page: what it shows is in the SVG.
const drawn = (option: Option, height = 300) => svgOf(option, 700, height, LIGHT.panel);
const paths = (svg: string) => svg.match(/<path/g)?.length ?? 0;
const series = (option: Option) => option.series as Record<string, any>[];

describe('axes', () => {
  it('label 1, 2 and 5, or powers of ten where those are too many', () => {
    expect(logTicks(10, 200)).toEqual([10, 20, 50, 100, 200]);
    expect(logTicks(1, 100_000)).toEqual([1, 10, 100, 1000, 10_000, 100_000]);
  });
  it('label four at least where the ends lie close together', () => {
    expect(logTicks(5000, 10_000)).toEqual([5000, 6000, 7000, 8000, 9000, 10_000]);
    for (const [low, high] of [[1, 2], [100, 200], [20, 50], [3, 4]] as const) {
      const ticks = logTicks(low, high);
      expect(ticks.length).toBeGreaterThanOrEqual(4);
      expect(ticks.length).toBeLessThanOrEqual(8);
    }
  });
  it('put names that lie together in rows of their own', () => {
    const axis = { type: 'log', min: 100, max: 1000 };
    expect(lanes([{ at: 200, text: 'p50' }, { at: 900, text: 'p90' }, { at: 910, text: 'p99' }, { at: 905, text: '≤ 1 s' }], axis).map((l) => l.row)).toEqual([0, 0, 1, 2]);
    expect(lanes([{ at: 100, text: 'p50' }, { at: 1000, text: 'p99' }], axis).map((l) => l.align)).toEqual(['left', 'right']);
  });
  it('end at round figures around the values', () => {
    expect(logScale([23, 480])).toMatchObject({ min: 20, max: 500 });
    expect(logScale([100, 100])).toMatchObject({ min: 100, max: 200 });
    expect(logScale([0, -1])).toMatchObject({ min: 1, max: 10 });
  });
});

describe('distributions', () => {
  const of = { values: requests.map((r) => r.ttft!).filter((v) => v !== null), objectives: [400] };
  it('draw the share of requests, the quantiles and the objective', () => {
    const svg = drawn(cumulative(LIGHT, of));
    for (const text of ['p50', 'p90', 'p99', '≤ 400\u202fms']) expect(svg).toContain(text);
    const data = series(cumulative(LIGHT, of))[0]!.data as number[][];
    expect(data.at(-1)![1]).toBe(100);
  });
  it('draw a bar a bin', () => expect(paths(drawn(histogram(LIGHT, of)))).toBeGreaterThan(20));
  it('tell quantiles as a table', () => expect(quantileTable([1, 2, 3]).rows[3]).toEqual(['p50', '2.00 ms', '1']));
});

describe('scatter', () => {
  it('shows each request, and those that failed', () => {
    const [good, , failed] = series(overTime(LIGHT, requests, 'ttft'));
    expect(good!.data).toHaveLength(serve.completed!);
    expect(failed!.data).toHaveLength(serve.failed!);
    expect(paths(drawn(overTime(LIGHT, requests, 'latency')))).toBeGreaterThan(serve.completed!);
  });
  it('leaves out medians of too few', () => expect(medians([[0.1, 5], [0.2, 7], [0.3, 6], [9.9, 1]], 0, 10, 2)).toEqual([[2.5, 6], [7.5, null]]));
  it('tells cached prompts apart', () => {
    const [plain, cached] = series(againstPrompt(LIGHT, requests));
    expect(plain!.data.length + cached!.data.length).toBe(serve.completed);
    expect(cached!.symbol).not.toBe(plain!.symbol);
  });
});

describe('heat map', () => {
  it('draws the cells that hold something', () => {
    const filled = serve.itl_heat!.counts.flat().filter((count) => count > 0).length;
    expect(series(itlHeat(LIGHT, serve.itl_heat!))[0]!.data).toHaveLength(filled);
    expect(paths(drawn(itlHeat(LIGHT, serve.itl_heat!)))).toBeGreaterThanOrEqual(filled);
  });
  it('shades by the logarithm', () => {
    expect(heatShare(1, 10_000)).toBe(0);
    expect(heatShare(100, 10_000)).toBeCloseTo(0.5);
    expect(heatShare(1, 1)).toBe(1);
  });
});

it('stacks the parts of a latency', () => {
  const option = whereTimeGoes(LIGHT, groupsBySpeed(requests, 'latency'));
  expect(series(option).map((s) => s.name)).toContain('decode');
  expect(drawn(option)).toContain('90–100');
});

describe('timeline', () => {
  it('draws phases where the server told them, else what the client saw', () => {
    const whole = requests.find((r) => r.whole)!;
    expect(bars(whole, 3).map((b) => b.kind)).toContain('prefill');
    const alone = { ...whole, row: { ...whole.row, phases: null } };
    expect(bars(alone, 3).map((b) => b.kind)).toEqual(['waiting', 'answering']);
    expect(bars(requests.find((r) => !r.whole)!, 0).map((b) => b.kind)).toEqual(['failed']);
  });
  it('keeps the slowest and the failed when it cannot show all', () => {
    const { shown, inside } = requestsWithin(requests, 0, 1e9, 40);
    expect(inside).toBe(130);
    expect(shown).toHaveLength(40);
    expect(shown.filter((r) => !r.whole)).toHaveLength(serve.failed!);
    expect(shown).toContain(requests.reduce((a, b) => ((b.latency ?? 0) > (a.latency ?? 0) ? b : a)));
    expect(shown.map((r) => r.row.index)).toEqual(shown.map((r) => r.row.index).toSorted((a, b) => a - b));
  });
  it('shows all within a narrow window', () => {
    const { shown, inside } = requestsWithin(requests, 10, 11, 400);
    expect(shown).toHaveLength(inside);
    for (const r of shown) expect(r.row.due).toBeLessThanOrEqual(11);
  });
  it('means neighbours, and begins with what held before the window', () => {
    expect(lane([0, 1, 2, 3], [10, 20, null, 40], 0, 9, 2)).toEqual({ points: [[0, 15], [2, 40]], each: 2 });
    expect(lane([0, 5, 6], [1, 2, 3], 5.5, 7, 10).points).toEqual([[5, 2], [6, 3]]);
    expect(lane([], [], 0, 1, 10)).toEqual({ points: [], each: 1 });
  });
  it('leaves gaps where the server said nothing', () => {
    const gap = (values?: (number | null)[]) => values?.map((v, i, all) => (i > all.length * 0.4 && i < all.length * 0.6 ? null : v));
    const samples = serve.samples!;
    const strokes = (mbu_percent: (number | null)[] | undefined) => {
      const made = timeline({ ...serve, steps: null, samples: { ...samples, mbu_percent } }, requests);
      const path = drawn(made.option(LIGHT), made.height).match(new RegExp(`<path d="([^"]*)"[^>]*stroke="${LIGHT.series[4]}"`));
      return path?.[1]?.match(/M/g)?.length;
    };
    expect(strokes(samples.mbu_percent)).toBe(1);
    expect(strokes(gap(samples.mbu_percent))).toBe(2);
    const unknown = samples.t.map(() => null);
    const silent = { ...samples, running: unknown, waiting: unknown, kv_used: unknown, mbu_percent: unknown };
    expect(panels({ ...serve, steps: null, samples: silent }, requests).map((p) => p.id)).toEqual(['flight']);
  });
  it('counts requests in flight', () => {
    const { values } = inFlight(requests);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(values.at(-1)).toBe(0);
  });
  it('has one panel for each thing that is known', () => {
    expect(panels(serve, requests).map((p) => p.id)).toEqual(['composition', 'steps', 'queue', 'kv', 'mbu']);
    expect(panels({ ...serve, steps: null }, requests).map((p) => p.id)).toEqual(['queue', 'kv', 'mbu']);
    expect(panels({ ...serve, steps: null, samples: null }, requests).map((p) => p.id)).toEqual(['flight']);
    expect(Math.max(...kvUsed(serve.steps!))).toBeLessThanOrEqual(1);
  });
  it('draws', () => {
    const made = timeline(serve, requests);
    const svg = drawn(made.option(LIGHT), made.height);
    expect(svg).toContain('Tokens a scheduler step');
    expect(paths(svg)).toBeGreaterThan(300);
    expect(coverage(made, 0, made.end)).toMatch(/^All 130 requests of this window are drawn\./);
  });
});

describe('a heat map', () => {
  it('is not flattened by one gap of coalesced writes', () => {
    const heat = { t: [0, 1, 2], ms: [0.01, 0.1, 1, 10, 100, 1000], counts: [[1, 0], [0, 0], [0, 0], [300, 200], [9, 0]] };
    expect(trimmed(heat)).toEqual({ heat: { t: [0, 1, 2], ms: [10, 100, 1000], counts: [[301, 200], [9, 0]] }, short: 1 });
    const even = { ...heat, counts: [[50, 0], [0, 0], [0, 0], [300, 200], [9, 0]] };
    expect(trimmed(even)).toEqual({ heat: even, short: 0 });
  });
});

describe('sweep', () => {
  it('draws each plot, its bands and the knees', () => {
    for (const plot of sweep.plots!) expect(paths(drawn(curves(LIGHT, sweep, plot)))).toBeGreaterThan(sweep.series.length * 9);
    const option = curves(LIGHT, sweep, sweep.plots![0]!);
    const lines = series(option).flatMap((s) => s.markLine?.data ?? []) as { xAxis: number; label: { formatter: string } }[];
    expect(lines.map((line) => [line.xAxis, line.label.formatter])).toEqual([[10, 'knee: fcfs, fair'], [8, 'knee: prefill-first']]);
    expect(series(option)).toHaveLength(sweep.series.length * 2 * 2);
  });
  it('draws no share above all there is', () => {
    expect(estimateOf({ x: 1, metrics: { mbu_percent: { value: 383, low: 300, high: 400 } } }, 'mbu_percent')).toBeNull();
    expect(estimateOf({ x: 1, metrics: { mbu_percent: { value: 83, low: 80, high: 90 } } }, 'mbu_percent')?.value).toBe(83);
    expect(estimateOf({ x: 1, metrics: { p99_ttft_ms: { value: 383, low: 300, high: 400 } } }, 'p99_ttft_ms')?.value).toBe(383);
  });
  it('has room for all of a band', () => {
    const wide = { ...sweep, series: sweep.series.map((s) => ({ ...s, points: s.points.map((q) => ({ x: q.x, metrics: { output_throughput: { value: 100, low: 50, high: 990 } } })) })) };
    const svg = drawn(curves(LIGHT, wide, sweep.plots!.find((plot) => plot.metrics[0] === 'output_throughput')!));
    expect(svg).toContain('1000\u202ftok/s');
  });
  it('draws without knees and intervals', () => {
    const bare = { ...sweep, knee: null, series: sweep.series.map((s) => ({ ...s, points: s.points.map((q) => ({ x: q.x, metrics: { median_ttft_ms: { value: 5, low: null, high: null } } })) })) };
    expect(paths(drawn(curves(LIGHT, bare, sweep.plots![0]!)))).toBeGreaterThan(5);
    expect(objectives(bare)).toEqual([]);
  });
  it('draws goodput with its intervals and what is wanted', () => {
    const all = objectives(sweep);
    expect(all).toHaveLength(2);
    expect(drawn(goodput(LIGHT, sweep, all[0]!))).toContain('wanted');
  });
  it('knows which points are not beaten', () => {
    const points = paretoPoints(sweep);
    expect(points).toHaveLength(27);
    for (const a of points.filter((q) => q.best)) expect(points.some((b) => b.tpot < a.tpot && b.tokens > a.tokens)).toBe(false);
    expect(points.some((q) => q.best)).toBe(true);
    expect(paths(drawn(pareto(LIGHT, sweep)))).toBeGreaterThan(27);
  });
});

describe('compare', () => {
  it('draws every metric with its interval and the noise behind it', () => {
    const svg = drawn(forest(LIGHT, compare), 400);
    for (const name of ['median TTFT ↓', 'output tokens ↑', 'peak memory ↓']) expect(svg).toContain(name);
    const points = series(forest(LIGHT, compare)).find((s) => s.name === 'ratio')!.data as { value: number[] }[];
    expect(points.map((q) => q.value[0])).toEqual(compare.verdicts!.map((v) => (v.ratio!.value - 1) * 100));
  });
  it('keeps every interval within its axis', () => {
    const { max } = forest(LIGHT, compare).xAxis as { max: number };
    for (const v of compare.verdicts!) expect(Math.abs(v.ratio!.high! - 1) * 100).toBeLessThanOrEqual(max);
  });
  it('lets no outlier stretch its axis: an arrow says that it goes on', () => {
    const outlier = { ...compare.verdicts![1]!, ratio: { value: 4, low: 0.2, high: 16 } };
    const odd = { ...compare, verdicts: [compare.verdicts![0]!, outlier, ...compare.verdicts!.slice(2)] };
    expect(forestLimit(odd)).toBeLessThan(60);
    expect(beyond(odd)).toEqual(['p99 TTFT']);
    expect(beyond(compare)).toEqual([]);
    const arrows = series(forest(LIGHT, odd)).find((s) => s.name === 'beyond')!.data as { value: number[] }[];
    expect(arrows.map((a) => a.value)).toEqual([[-forestLimit(odd), 1], [forestLimit(odd), 1]]);
    for (const s of series(forest(LIGHT, odd))) {
      for (const d of s.data as (number[] | { value: number[] })[]) for (const x of 'value' in d ? [d.value[0]!] : d.slice(1)) if (s.name !== 'noise') expect(Math.abs(x)).toBeLessThanOrEqual(forestLimit(odd));
    }
  });
  it('joins A and B of each round', () => {
    const option = rounds(LIGHT, compare, 'median_ttft_ms');
    expect(series(option).map((s) => s.data.length)).toEqual([8, 8, 8]);
    expect(drawn(option)).toContain('6 BA*');
  });
});

describe('peers', () => {
  it('turns ratios of latency around, with their intervals', () => {
    expect(advantage('median_ttft_ms', { value: 0.5, low: 0.4, high: 0.8 })).toEqual({ metric: 'median_ttft_ms', value: 2, low: 1.25, high: 2.5 });
    expect(advantage('output_throughput', { value: 1.5, low: 1.4, high: 1.6 }).value).toBe(1.5);
  });
  it('draws a bar a metric and peer', () => {
    expect(advantages(peers, 'chat')).toHaveLength(8);
    expect(drawn(peerBars(LIGHT, peers, 'chat'), 260)).toContain('median TTFT, vllm');
  });
});
