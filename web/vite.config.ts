/// <reference types="vitest/config" />
import { resolve } from 'node:path';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { singleFile } from './single_file.ts';

// One page a build. The chat and the dashboard will be folders beside web/report, built by the same command with another MILLRACE_PAGE.
const page = process.env.MILLRACE_PAGE ?? 'report';

export default defineConfig({
  root: resolve(import.meta.dirname, page),
  plugins: [svelte({ configFile: false }), singleFile()],
  build: {
    outDir: process.env.MILLRACE_WEB_OUT ?? resolve(import.meta.dirname, '../build/web', page),
    emptyOutDir: true,
    target: 'es2022',
    cssCodeSplit: false,
    modulePreload: false,
    chunkSizeWarningLimit: 2000,
  },
  test: { root: import.meta.dirname, include: ['shared/**/*.test.ts', 'report/**/*.test.ts'], environment: 'node' },
});
