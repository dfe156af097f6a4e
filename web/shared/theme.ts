// Colours of pages and charts. The categorical ones are Okabe and Ito's (distinguishable without red or green cones), shifted for
// contrast of 3:1 at least against either background. Charts never rely on colour alone: lines differ in dash, points in shape.
export interface Palette {
  background: string;
  panel: string;
  text: string;
  quiet: string;
  line: string;
  grid: string;
  accent: string;
  good: string;
  bad: string;
  warn: string;
  queue: string;
  prefill: string;
  decode: string;
  other: string;
  series: string[];
  heat: string[]; // from few to many
}

export const LIGHT: Palette = {
  background: '#fbfbfa',
  panel: '#ffffff',
  text: '#1d2126',
  quiet: '#5c6570',
  line: '#d9dde1',
  grid: '#eceef0',
  accent: '#0a66a8',
  good: '#0b7a5b',
  bad: '#b3213f',
  warn: '#8a5a00',
  queue: '#98a1ab',
  prefill: '#d98208',
  decode: '#2272b4',
  other: '#b07aa1',
  series: ['#0a66a8', '#c8560a', '#0b8a67', '#a8488f', '#9a7400', '#3c9fd8', '#5c6570'],
  heat: ['#e8f0f7', '#b9d5ea', '#7fb3d9', '#4489bf', '#1c5c95', '#0a3360'],
};

export const DARK: Palette = {
  background: '#14171a',
  panel: '#1b1f23',
  text: '#e4e7ea',
  quiet: '#9ba5af',
  line: '#343a41',
  grid: '#272c31',
  accent: '#62b0ea',
  good: '#3fc79c',
  bad: '#ff8095',
  warn: '#e3b341',
  queue: '#7d8791',
  prefill: '#f0a04b',
  decode: '#58a6e6',
  other: '#c995bd',
  series: ['#62b0ea', '#f08a4b', '#3fc79c', '#dc8fc6', '#e3c04a', '#9bd3f7', '#9ba5af'],
  heat: ['#1f2d3a', '#1f4a70', '#2b6ea6', '#4b98d2', '#8cc4ec', '#d8eefc'],
};

export const DASHES: ('solid' | 'dashed' | 'dotted' | number[])[] = ['solid', 'dashed', 'dotted', [8, 3, 2, 3], [2, 4], [12, 4], 'solid'];
// As many as keys have marks for; with the colours, 28 series differ.
export const SHAPES = ['circle', 'rect', 'triangle', 'diamond'] as const;

// "#1c5c95" at `alpha` of opacity.
export function faded(colour: string, alpha: number): string {
  const n = parseInt(colour.slice(1), 16);
  return `rgba(${n >> 16}, ${(n >> 8) & 255}, ${n & 255}, ${alpha})`;
}

// The colour at `share` in [0, 1] of a scale.
export function shade(scale: string[], share: number): string {
  const at = Math.min(Math.max(share, 0), 1) * (scale.length - 1);
  const below = Math.min(Math.floor(at), scale.length - 2);
  const mix = at - below;
  const a = parseInt(scale[below]!.slice(1), 16);
  const b = parseInt(scale[below + 1]!.slice(1), 16);
  const channel = (shift: number) => Math.round(((a >> shift) & 255) * (1 - mix) + ((b >> shift) & 255) * mix);
  return `rgb(${channel(16)}, ${channel(8)}, ${channel(0)})`;
}
