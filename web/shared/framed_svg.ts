import { escapeHtml } from './format';
import type { Palette } from './theme';

export interface Mark {
  name: string;
  colour: string;
  mark?: string; // as of Chart's keys; "box" if none
}

function drawn(kind: string | undefined, colour: string): string {
  switch (kind) {
    case 'line': case 'dashed': case 'dotted': {
      const dash = kind === 'line' ? '' : ` stroke-dasharray="${kind === 'dashed' ? '5 3' : '2 2'}"`;
      return `<path d="M-5 0H13" stroke="${colour}" stroke-width="2"${dash}/>`;
    }
    case 'circle': return `<circle cx="4" cy="0" r="4.5" fill="${colour}"/>`;
    case 'hollow': return `<circle cx="4" cy="0" r="4" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
    case 'triangle': return `<path d="M4 -5L9 4.5H-1Z" fill="${colour}"/>`;
    case 'diamond': return `<path d="M4 -5.5L9.5 0L4 5.5L-1.5 0Z" fill="${colour}"/>`;
    default: return `<rect x="-1" y="-5" width="10" height="10" fill="${colour}"/>`;
  }
}

// A chart's SVG below its title and the key of its colours: what the page has around the picture, in the file too. The text is
// measured by the count of its letters, as there may be no page to ask.
export function framedSvg(svg: string, width: number, height: number, title: string, marks: Mark[], p: Palette): string {
  const font = 'font-family="system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif"';
  let x = 12;
  let y = 42;
  const keys = marks.map((key) => {
    const wide = 24 + key.name.length * 6.4;
    if (x > 12 && x + wide > width) [x, y] = [12, y + 17];
    const item = `<g transform="translate(${x} ${y})">${drawn(key.mark, key.colour)}<text x="18" y="4" ${font} font-size="11" fill="${p.quiet}">${escapeHtml(key.name)}</text></g>`;
    x += wide + 12;
    return item;
  });
  const top = marks.length ? y + 14 : 32;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + top}" viewBox="0 0 ${width} ${height + top}">` +
    `<rect width="${width}" height="${height + top}" fill="${p.panel}"/>` +
    `<text x="10" y="22" ${font} font-size="14" font-weight="600" fill="${p.text}">${escapeHtml(title)}</text>` +
    keys.join('') +
    svg.replace('<svg ', `<svg y="${top}" `) +
    '</svg>'
  );
}
