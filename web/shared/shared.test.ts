import { expect, it } from 'vitest';
import { csv } from './download';
import { framedSvg } from './framed_svg';
import { parsePlace, placeHash } from './location';
import { DARK, LIGHT, shade } from './theme';
import { themedSvg } from './themed_svg';
import { columnsOf } from './tiles';

it('writes csv that spreadsheets read as text', () => {
  expect(csv(['a', 'b'], [['x,"y"', 1], ['=1+1', null], ['two\nlines', 0.5]])).toBe(`a,b\r\n"x,""y""",1\r\n'=1+1,\r\n"two\nlines",0.5\r\n`);
});

it('reads and writes places', () => {
  expect(parsePlace('#timeline?theme=dark')).toEqual({ id: 'timeline', theme: 'dark' });
  expect(parsePlace('#timeline?theme=pink')).toEqual({ id: 'timeline', theme: null });
  expect(parsePlace('')).toEqual({ id: '', theme: null });
  expect(parsePlace(placeHash({ id: 'over-time', theme: 'light' }))).toEqual({ id: 'over-time', theme: 'light' });
});

const luminance = (colour: string) => {
  const channel = (shift: number) => {
    const c = ((parseInt(colour.slice(1), 16) >> shift) & 255) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0);
};
const contrast = (a: string, b: string) => {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
};

it.each([['light', LIGHT], ['dark', DARK]] as const)('has contrast enough in the %s palette (WCAG 2.2: 4.5 of text, 3 of lines but the lightest)', (_, p) => {
  for (const text of [p.text, p.quiet, p.accent, p.good, p.bad, p.warn]) {
    expect(contrast(text, p.panel)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(text, p.background)).toBeGreaterThanOrEqual(4.5);
  }
  for (const line of p.series.slice(0, 5)) expect(contrast(line, p.panel)).toBeGreaterThanOrEqual(3);
});

it('frames a saved chart with its title and key, and keeps its text text', () => {
  const svg = framedSvg('<svg width="300" height="100"></svg>', 300, 100, 'a < b', [{ name: 'first', colour: '#ff0000' }, { name: 'x'.repeat(60), colour: '#00ff00', mark: 'dashed' }], LIGHT);
  expect(svg).toContain('a &#60; b');
  expect(svg).toContain('stroke-dasharray');
  expect(svg).toContain('translate(12 59)'); // the second key does not fit beside the first
  expect(svg).toContain('<svg y="73" width="300"');
  expect(svg.match(/height="173"/g)).toHaveLength(2);
});

it('shades between the colours of a scale', () => {
  expect(shade(['#000000', '#ffffff'], 0.5)).toBe('rgb(128, 128, 128)');
  expect(shade(['#000000', '#ffffff'], 9)).toBe('rgb(255, 255, 255)');
});

it('makes one SVG of a light and a dark drawing', () => {
  const drawing = (a: string, b: string) => `<svg width="1"><path fill="${a}" stroke="none"/><text fill="${b}"/><path stroke="#0a0a0a"/></svg>`;
  expect(themedSvg(drawing('#fff', '#123456'), drawing('#000', '#abcdef'))).toBe(
    `<svg width="1"><style>@media (prefers-color-scheme:dark){[fill="#fff"]{fill:#000}[fill="#123456"]{fill:#abcdef}}</style>${drawing('#fff', '#123456').slice('<svg width="1">'.length)}`,
  );
  expect(() => themedSvg(drawing('#fff', '#fff'), drawing('#000', '#111'))).toThrow('dark in two ways');
  expect(() => themedSvg('<svg><a fill="#fff"/></svg>', '<svg></svg>')).toThrow('not the same drawing');
});

it('lays out tiles so that the last row is full, or as full as may be', () => {
  const at = (count: number, most: number) => columnsOf(count, most * 230, 220, 10);
  expect([8, 9, 5, 6, 12].map((count) => at(count, 4))).toEqual([4, 3, 3, 3, 4]);
  expect([at(3, 1), at(2, 6), at(13, 4)]).toEqual([1, 2, 3]);
});
