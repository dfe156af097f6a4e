import { ms, percent, plural, quantity, tidy } from '../../shared/format';
import { DASHES, type Palette } from '../../shared/theme';
import { ascending, ecdf, logHistogram, quantile } from '../stats';
import { frame, logAxis, yAxis, within, type Option } from './frame';

export interface Distribution {
  values: number[]; // ms
  objectives: number[]; // limits of objectives on this figure, ms
}

const MARKS = [0.5, 0.9, 0.99];

function lines(p: Palette, of: Distribution, at: 'insideStartTop' | 'insideEndTop'): Record<string, unknown> {
  const sorted = ascending(of.values);
  const marks = MARKS.map((share, i) => ({
    xAxis: quantile(sorted, share)!,
    lineStyle: { color: p.text, type: DASHES[i], width: 1 },
    // p90 and p99 may stand close together: their names lean apart.
    label: { formatter: `p${share * 100}`, color: p.text, position: 'end', fontSize: 10, offset: [[0, -8, 8][i], 0] },
  }));
  const limits = of.objectives.map((limit) => ({
    xAxis: limit,
    lineStyle: { color: p.bad, type: 'solid', width: 1.5 },
    label: { formatter: `≤ ${tidy(limit, 'ms')}`, color: p.bad, position: at, fontSize: 10, backgroundColor: p.panel, padding: [0, 2] },
  }));
  return { silent: true, symbol: 'none', data: [...marks, ...limits] };
}

// How many requests, of all, took so long at most.
export function cumulative(p: Palette, of: Distribution): Option {
  const points = ecdf(of.values);
  const base = frame(p);
  return {
    ...base,
    grid: within({ right: 20, top: 22, bottom: 6 }),
    xAxis: logAxis(p, '', 'ms', [...of.values, ...of.objectives], false),
    yAxis: yAxis(p, { min: 0, max: 100, interval: 25, axisLabel: { formatter: (v: number) => tidy(v, '%') } }),
    tooltip: {
      ...(base.tooltip as object),
      trigger: 'axis',
      axisPointer: { type: 'line', lineStyle: { color: p.quiet }, snap: true },
      formatter: (items: { value: [number, number] }[]) => {
        const [value, share] = items[0]!.value;
        return `<b>${percent(share)}</b> of requests within <b>${ms(value)}</b>`;
      },
    },
    series: [
      {
        type: 'line',
        name: 'share',
        step: 'end',
        symbol: 'none',
        data: points.map(([value, share]) => [value, share * 100]),
        lineStyle: { color: p.accent, width: 2 },
        itemStyle: { color: p.accent },
        markLine: lines(p, of, 'insideStartTop'),
      },
    ],
  };
}

// How many requests took how long, in bins of equal ratio.
export function histogram(p: Palette, of: Distribution, bins = 32): Option {
  const base = frame(p);
  return {
    ...base,
    grid: within({ right: 20, top: 22, bottom: 6 }),
    xAxis: logAxis(p, '', 'ms', [...of.values, ...of.objectives], false),
    yAxis: yAxis(p, { minInterval: 1 }),
    tooltip: {
      ...(base.tooltip as object),
      formatter: ({ value }: { value: [number, number, number] }) =>
        value ? `<b>${plural(value[2], 'request')}</b> between ${ms(value[0])} and ${ms(value[1])}` : '',
    },
    series: [
      {
        type: 'custom',
        data: logHistogram(of.values, bins).map((bin) => [bin.from, bin.to, bin.count]),
        encode: { x: [0, 1], y: 2 },
        clip: true,
        renderItem: (_: unknown, api: { value(i: number): number; coord(at: [number, number]): [number, number] }) => {
          const [x, y] = api.coord([api.value(0), api.value(2)]);
          const [right, bottom] = api.coord([api.value(1), 0]);
          return {
            type: 'rect',
            shape: { x: x + 0.5, y, width: Math.max(0.5, right - x - 1), height: bottom - y },
            style: { fill: p.accent, opacity: 0.65 },
          };
        },
        markLine: lines(p, of, 'insideEndTop'),
      },
    ],
  };
}

// The same as a table.
export function quantileTable(values: number[]): { columns: string[]; rows: string[][] } {
  const sorted = ascending(values);
  const shares = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];
  return {
    columns: ['quantile', 'value', 'requests above'],
    rows: shares.map((share) => {
      const { text, unit } = quantity(quantile(sorted, share), 'ms');
      const name = share === 0 ? 'least' : share === 1 ? 'largest' : `p${share * 100}`;
      return [name, `${text} ${unit}`, String(Math.floor(sorted.length * (1 - share) + 1e-9))];
    }),
  };
}
