import { escapeHtml, integer, isNumber, ms, plural, runTime, tidy, withUnit } from '../../shared/format';
import { faded, type Palette } from '../../shared/theme';
import { why } from '../reasons';
import type { Measured } from '../derive';
import type { ServeReport } from '../schema';
import { axis, frame, yAxis, type Area, type Option, type RenderApi, type Shape } from './frame';
import { panels } from './timeline_panels';
import { lane, requestsWithin, type Kind, type Window } from './timeline_rows';

const MOST_ROWS = 400;
const MOST_POINTS = 700;

export function kindColour(p: Palette, kind: Kind): string {
  return {
    queue: p.queue,
    prefill: p.prefill,
    decode: p.decode,
    waiting: faded(p.queue, 0.55),
    answering: p.decode,
    failed: p.bad,
  }[kind];
}
export const KIND_NAMES: Record<Kind, string> = {
  queue: 'waiting in the queue',
  prefill: 'prefill',
  decode: 'decode',
  waiting: 'before the server had it, or before the first token',
  answering: 'after the first token',
  failed: 'failed',
};
const KINDS = Object.keys(KIND_NAMES) as Kind[];

const TOP = 24;
const REQUESTS = 320;
const PANEL = 74;
const GAP = 34;

export interface Timeline {
  height: number;
  end: number; // of the run, s
  kinds: Kind[]; // that occur
  window(from: number, to: number): Window;
  each(from: number, to: number): number; // scheduler steps behind one point
  point(kind: string | null, index: number): void; // at a rectangle of a request: the tooltip then tells of it
  option(p: Palette): Option;
  // What changes when the window does; for ECharts' setOption.
  zoomed(p: Palette, from: number, to: number): Option;
}

export function timeline(report: ServeReport, requests: Measured[]): Timeline {
  const below = panels(report, requests);
  const end = requests.reduce((most, r) => Math.max(most, r.row.last_token ?? r.row.ended ?? r.row.due), 0) || 1;
  // Of one window at a time: the picture, its caption and the buttons all ask for it.
  let last: { from: number; to: number; window: Window; each: number } | null = null;
  const look = (from: number, to: number) => {
    if (last?.from !== from || last.to !== to) {
      const each = Math.max(1, ...below.flatMap((panel) => panel.lines.map((line) => lane(line.t, line.values, from, to, MOST_POINTS).each)));
      last = { from, to, window: requestsWithin(requests, from, to, MOST_ROWS), each };
    }
    return last;
  };
  const window = (from: number, to: number) => look(from, to).window;
  const present = new Set(window(0, end).bars.map((bar) => bar.kind));
  const height = TOP + REQUESTS + below.length * (PANEL + GAP) + 66;
  let shown = window(0, end);
  let pointed: Measured | null = null;

  const requestSeries = (p: Palette) =>
    KINDS.filter((kind) => present.has(kind)).map((kind) => ({
      id: kind,
      type: 'custom',
      name: KIND_NAMES[kind],
      xAxisIndex: 0,
      yAxisIndex: 0,
      clip: true,
      encode: { x: [1, 2], y: 0 },
      data: shown.bars.filter((bar) => bar.kind === kind).map((bar) => [bar.row, bar.start, bar.end]),
      renderItem: (area: Area, api: RenderApi): Shape => {
        const [x, y] = api.coord([api.value(1), api.value(0)]);
        const [right, bottom] = api.coord([api.value(2), api.value(0) + 1]);
        const left = Math.max(x, area.coordSys.x - 2);
        const width = Math.max(kind === 'failed' ? 2 : 0.5, Math.min(right, area.coordSys.x + area.coordSys.width + 2) - left);
        const tall = bottom - y;
        return { type: 'rect', shape: { x: left, y, width, height: tall > 4 ? Math.min(tall - 1, 14) : tall * 0.92 }, style: { fill: kindColour(p, kind) } };
      },
    }));

  const panelSeries = (p: Palette, from: number, to: number) =>
    below.flatMap((panel, i) =>
      panel.lines.map((line) => ({
        id: `${panel.id}-${line.name}`,
        type: 'line',
        name: line.name,
        xAxisIndex: i + 1,
        yAxisIndex: i + 1,
        step: 'end',
        symbol: 'none',
        ...(line.stack ? { stack: panel.id, areaStyle: { color: line.colour(p), opacity: 0.75 } } : {}),
        lineStyle: { color: line.colour(p), width: line.stack ? 0.6 : 1.4, type: line.dashed ? 'dashed' : 'solid' },
        itemStyle: { color: line.colour(p) },
        data: lane(line.t, line.values, from, to, MOST_POINTS).points,
      })),
    );

  const preempted = (p: Palette) => {
    const at = below.findIndex((panel) => panel.id === 'kv');
    const times = (report.steps?.t ?? []).filter((_, i) => report.steps!.preempted[i]! > 0);
    if (at < 0 || times.length === 0) return [];
    return [
      {
        id: 'preempted',
        type: 'scatter',
        name: 'preemption',
        xAxisIndex: at + 1,
        yAxisIndex: at + 1,
        symbol: 'triangle',
        symbolSize: 8,
        itemStyle: { color: p.bad },
        data: times.map((t) => [t, 1]),
      },
    ];
  };

  const rowsAxis = () => ({ id: 'rows', min: 0, max: Math.max(shown.shown.length, 12) });

  const tooltip = (items: { axisIndex?: number; axisValue: number; seriesId: string; seriesName: string; value: number[] }[]): string => {
    const t = items[0]?.axisValue ?? 0;
    const lines: string[] = [];
    for (const panel of below) {
      const values = panel.lines
        .map((line) => items.find((item) => item.seriesId === `${panel.id}-${line.name}`))
        .filter((item) => item && isNumber(item.value[1]))
        .map((item) => `${item!.seriesName} <b>${withUnit(item!.value[1]!, panel.unit)}</b>`);
      if (values.length) lines.push(values.length > 1 ? `${panel.title}: ${values.join(', ')}` : `${panel.title}: ${values[0]!.replace(/^[^<]*/, '')}`);
    }
    if (pointed) {
      const r = pointed;
      const reason = why(r, 'end');
      lines.unshift(
        `<b>request ${r.row.index}</b>: ${r.whole ? `TTFT ${ms(r.ttft)}, TPOT ${ms(r.tpot)}, latency ${ms(r.latency)}` : escapeHtml(`${r.row.outcome}: ${r.row.error}`)}`,
        `${integer(r.row.prompt_tokens)} tokens in, ${integer(r.row.output_tokens)} out${reason ? `; ${reason}` : ''}`,
      );
    }
    return `<b>${runTime(t)}</b><br>${lines.join('<br>')}`;
  };

  return {
    height,
    end,
    kinds: KINDS.filter((kind) => present.has(kind)),
    window,
    each: (from, to) => look(from, to).each,
    point(kind, index) {
      const bar = kind ? shown.bars.filter((b) => b.kind === kind)[index] : undefined;
      pointed = bar ? shown.shown[bar.row]! : null;
    },
    option(p) {
      shown = window(0, end);
      const base = frame(p);
      const top = (i: number) => TOP + REQUESTS + GAP + i * (PANEL + GAP);
      const time = (i: number, last: boolean) =>
        axis(p, '', {
          gridIndex: i,
          min: 0,
          max: end,
          splitLine: { show: true, lineStyle: { color: p.grid } },
          axisLabel: { show: last, formatter: (v: number) => tidy(v, 's') },
          axisPointer: { label: { show: last, formatter: ({ value }: { value: number }) => runTime(value) } },
        });
      const titles = ['One row a request, in the order they were due', ...below.map((panel) => panel.title)];
      return {
        ...base,
        // Outer bounds would make the panel with the labels narrower than the others: one moment must stand below itself.
        grid: [
          { left: 56, right: 16, top: TOP, height: REQUESTS, outerBoundsMode: 'none' },
          ...below.map((_, i) => ({ left: 56, right: 16, top: top(i), height: PANEL, outerBoundsMode: 'none' })),
        ],
        axisPointer: { link: [{ xAxisIndex: 'all' }], lineStyle: { color: p.text, width: 1, type: 'solid' }, label: { backgroundColor: p.text, color: p.panel } },
        tooltip: {
          ...(base.tooltip as object),
          trigger: 'axis',
          axisPointer: { type: 'line' },
          formatter: tooltip,
        },
        xAxis: [time(0, below.length === 0), ...below.map((_, i) => time(i + 1, i === below.length - 1))],
        yAxis: titles.map((name, i) => ({
          ...yAxis(p, {
            gridIndex: i,
            min: 0,
            name,
            nameLocation: 'end',
            nameGap: 8,
            nameTextStyle: { color: p.text, fontSize: 11.5, fontWeight: 600, align: 'left', padding: [0, 0, 0, -48] },
            splitNumber: 2,
            splitLine: { show: i > 0, lineStyle: { color: p.grid } },
            axisLabel: i === 0 ? { show: false } : { formatter: (v: number) => tidy(v, below[i - 1]!.unit) },
          }),
          ...(i === 0 ? { ...rowsAxis(), inverse: true, nameLocation: 'start' } : {}),
          ...(i > 0 && below[i - 1]!.max ? { max: below[i - 1]!.max, interval: below[i - 1]!.max! / 2 } : {}),
        })),
        dataZoom: [
          { type: 'inside', xAxisIndex: 'all', filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: true, moveOnMouseWheel: false, minSpan: 0.05 },
          {
            type: 'slider',
            xAxisIndex: 'all',
            filterMode: 'none',
            bottom: 8,
            left: 56,
            right: 16,
            height: 18,
            showDetail: false,
            showDataShadow: false,
            borderColor: p.line,
            fillerColor: faded(p.accent, 0.18),
            handleStyle: { color: p.panel, borderColor: p.accent },
            moveHandleStyle: { color: p.accent, opacity: 0.4 },
            dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } },
            brushSelect: false,
          },
        ],
        series: [...requestSeries(p), ...panelSeries(p, 0, end), ...preempted(p)],
      };
    },
    zoomed(p, from, to) {
      shown = window(from, to);
      return { yAxis: [rowsAxis()], series: [...requestSeries(p), ...panelSeries(p, from, to)] };
    },
  };
}

// What the picture leaves out, in words.
export function coverage(made: Timeline, from: number, to: number): string {
  const { shown, inside } = made.window(from, to);
  const each = made.each(from, to);
  const rows =
    shown.length === inside
      ? `All ${plural(inside, 'request')} of this window are drawn.`
      : `${integer(shown.length)} of ${integer(inside)} requests are drawn: the slowest, those that failed, and of the others one in ${integer(Math.max(2, inside / shown.length))} or so; zoom in to see each.`;
  return each > 1 ? `${rows} A point below is the mean of ${each} scheduler steps.` : rows;
}

export function timelineTable(requests: Measured[]): { columns: string[]; rows: string[][] } {
  return {
    columns: ['request', 'due', 'TTFT', 'TPOT', 'latency', 'tokens in', 'out', 'where the time went'],
    rows: requests.map((r) => [
      String(r.row.index), runTime(r.row.due), ms(r.ttft), ms(r.tpot), ms(r.latency), integer(r.row.prompt_tokens), integer(r.row.output_tokens),
      r.whole ? why(r, 'end') || 'the server did not say' : r.row.outcome,
    ]),
  };
}
