// Opens report pages in Chromium and prints what it finds, as JSON, for test_report_page.py to judge:
//   node open_reports.mjs PLAYWRIGHT CHROMIUM SCREENSHOTS NAME=FILE...
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { painted } from './painted.mjs';

const [playwright, executablePath, screenshots, ...files] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(playwright).href);
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

mkdirSync(screenshots, { recursive: true });
const profile = mkdtempSync(join(tmpdir(), 'millrace-report-page-'));
const context = await chromium.launchPersistentContext(profile, { executablePath, args: FLAGS, acceptDownloads: true });

async function open(file, { hash = '', width = 1280, scheme = 'light', reducedMotion = 'reduce' } = {}) {
  const page = await context.newPage();
  const seen = { console: [], requests: [] };
  page.on('console', (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => seen.console.push(`error: ${error.stack}`));
  page.on('request', (request) => seen.requests.push(request.url()));
  await page.emulateMedia({ colorScheme: scheme, reducedMotion });
  await page.setViewportSize({ width, height: 900 });
  await page.goto(pathToFileURL(file).href + hash);
  await page.waitForSelector('main > *');
  await page.evaluate(painted);
  return { page, seen };
}

// Shapes of an SVG, or pixels of a canvas that differ from nothing; 0 where the drawing does not fill its place.
const drawn = (page) =>
  page.$$eval('figure[data-chart]', (figures) =>
    Object.fromEntries(
      figures.map((figure) => {
        const canvas = figure.querySelector('canvas');
        const picture = figure.querySelector('.picture');
        const [wide] = [...picture.querySelectorAll('svg, canvas')].map((e) => e.getBoundingClientRect().width);
        if (Math.abs(wide - picture.clientWidth) > 1) return [figure.dataset.chart, 0];
        if (!canvas) return [figure.dataset.chart, figure.querySelectorAll('svg path, svg text, svg polyline').length];
        // Read from a copy: reading makes a canvas slow from then on, and Chromium complains.
        const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height }).getContext('2d', { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
        let painted = 0;
        for (let i = 3; i < data.length; i += 4) if (data[i] > 0) ++painted;
        return [figure.dataset.chart, painted];
      }),
    ),
  );

const focused = (page) =>
  page.evaluate(() => {
    const e = document.activeElement;
    const visible = e && e !== document.body && getComputedStyle(e).outlineStyle !== 'none';
    return `${e?.tagName.toLowerCase()}|${(e?.getAttribute('aria-label') ?? e?.textContent ?? '').trim().slice(0, 40)}|${visible ? 'ring' : 'no ring'}`;
  });

async function saved(page, click) {
  const [download] = await Promise.all([page.waitForEvent('download'), click()]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path(), 'utf8') };
}

async function look(name, file) {
  const found = { name };
  const { page, seen } = await open(file);
  found.sections = await page.$$eval('main section[id]', (all) => Object.fromEntries(all.map((s) => [s.id, s.innerText.length])));
  found.title = await page.title();
  found.heading = await page.$eval('h1', (h) => h.textContent).catch(() => null);
  found.figures = await page.$$eval('[data-figure]', (all) => Object.fromEntries(all.map((e) => [e.dataset.figure, e.innerText])));
  found.rows = await page.$$eval('tr[data-metric]', (all) =>
    Object.fromEntries(all.map((row) => [row.dataset.metric, Object.fromEntries([...row.querySelectorAll('[data-figure]')].map((e) => [e.dataset.figure, e.innerText]))])),
  );
  found.text = await page.$eval('main', (main) => main.innerText);
  found.drawn = await drawn(page);
  found.unnamed = await page.$$eval('.picture, button, a, select', (all) => all.filter((e) => !(e.getAttribute('aria-label') ?? e.textContent ?? '').trim()).length);
  await page.screenshot({ path: join(screenshots, `${name}-light.png`), fullPage: true });

  found.tabs = [];
  for (let i = 0; i < 24; ++i) {
    await page.keyboard.press('Tab');
    found.tabs.push(await focused(page));
  }
  const colours = () => page.evaluate(() => [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color].join(' '));
  found.light = await colours();
  await page.getByRole('button', { name: 'Dark', exact: true }).focus();
  await page.keyboard.press('Enter');
  found.dark = await colours();
  found.hash = await page.evaluate(() => location.hash);
  await page.evaluate(painted);
  found.drawnDark = await drawn(page);
  await page.screenshot({ path: join(screenshots, `${name}-dark.png`), fullPage: true });
  for (const summary of await page.$$('figure details.data > summary')) await summary.evaluate((s) => s.click());
  await page.evaluate(painted);
  found.tables = await page.$$eval('figure details.data', (all) => all.map((d) => d.querySelectorAll('tbody tr').length));
  found.console = seen.console;
  found.requests = seen.requests;
  await page.close();

  const narrow = await open(file, { width: 380 });
  found.narrow = await narrow.page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  await narrow.page.screenshot({ path: join(screenshots, `${name}-380.png`), fullPage: true });
  found.console.push(...narrow.seen.console);
  await narrow.page.close();
  return found;
}

// What only the report of one run has, and what is the same in all.
async function use(file) {
  const found = {};
  const { page, seen } = await open(file, { hash: '#slowest?theme=dark' });
  found.deepLink = await page.$eval('#slowest', (s) => [Math.round(s.getBoundingClientRect().top), document.activeElement === s]);
  found.theme = await page.$eval('html', (html) => html.dataset.theme);
  const window = () => page.$eval('#timeline .controls .note', (note) => note.textContent);
  found.windows = [await window()];
  await page.getByRole('button', { name: 'Zoom in', exact: true }).click();
  found.windows.push(await window());
  await page.getByRole('button', { name: 'Later', exact: true }).click();
  found.windows.push(await window());
  await page.getByRole('button', { name: 'All', exact: true }).click();
  found.windows.push(await window());
  await page.locator('#slowest tbody button').first().click();
  found.windows.push(await window());
  const tip = async (chart, x, y) => {
    await page.locator(`[data-chart="${chart}"]`).evaluate((e) => e.scrollIntoView());
    const box = await page.locator(`[data-chart="${chart}"] .picture`).boundingBox();
    await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
    await page.evaluate(painted);
    return page.locator(`[data-chart="${chart}"] .picture`).innerText();
  };
  found.tooltip = await tip('timeline', 0.5, 0.2);
  found.histogram = await (async () => {
    await page.getByRole('button', { name: 'Histogram', exact: true }).click();
    await page.evaluate(painted);
    return drawn(page);
  })();
  found.json = await saved(page, () => page.getByRole('button', { name: 'Save the JSON' }).click());
  found.csv = await saved(page, () => page.getByRole('button', { name: 'Save the requests as CSV' }).click());
  found.svg = await saved(page, () => page.locator('[data-chart="timeline"] .save').click());
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  found.printed = await page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.querySelector('nav.contents')).display,
    Math.max(...[...document.querySelectorAll('.picture canvas, .picture svg')].map((e) => e.getBoundingClientRect().width))]);
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  await page.emulateMedia({ media: 'screen' });
  found.console = [...seen.console];
  found.requests = [...seen.requests];
  // Last, as it makes errors: nothing may run or be fetched that is not the page's own.
  found.blocked = await page.evaluate(async () => {
    const violations = [];
    document.addEventListener('securitypolicyviolation', (event) => violations.push(event.effectiveDirective));
    await fetch('data:text/plain,x').catch(() => {});
    const script = document.createElement('script');
    script.textContent = 'window.intruder = true';
    document.body.append(script);
    const image = new Image();
    image.src = 'http://127.0.0.1:9/x.png';
    await new Promise((done) => setTimeout(done, 200));
    return { violations, intruder: window.intruder ?? false };
  });
  await page.close();
  return found;
}

try {
  const result = { pages: {}, used: null };
  for (const pair of files) {
    const [name, file] = pair.split('=', 2);
    result.pages[name] = await look(name, file);
    if (name === 'serve') result.used = await use(file);
  }
  console.log(JSON.stringify(result));
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
