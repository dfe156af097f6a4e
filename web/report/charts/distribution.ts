import { ms, percent, plural, quantity, tidy } from '../../shared/format';
import { DASHES, type Palette } from '../../shared/theme';
import { ascending, ecdf, logHistogram, quantile } from '../stats';
import { frame, logAxis, yAxis, within, type Axis, type Option } from './frame';
import { laneHeight, laneLabel, lanes } from './lanes';

export interface Distribution {
  values: number[]; // ms
  objectives: number[]; // limits of objectives on this figure, ms
}

const MARKS = [0.5, 0.9, 0.99];

interface Marks {
  top: number; // px above the plot that their names take
  markLine: Record<string, unknown>;
}

// The quantiles and the limits of objectives, each with its name above the plot.
function marks(p: Palette, of: Distribution, x: Axis): Marks {
  const sorted = ascending(of.values);
  const lines = [
    ...MARKS.map((share, i) => ({ at: quantile(sorted, share)!, text: `p${share * 100}`, colour: p.text, type: DASHES[i], width: 1 })),
    ...of.objectives.map((limit) => ({ at: limit, text: `≤ ${tidy(limit, 'ms')}`, colour: p.bad, type: 'solid' as const, width: 1.5 })),
  ];
  const rows = lanes(lines, x);
  return {
    top: laneHeight(rows),
    markLine: {
      silent: true,
      symbol: 'none',
      data: lines.map(({ at, text, colour, type, width }, i) => ({
        xAxis: at,
        lineStyle: { color: colour, type, width },
        label: { ...laneLabel(rows[i]!), formatter: text, color: colour },
      })),
    },
  };
}

// How many requests, of all, took so long at most.
export function cumulative(p: Palette, of: Distribution): Option {
  const points = ecdf(of.values);
  const base = frame(p);
  const x = logAxis(p, '', 'ms', [...of.values, ...of.objectives], false);
  const { top, markLine } = marks(p, of, x);
  return {
    ...base,
    grid: within({ right: 20, top, bottom: 6 }),
    xAxis: x,
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
        markLine,
      },
    ],
  };
}

// How many requests took how long, in bins of equal ratio.
export function histogram(p: Palette, of: Distribution, bins = 32): Option {
  const base = frame(p);
  const x = logAxis(p, '', 'ms', [...of.values, ...of.objectives], false);
  const { top, markLine } = marks(p, of, x);
  return {
    ...base,
    grid: within({ right: 20, top, bottom: 6 }),
    xAxis: x,
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
        markLine,
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
