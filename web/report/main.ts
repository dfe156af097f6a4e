import { mount } from 'svelte';
import '../shared/base.css';
import App from './App.svelte';
import type { Report } from './schema';

// The report is embedded where the binary put it. The page alone, as the development server has it, holds a word in that place and
// shows a sample: ?sample=sweep.
async function report(): Promise<Report | null> {
  const embedded = JSON.parse(document.getElementById('report')?.textContent ?? '""') as Report | string;
  if (typeof embedded === 'object') return embedded;
  if (!import.meta.env.DEV) return null;
  const name = new URLSearchParams(location.search).get('sample') ?? 'serve';
  return (await (await fetch(`/samples/${name}.json`)).json()) as Report;
}

mount(App, { target: document.getElementById('app')!, props: { report: await report() } });
