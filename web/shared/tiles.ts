// How many columns `count` tiles have in a place of `width` px: as many as fit, or up to a third fewer where the last row is fuller then.
export function columnsOf(count: number, width: number, narrowest: number, gap: number): number {
  const most = Math.max(1, Math.min(count, Math.floor((width + gap) / (narrowest + gap))));
  const holes = (columns: number) => (columns - (count % columns)) % columns;
  let best = most;
  for (let columns = most - 1; columns >= Math.max(1, Math.ceil((most * 2) / 3)); --columns) if (holes(columns) < holes(best)) best = columns;
  return best;
}
