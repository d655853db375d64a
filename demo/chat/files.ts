import { readFileSync, readdirSync } from 'node:fs';
import { extname, join, sep } from 'node:path';

/** A file of the built page, held in memory. */
export interface StaticFile {
  readonly headers: Readonly<Record<string, string>>;
  readonly content: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
};

/** Reads a folder into a map from URL path to file: what is not in the map cannot be asked for. */
export function loadFiles(folder: string): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length).split(sep).join('/');
    files.set(name, {
      headers: {
        'content-type': type,
        // Vite writes a hash of the contents into the names of assets.
        'cache-control': name.startsWith('/assets/') ? 'max-age=31536000, immutable' : 'no-cache',
      },
      content: readFileSync(path),
    });
  }
  return files;
}
