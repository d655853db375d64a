/** See python.mjs. */
export function pythonDir(home: string): string;
/** See python.mjs. */
export function pythonIsReady(home: string): boolean;
/** See python.mjs. */
export function ensurePython(options: {
  home: string;
  onProgress: (text: string) => void;
}): Promise<{ dir: string; python: string }>;
