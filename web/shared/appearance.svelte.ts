import { flushSync } from 'svelte';
import { DARK, LIGHT, type Palette } from './theme';

const dark = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : null;

// How the page looks: as the system wants it, until somebody switches. Paper is always light.
class Appearance {
  chosen = $state<'light' | 'dark' | null>(null);
  system = $state(dark?.matches ?? false);
  printing = $state(false);

  get dark(): boolean {
    return !this.printing && (this.chosen ? this.chosen === 'dark' : this.system);
  }
  get palette(): Palette {
    return this.dark ? DARK : LIGHT;
  }
}

export const appearance = new Appearance();

// Called once by a page.
export function watchSystem(): void {
  dark?.addEventListener('change', (event) => (appearance.system = event.matches));
  // What is printed is laid out right after the event: charts must have been drawn by then.
  addEventListener('beforeprint', () => flushSync(() => (appearance.printing = true)));
  addEventListener('afterprint', () => (appearance.printing = false));
}
