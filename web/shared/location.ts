// The page's address after "#": a place, and what is remembered nowhere else: "#timeline?theme=dark".
export interface Place {
  id: string;
  theme: 'light' | 'dark' | null;
}

export function parsePlace(hash: string): Place {
  const [id = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const theme = new URLSearchParams(query).get('theme');
  return { id: decodeURIComponent(id), theme: theme === 'light' || theme === 'dark' ? theme : null };
}

export function placeHash({ id, theme }: Place): string {
  return `#${encodeURIComponent(id)}${theme ? `?theme=${theme}` : ''}`;
}
