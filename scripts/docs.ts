/**
 * Writes the documents that are made from the code: `docs/configuration.md`, `docs/api-routes.md`, `.env.example`. With
 * `--check` it writes nothing and fails when one of them, or a picture in `docs/images`, is not as the code would have it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPTIONS, type Option } from '../core/config/options.ts';
import { apiRoutes } from './api-routes.ts';
import { stalePictures } from './lib/picture-sources.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const options: readonly Option[] = OPTIONS;

function configuration(): string {
  const rows = options.map(
    (option) =>
      `| \`${option.name}\`${option.secret === true ? ' 🔒' : ''} | ${cell(option.meaning)} | ${cell(option.allowed)} | ${cell(option.otherwise)} |`,
  );
  return `# Configuration

Everything is set by environment variables; a file \`.env\` in the working directory is read too, and what the environment
says goes before it. Each option can also be given as \`<NAME>_FILE\`, the name of a file that holds the value: the better
way for secrets (marked 🔒). All faults are told at once at start, by the option's name, with what was given (never a
secret) and what is allowed, and nothing starts.

\`npm start\` starts an embedded service for whatever of the first group is not named. \`nomos start\` in a container
expects all of it.

| option | meaning | allowed | when it is not set |
|---|---|---|---|
${rows.join('\n')}

\`SSH_AUTH_SOCK\` is used as every SSH client uses it.

This file is made from \`core/config/options.ts\` by \`npm run docs\`.
`;
}

function example(): string {
  const blocks = options.map(
    (option) =>
      `# ${option.meaning}\n# Allowed: ${option.allowed}. Not set: ${option.otherwise}.\n#${option.name}=`,
  );
  return `# A copy of this file named .env is read at start. Secrets are better given as <NAME>_FILE=/path/of/a/file.
# Made from core/config/options.ts by \`npm run docs\`.

${blocks.join('\n\n')}
`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

const made: ReadonlyArray<[string, string]> = [
  ['docs/configuration.md', configuration()],
  ['docs/api-routes.md', apiRoutes()],
  ['.env.example', example()],
];
const check = process.argv.includes('--check');
for (const [name, text] of made) {
  const file = join(root, name);
  if (!check) {
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    process.stderr.write(
      `${name} is not as the code would have it: run \`npm run docs\` and commit it.\n`,
    );
    process.exitCode = 1;
  }
}
for (const { name, drawnBy } of check ? stalePictures(join(root, 'docs/images')) : []) {
  process.stderr.write(
    `docs/images/${name} does not show what the code draws today: run \`node ${drawnBy}\` and commit it.\n`,
  );
  process.exitCode = 1;
}
