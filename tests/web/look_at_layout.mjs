// Opens report pages in Chromium in each width and theme, and prints layoutFacts() of each as JSON, for test_layout.py to judge:
//   node look_at_layout.mjs PLAYWRIGHT CHROMIUM SCREENSHOTS NAME=FILE...
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { layoutFacts } from './layout_facts.mjs';
import { painted } from './painted.mjs';

const WIDTHS = [400, 1000, 1600];
const [playwright, executablePath, screenshots, ...files] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(playwright).href);
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

mkdirSync(screenshots, { recursive: true });
const profile = mkdtempSync(join(tmpdir(), 'millrace-report-layout-'));
const context = await chromium.launchPersistentContext(profile, { executablePath, args: FLAGS });
try {
  const result = {};
  for (const pair of files) {
    const [name, file] = pair.split('=', 2);
    for (const width of WIDTHS) {
      for (const scheme of ['light', 'dark']) {
        const page = await context.newPage();
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
        await page.setViewportSize({ width, height: 900 });
        await page.goto(pathToFileURL(file).href);
        await page.waitForSelector('main > *');
        await page.waitForFunction(() => [...document.querySelectorAll('figure[data-chart] .picture')].every((p) => p.querySelector('svg, canvas')));
        for (const summary of await page.$$('main details > summary')) await summary.evaluate((s) => s.click());
        await page.evaluate(painted);
        const at = `${name}-${width}-${scheme}`;
        result[at] = await page.evaluate(layoutFacts);
        for (const summary of await page.$$('main details > summary')) await summary.evaluate((s) => s.click());
        await page.screenshot({ path: join(screenshots, `${at}.png`), fullPage: true });
        await page.close();
      }
    }
  }
  console.log(JSON.stringify(result));
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
