/** Builds the chat page into the folder given as the only argument. Run as a program of its own: it needs much memory. */
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

/** What is mended in Hydrogen, as text: the build fails when a place is no longer as it was. */
const MENDED: ReadonlyArray<[was: string, is: string]> = [
  // Room names begin with an emoji, of which avatars would show the first half.
  [
    'let firstChar = name.charAt(0);',
    'let firstChar = String.fromCodePoint(name.codePointAt(0) ?? 32);',
  ],
  // A reply within a thread quotes what it answers, not the thread's root.
  [
    `if (this.isReply || this.isReference) {
      return this.relatedEventId;`,
    `if (this.isReply || this.isReference) {
      return this.relation["m.in_reply_to"]?.event_id ?? this.relatedEventId;`,
  ],
];

const mendHydrogen: Plugin = {
  name: 'mend-hydrogen',
  transform(code, id) {
    if (!id.endsWith('hydrogen.es.js')) return undefined;
    let mended = code;
    for (const [was, is] of MENDED) {
      if (!mended.includes(was)) this.error(`Hydrogen is not as it was: ${was}`);
      mended = mended.replace(was, is);
    }
    return { code: mended, map: null };
  },
};

const outDir = process.argv[2];
if (outDir === undefined) throw new Error('Usage: node demo/chat/vite.ts <folder>');
await build({
  root: fileURLToPath(new URL('./src', import.meta.url)),
  base: './',
  configFile: false,
  logLevel: 'warn',
  plugins: [mendHydrogen],
  build: {
    outDir,
    emptyOutDir: true,
    // Everything is a file: the page's policy allows no code or style that stands in it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 10_000,
  },
});
