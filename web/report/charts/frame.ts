import type { EChartsCoreOption } from 'echarts/core';
import { tidy } from '../../shared/format';
import type { Palette } from '../../shared/theme';
import { everyKth } from '../stats';

export type Option = EChartsCoreOption;
export type Axis = Record<string, unknown>;

// Without quotes: the library puts it into an attribute of the SVG as it stands.
const FONT = 'system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif';

// The place of a chart's axes: as large as leaves room for their labels within the margins given, px.
export function within(margins: { left?: number; right?: number; top?: number; bottom?: number }): Record<string, unknown> {
  return { left: 8, right: 16, ...margins, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' };
}

// What all charts have in common.
export function frame(p: Palette): Option {
  return {
    animation: false,
    textStyle: { fontFamily: FONT, fontSize: 11, color: p.quiet },
    grid: within({ top: 14, bottom: 22 }),
    tooltip: {
      confine: true,
      transitionDuration: 0,
      backgroundColor: p.panel,
      borderColor: p.line,
      textStyle: { color: p.text, fontSize: 12 },
      extraCssText: 'box-shadow: 0 2px 8px rgba(0,0,0,.18); max-width: 340px; white-space: normal;',
    },
  };
}

export function axis(p: Palette, name: string, more: Axis = {}): Axis {
  const { axisLabel, ...rest } = more;
  return {
    type: 'value',
    name,
    nameLocation: 'middle',
    nameGap: 26,
    nameTextStyle: { color: p.quiet, fontSize: 11 },
    axisLine: { show: true, lineStyle: { color: p.line } },
    axisTick: { show: false },
    splitLine: { show: true, lineStyle: { color: p.grid } },
    ...rest,
    axisLabel: { color: p.quiet, fontSize: 11, hideOverlap: true, ...(axisLabel as object) },
  };
}

// The y axis names itself above the chart, in its caption: turned text is hard to read.
export function yAxis(p: Palette, more: Axis = {}): Axis {
  return axis(p, '', { axisLine: { show: false }, ...more });
}

export function formatter(unit: string): (value: number) => string {
  return (value) => tidy(value, unit === '1/s' ? '' : unit);
}

const STEPS = [[1], [1, 2, 5], [1, 2, 3, 5, 7], [1, 2, 3, 4, 5, 6, 7, 8, 9], Array.from({ length: 90 }, (_, i) => 1 + i / 10)];
const FEWEST = 4;

// Round values within [low, high], at most `most` of them: powers of ten, or as many steps between them as give four at least.
export function logTicks(low: number, high: number, most = 8): number[] {
  const of = (steps: number[]) => {
    const ticks: number[] = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e) {
      for (const m of steps) {
        const value = Number((m * 10 ** e).toPrecision(3));
        if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
      }
    }
    return ticks;
  };
  const usual = of(STEPS[1]!);
  if (usual.length > most) return of(STEPS[0]!);
  if (usual.length >= FEWEST) return usual;
  const all = STEPS.slice(2).map(of);
  const fit = all.find((ticks) => ticks.length >= FEWEST && ticks.length <= most);
  return fit ?? everyKth(all.at(-1)!, most);
}

// A logarithmic axis over the positive ones of `values`, ending at the next 1, 2 or 5 outside; ECharts alone labels powers of ten only.
export function logScale(values: number[], most = 8): Axis {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!(value > 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) [low, high] = [1, 10];
  const below = (value: number) => Math.max(...[1, 2, 5].map((m) => m * 10 ** Math.floor(Math.log10(value))).filter((x) => x <= value * 1.0001));
  const above = (value: number) => Math.min(...[1, 2, 5, 10].map((m) => m * 10 ** Math.floor(Math.log10(value))).filter((x) => x >= value * 0.9999));
  const min = below(low);
  const max = above(high) > min ? above(high) : min * 2;
  const ticks = logTicks(min, max, most);
  return {
    type: 'log',
    min,
    max,
    axisLabel: { customValues: ticks },
    axisTick: { show: false, customValues: ticks },
    splitLine: { show: true, customValues: ticks },
  };
}

// `logScale` merged into `axis`, keeping the colours of its grid.
export function logAxis(p: Palette, name: string, unit: string, values: number[], vertical: boolean): Axis {
  const scale = logScale(values, vertical ? 10 : 8);
  const made = (vertical ? yAxis : (palette: Palette, more: Axis) => axis(palette, name, more))(p, scale);
  return {
    ...made,
    axisLabel: { ...(made.axisLabel as object), formatter: formatter(unit) },
    splitLine: { ...(scale.splitLine as object), lineStyle: { color: p.grid } },
  };
}

export interface RenderApi {
  value(dimension: number): number;
  coord(point: [number, number]): [number, number];
  size(extent: [number, number]): [number, number];
  getWidth(): number;
  getHeight(): number;
}
export interface Area {
  coordSys: { x: number; y: number; width: number; height: number };
}
export type Shape = Record<string, unknown> | undefined;

// Error bars: items are [x, low, high], upright, or [y, low, high], lying.
export function whiskers(p: { colour: string }, items: number[][], more: Record<string, unknown> = {}, lying = false): Record<string, unknown> {
  return {
    type: 'custom',
    silent: true,
    z: 4,
    data: items,
    encode: lying ? { x: [1, 2], y: 0 } : { x: 0, y: [1, 2] },
    renderItem: (_: unknown, api: RenderApi): Shape => {
      const at = api.value(0);
      const a = api.coord(lying ? [api.value(1), at] : [at, api.value(1)]);
      const b = api.coord(lying ? [api.value(2), at] : [at, api.value(2)]);
      if (![...a, ...b].every(Number.isFinite)) return undefined;
      const style = { stroke: p.colour, fill: 'none', lineWidth: 1.4 };
      const line = (x1: number, y1: number, x2: number, y2: number) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style });
      const cap = 3.5;
      return {
        type: 'group',
        children: lying
          ? [line(a[0], a[1], b[0], b[1]), line(a[0], a[1] - cap, a[0], a[1] + cap), line(b[0], b[1] - cap, b[0], b[1] + cap)]
          : [line(a[0], a[1], b[0], b[1]), line(a[0] - cap, a[1], a[0] + cap, a[1]), line(b[0] - cap, b[1], b[0] + cap, b[1])],
      };
    },
    ...more,
  };
}
