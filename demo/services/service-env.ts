/**
 * The environment of an embedded service: enough to run, none of the settings and secrets of the program that starts
 * it, and one locale everywhere.
 */
export function serviceEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept: NodeJS.ProcessEnv = {};
  for (const name of ['PATH', 'HOME', 'TMPDIR', 'USER']) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return { ...kept, LC_ALL: 'C', ...more };
}
