// Writes the pictures of reports as SVG files, drawn by the page's own charts without a browser:
//   node make_pictures.mjs FOLDER REPORT.json...      FOLDER/REPORT.NAME.svg, and prints {"REPORT": [{"file", "title"}, ...]}
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { createServer } from 'vite';

const [folder, ...files] = process.argv.slice(2);
const vite = await createServer({
  configFile: false, root: resolve(import.meta.dirname, '..'), appType: 'custom', logLevel: 'error', optimizeDeps: { noDiscovery: true },
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
});
try {
  const { pictures } = await vite.ssrLoadModule('/report/pictures.ts');
  const written = {};
  for (const file of files) {
    const stem = basename(file, '.json');
    written[stem] = pictures(JSON.parse(readFileSync(file, 'utf8'))).map(({ name, title, svg }) => {
      writeFileSync(join(folder, `${stem}.${name}.svg`), `${svg}\n`);
      return { file: `${stem}.${name}.svg`, title };
    });
  }
  console.log(JSON.stringify(written));
} finally {
  await vite.close();
}
