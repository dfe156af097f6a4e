import { createHash } from 'node:crypto';
import type { Plugin } from 'vite';

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

// Puts the script and the style of a page into its html, and a policy that lets nothing else run and nothing be fetched: the
// script is allowed by its hash, so that no text of the data can become one. Only for builds: the development server has its own scripts.
export function singleFile(): Plugin {
  return {
    name: 'single-file',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      let script = '';
      let style = '';
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === 'chunk') script += file.code;
        else if (name.endsWith('.css')) style += file.source;
        else continue;
        delete bundle[name];
      }
      const page = Object.values(bundle).find((file) => file.type === 'asset' && file.fileName.endsWith('.html'));
      if (page?.type !== 'asset') throw new Error('single-file: there is no html in the bundle');
      // A script element ends at the first "</script", and "<!--" changes how it is read, wherever they stand.
      script = script.trim().replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
      const hash = createHash('sha256').update(script).digest('base64');
      const policy = `<meta http-equiv="Content-Security-Policy" content="${POLICY}; script-src 'sha256-${hash}'">`;
      page.source = String(page.source)
        .replace(/<script type="module"[^>]*src="[^"]*"[^>]*><\/script>\s*/, '')
        .replace(/<link rel="stylesheet"[^>]*>\s*/, '')
        .replace(/<meta charset="utf-8"\s*\/?>/i, (charset) => `${charset}\n    ${policy}`)
        .replace('</head>', () => `<style>${style.trim()}</style>\n  </head>`)
        .replace('</body>', () => `<script type="module">${script}</script>\n  </body>`);
      if (/\s(src|href)="(?!#|data:)/.test(page.source.replace(script, '').replace(style, ''))) {
        throw new Error('single-file: the page still names another file');
      }
    },
  };
}
