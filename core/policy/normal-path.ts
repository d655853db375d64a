/** One spelling for each path. */

/** Collapses `//`, `.` and `..`, and takes the ways round through /proc away. */
export function normalise(path: string): string {
  const out: string[] = [];
  const text = path
    .replace(/^file:\/\//, '')
    .replace(/^(\/+proc\/+[^/]+(\/+task\/+[^/]+)?\/+(root|cwd))+(?=\/|$)/, '');
  for (const part of text.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && out.length > 0 && out.at(-1) !== '..') out.pop();
    else out.push(part);
  }
  return (text.startsWith('/') ? '/' : '') + out.join('/');
}
