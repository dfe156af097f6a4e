// What a page looks like, in facts that a test can judge: passed to Chromium as it stands, so it names nothing outside itself.
export function layoutFacts() {
  const found = { sideways: [document.documentElement.scrollWidth, document.documentElement.clientWidth], cut: [], uncued: [], overlaps: [], repeated: [], crossed: [], holes: [], tall: [] };
  const name = (text) => text.trim().slice(0, 40);
  const visible = (e) => e.checkVisibility({ visibilityProperty: true });
  const scrolls = (e) => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  const scroller = (e) => {
    for (let at = e; at && at !== document.body; at = at.parentElement) if (scrolls(at)) return at;
    return null;
  };

  // Every text lies within the window and its own box, or within a box that scrolls.
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    const parent = node.parentElement;
    if (!node.textContent.trim() || parent.closest('script, style, svg, .skip, option') || !visible(parent) || scroller(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = parent.closest('.tile, .panel, .banner, figure, .findings, button, pre')?.getBoundingClientRect() ?? { left: 0, right: innerWidth };
    for (const rect of range.getClientRects()) {
      if (rect.width > 0 && (rect.left < Math.max(0, box.left) - 1 || rect.right > Math.min(innerWidth, box.right) + 1)) {
        found.cut.push(name(node.textContent));
        break;
      }
    }
  }
  // What scrolls sideways shows that it does.
  for (const e of document.querySelectorAll('main *, nav.contents, nav.contents *')) {
    if (!scrolls(e) || !visible(e) || e.scrollWidth <= e.clientWidth + 1) continue;
    const cue = e.parentElement.querySelector(':scope > .cue');
    if (!cue || !visible(cue) || cue.getBoundingClientRect().width < 8) found.uncued.push(name(e.getAttribute('aria-label') ?? e.className));
  }
  // Labels of charts lie in their picture, on no other label, and what names a line on no curve.
  for (const svg of document.querySelectorAll('figure[data-chart] svg')) {
    const chart = svg.closest('figure').dataset.chart;
    const frame = svg.getBoundingClientRect();
    const labels = [...svg.querySelectorAll('text')].filter((t) => t.textContent.trim()).map((t) => ({ text: t.textContent, box: t.getBoundingClientRect() }));
    for (const { text, box } of labels) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2) found.cut.push(`${chart}: ${text}`);
    }
    labels.forEach((a, i) => {
      for (const b of labels.slice(i + 1)) {
        const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const tall = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        // Two ticks of one axis that say the same; names of points may.
        if (chart !== 'pareto' && a.text === b.text && Math.abs(a.box.top - b.box.top) < 1) found.repeated.push(`${chart}: ${a.text}`);
        if (wide > 1 && tall > 3) found.overlaps.push(`${chart}: ${a.text} | ${b.text}`);
      }
    });
    const curves = [...svg.querySelectorAll('path')].filter((path) => path.getAttribute('fill') === 'none' && (path.getAttribute('d') ?? '').split(/[LHVC ]/).length > 12);
    for (const { text, box } of labels.filter((l) => /^(≤|p\d|knee|wanted)/.test(l.text))) {
      const crossed = curves.some((path) => {
        const matrix = path.getScreenCTM();
        for (let at = 0, length = path.getTotalLength(); at < length; at += 2) {
          const p = path.getPointAtLength(at).matrixTransform(matrix);
          if (p.x > box.left && p.x < box.right && p.y > box.top + 2 && p.y < box.bottom - 2) return true;
        }
        return false;
      });
      if (crossed) found.crossed.push(`${chart}: ${text}`);
    }
  }
  for (const tiles of document.querySelectorAll('.tiles')) {
    const right = tiles.getBoundingClientRect().right;
    const rows = Map.groupBy(tiles.children, (tile) => Math.round(tile.getBoundingClientRect().top));
    for (const [top, row] of rows) if (Math.abs(Math.max(...row.map((t) => t.getBoundingClientRect().right)) - right) > 2) found.holes.push(`row at ${top} of ${tiles.children.length} tiles`);
  }
  // In a small window the last column is out of sight.
  for (const row of document.querySelectorAll('#slowest tbody tr, #verdicts tbody tr')) if (innerWidth < 600 && row.offsetHeight > 64) found.tall.push(row.offsetHeight);
  found.contents = document.querySelector('nav.contents')?.offsetHeight ?? 0;
  return found;
}
