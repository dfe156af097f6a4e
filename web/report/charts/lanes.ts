import { isNumber } from '../../shared/format';
import type { Axis } from './frame';

// A name for an upright line of a chart, written above the plot.
export interface Named {
  at: number; // on the x axis
  text: string;
}
export interface Lane {
  row: number; // 0: the one nearest to the plot
  align: 'left' | 'center' | 'right'; // of the text to its line
}

const NARROWEST = 250; // px of a plot, on a phone
const LETTER = 6.2; // px, at size 10
export const ROW = 13; // px

// Where a value is on an axis that says its ends, [0, 1].
function shareOf(axis: Axis, value: number): number {
  const { type, min, max } = axis;
  if (!isNumber(min) || !isNumber(max) || max <= min) return 0.5;
  const share = type === 'log' ? Math.log(value / min) / Math.log(max / min) : (value - min) / (max - min);
  return Math.min(1, Math.max(0, share));
}

// The rows in which names stand apart from one another even where the plot is narrow; in the order of `names`.
export function lanes(names: Named[], axis: Axis): Lane[] {
  const taken: [number, number][][] = [];
  return names.map(({ at, text }) => {
    const x = shareOf(axis, at) * NARROWEST;
    const wide = text.length * LETTER + 6;
    const align = x - wide / 2 < 0 ? 'left' : x + wide / 2 > NARROWEST ? 'right' : 'center';
    const from = align === 'left' ? x : align === 'right' ? x - wide : x - wide / 2;
    let row = 0;
    while (taken[row]?.some(([a, b]) => from < b && from + wide > a)) ++row;
    (taken[row] ??= []).push([from, from + wide]);
    return { row, align };
  });
}

// The label of a mark line in its lane.
export function laneLabel(lane: Lane): Record<string, unknown> {
  return { position: 'end', distance: [0, 4 + lane.row * ROW], align: lane.align, fontSize: 10 };
}

// What must be free above the plot, px.
export function laneHeight(all: Lane[]): number {
  return all.length ? 6 + ROW * (1 + Math.max(...all.map((lane) => lane.row))) : 10;
}
