/** Builds the chat page into the folder given as the only argument. Run as a program of its own: it needs much memory. */
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const outDir = process.argv[2];
if (outDir === undefined) throw new Error('Usage: node demo/chat/vite.ts <folder>');
await build({
  root: fileURLToPath(new URL('./src', import.meta.url)),
  base: './',
  configFile: false,
  logLevel: 'warn',
  build: {
    outDir,
    emptyOutDir: true,
    // Everything is a file: the page's policy allows no code or style that stands in it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 10_000,
  },
});
