import { change, escapeHtml, isNumber, metric, tidy, withUnit } from '../../shared/format';
import { faded, type Palette } from '../../shared/theme';
import type { CompareReport, Estimate, Metric, Round, Verdict } from '../schema';
import { ascending, quantile } from '../stats';
import { axis, frame, whiskers, yAxis, within, type Option, type RenderApi, type Shape } from './frame';

export function verdictColour(p: Palette, verdict: string): string {
  if (verdict === 'B better') return p.good;
  if (verdict === 'B worse') return p.bad;
  return verdict === 'equal' ? p.accent : p.quiet;
}

const SYMBOLS: Record<string, string> = { 'B better': 'triangle', 'B worse': 'diamond', equal: 'circle', undecided: 'rect' };

const asChange = (ratio: number) => (ratio - 1) * 100;

type Ranked = Verdict & { ratio: Estimate };
const ranked = (report: CompareReport): Ranked[] => (report.verdicts ?? []).filter((v): v is Ranked => isNumber(v.ratio?.value));

// Where the axis of changes ends, percent: at the farthest interval, unless that is more than three times what is usual here.
export function forestLimit(report: CompareReport): number {
  const reaches = ranked(report).map((v) => Math.max(...[v.ratio.low, v.ratio.value, v.ratio.high].filter(isNumber).map((r) => Math.abs(asChange(r))), (v.noise_ratio ?? 0) * 100));
  const usual = 3 * (quantile(ascending(reaches), 0.5) ?? 0);
  const threshold = report.threshold_percent;
  const reach = Math.max(3, isNumber(threshold) ? threshold * 1.5 : 0, Math.min(Math.max(0, ...reaches), usual));
  return Math.ceil((reach * 1.08) / (reach > 20 ? 10 : 2)) * (reach > 20 ? 10 : 2);
}

// The metrics whose intervals go on beyond the axis: there the chart has an arrow.
export function beyond(report: CompareReport): string[] {
  const limit = forestLimit(report);
  const outside = (r: number | null | undefined) => isNumber(r) && Math.abs(asChange(r)) > limit;
  return ranked(report).filter((v) => outside(v.ratio.low) || outside(v.ratio.value) || outside(v.ratio.high)).map((v) => metric(v.metric).name);
}

// Each metric's B / A with its interval, as a change in percent; behind it what one side differs from itself.
export function forest(p: Palette, report: CompareReport): Option {
  const base = frame(p);
  const rows = ranked(report);
  const threshold = report.threshold_percent;
  const limit = forestLimit(report);
  const inside = (ratio: number) => Math.min(limit, Math.max(-limit, asChange(ratio)));
  const arrows = rows.flatMap((v, i) =>
    [-limit, limit].flatMap((end) =>
      [v.ratio.low, v.ratio.value, v.ratio.high].some((r) => isNumber(r) && (end < 0 ? asChange(r) < end : asChange(r) > end))
        ? [{ value: [end, i], symbolRotate: end < 0 ? 90 : -90, symbolOffset: [end < 0 ? -5 : 5, 0], itemStyle: { color: verdictColour(p, v.verdict) } }]
        : [],
    ),
  );
  const marks = [{ xAxis: 0, lineStyle: { color: p.text, type: 'solid', width: 1.4 }, label: { show: false } }];
  if (isNumber(threshold)) {
    for (const side of [-threshold, threshold]) marks.push({ xAxis: side, lineStyle: { color: p.quiet, type: 'dashed', width: 1 }, label: { show: false } });
  }
  return {
    ...base,
    grid: within({ right: 24, top: 8, bottom: 26 }),
    yAxis: axis(p, '', {
      type: 'category',
      inverse: true,
      data: rows.map((v) => `${metric(v.metric).name} ${v.better === 'lower' ? '↓' : '↑'}`),
      axisLabel: { color: p.text, interval: 0 },
      splitLine: { show: true, interval: 0, lineStyle: { color: p.grid } },
    }),
    xAxis: axis(p, 'B against A', { min: -limit, max: limit, axisLabel: { formatter: (v: number) => `${v > 0 ? '+' : v < 0 ? '−' : ''}${tidy(Math.abs(v), '%')}` } }),
    tooltip: {
      ...(base.tooltip as object),
      formatter: ({ dataIndex }: { dataIndex: number }) => {
        const v = rows[dataIndex]!;
        const { low, value, high } = v.ratio;
        return `<b>${metric(v.metric).name}: ${escapeHtml(v.verdict)}</b><br>${change(value)} (${change(low)} to ${change(high)})<br>A ${withUnit(v.a, v.unit)}, B ${withUnit(v.b, v.unit)}<br>${escapeHtml(v.why)}`;
      },
    },
    series: [
      {
        type: 'custom',
        name: 'noise',
        silent: true,
        z: 1,
        data: rows.map((v, i) => [i, isNumber(v.noise_ratio) ? v.noise_ratio * 100 : 0]),
        encode: { x: 1, y: 0 },
        renderItem: (_: unknown, api: RenderApi): Shape => {
          const half = Math.min(api.value(1), limit);
          const [left, y] = api.coord([-half, api.value(0)]);
          const [right] = api.coord([half, api.value(0)]);
          const tall = api.size([0, 1])[1] * 0.62;
          return { type: 'rect', shape: { x: left, y: y - tall / 2, width: right - left, height: tall }, style: { fill: faded(p.quiet, 0.2) } };
        },
      },
      ...rows.map((v, i) =>
        whiskers({ colour: verdictColour(p, v.verdict) }, isNumber(v.ratio.low) && isNumber(v.ratio.high) ? [[i, inside(v.ratio.low), inside(v.ratio.high)]] : [], { name: `interval ${i}` }, true),
      ),
      {
        type: 'scatter',
        name: 'ratio',
        z: 5,
        symbolSize: 10,
        data: rows.map((v, i) => ({
          value: [inside(v.ratio.value), i],
          symbol: SYMBOLS[v.verdict] ?? 'circle',
          itemStyle: { color: verdictColour(p, v.verdict) },
        })),
        markLine: { silent: true, symbol: 'none', data: marks },
      },
      { type: 'scatter', name: 'beyond', silent: true, clip: false, z: 6, symbol: 'triangle', symbolSize: 9, data: arrows, tooltip: { show: false } },
    ],
  };
}

export function figure(value: Metric | Estimate): number | null {
  if (isNumber(value)) return value;
  return value && typeof value === 'object' && isNumber(value.value) ? value.value : null;
}

export function noisy(round: Round): boolean {
  return (typeof round.noise === 'string' ? round.noise : round.noise?.verdict) === 'noisy';
}

// A and B of each round, joined: what the rounds share (a busy hour, a warm chip) moves both.
export function rounds(p: Palette, report: CompareReport, name: string): Option {
  const base = frame(p);
  const all = report.rounds ?? [];
  const unit = report.verdicts?.find((v) => v.metric === name)?.unit ?? metric(name).unit;
  const pairs = all.map((r): [number | null, number | null] => [figure(r.a[name]), figure(r.b[name])]);
  const [a, b] = report.sides.map((s) => s.name);
  return {
    ...base,
    grid: within({ top: 10, bottom: 26 }),
    xAxis: axis(p, 'round and its order; * = noisy', {
      type: 'category',
      data: all.map((r, i) => `${i + 1} ${r.order}${noisy(r) ? '*' : ''}`),
      splitLine: { show: false },
    }),
    yAxis: yAxis(p, { scale: true, axisLabel: { formatter: (v: number) => tidy(v, unit) } }),
    tooltip: {
      ...(base.tooltip as object),
      trigger: 'axis',
      axisPointer: { type: 'shadow', shadowStyle: { color: p.grid, opacity: 0.6 } },
      formatter: (items: { dataIndex: number }[]) => {
        const i = items[0]!.dataIndex;
        const [x, y] = pairs[i]!;
        const ratio = isNumber(x) && isNumber(y) && x !== 0 ? `<br>B against A ${change(y / x)}` : '';
        return `round ${i + 1}, ${all[i]!.order}<br>A ${escapeHtml(a ?? 'A')}: <b>${withUnit(x, unit)}</b><br>B ${escapeHtml(b ?? 'B')}: <b>${withUnit(y, unit)}</b>${ratio}`;
      },
    },
    series: [
      {
        type: 'custom',
        silent: true,
        z: 1,
        data: pairs.flatMap(([x, y], i) => (isNumber(x) && isNumber(y) ? [[i, x, y]] : [])),
        encode: { x: 0, y: [1, 2] },
        renderItem: (_: unknown, api: RenderApi): Shape => {
          const [x1, y1] = api.coord([api.value(0), api.value(1)]);
          const [x2, y2] = api.coord([api.value(0), api.value(2)]);
          return { type: 'line', shape: { x1: x1 - 7, y1, x2: x2 + 7, y2 }, style: { stroke: p.quiet, lineWidth: 1.2 } };
        },
      },
      { type: 'scatter', name: `A ${a}`, symbol: 'circle', symbolSize: 9, symbolOffset: [-7, 0], data: pairs.map(([x]) => x), itemStyle: { color: p.series[0] } },
      { type: 'scatter', name: `B ${b}`, symbol: 'diamond', symbolSize: 11, symbolOffset: [7, 0], data: pairs.map(([, y]) => y), itemStyle: { color: p.series[1] } },
    ],
  };
}
