import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { classify } from '../policy/classify.ts';
import { faultOfShell, fillShell, fillText, namesIn, openText } from './runbook-template.ts';

const NONE: ReadonlySet<string> = new Set();

// Each of them would leave a mark if a shell ran it: a file in the folder, or words that are not its own.
const HOSTILE = [
  "'; touch pwned; '",
  '"; touch pwned; "',
  '$(touch pwned)',
  '`touch pwned`',
  '${HOME}',
  '$HOME',
  'a; touch pwned',
  'a && touch pwned',
  'a | tee pwned',
  'a > pwned',
  'a & touch pwned',
  '*',
  '~',
  '!!',
  '\\',
  "a\\'; touch pwned #",
  "''",
  'a  b\tc',
  '# comment',
  '{{b}}',
  '%s %n',
  'grün 🟢 \u202e',
  '=(touch pwned)',
];

describe('Z3, K10: a value in a command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nomos-runbook-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(HOSTILE)('reaches the program as it is, and nothing else runs: %j', (value) => {
    const template = "printf '%s|' {{a}} --x={{a}} pre{{a}}post; v={{a}}; printf '%s|' \"$v\"";
    expect(faultOfShell(template, NONE)).toBeUndefined();
    const source = fillShell(template, { a: value });
    for (const shell of ['sh', 'bash']) {
      const said = execFileSync(shell, ['-c', source], { cwd: folder, encoding: 'utf8' });
      expect(said).toBe(`${value}|--x=${value}|pre${value}post|${value}|`);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each(HOSTILE)(
    'does not change what the policy sees, nor is it taken for a command: %j',
    (value) => {
      const judged = classify(fillShell('ls -l /srv/{{a}}', { a: value }));
      expect(judged.risk).toBe(
        // What a person cannot see makes any command more than read-only.
        /\u202e/.test(value) ? 'config_mutation' : 'read_only',
      );
    },
  );

  it('is a bare word where it can be one, so that the card reads well', () => {
    expect(fillShell('df -h {{p}} {{n}}', { p: '/var/lib', n: 12 })).toBe('df -h /var/lib 12');
  });

  it('fills every place, and only places: what Docker has in braces is text', () => {
    const template =
      "docker ps --format '{{.Names}}' --filter name={{ name }} {{name}} {{ json .}}";
    expect(namesIn(template)).toEqual(['name']);
    expect(fillText('{{target}} is {{target.name}}', { target: 'host:web-1' })).toBe(
      'host:web-1 is web-1',
    );
    expect(() => fillShell('{{other}}', {})).toThrow(RangeError);
  });
});

describe('Z3, K10: a template', () => {
  it('shows the names of what comes into it as long as there are no values', () => {
    expect(openText('Back up {{pve_id}} on {{host.name}}; docker ps --format {{.Names}}')).toBe(
      'Back up ‹pve id› on ‹host›; docker ps --format {{.Names}}',
    );
  });

  it.each([
    'df {{p}}',
    'ls --a={{p}} > {{p}}.txt',
    'x={{p}}; ls "$x"',
    'if [ -e {{p}} ]; then ls {{p}}; fi',
    'ls {{p}} | grep -c {{p}}',
    'cat <<< {{p}}',
    'for f in {{p}} {{q}}; do ls "$f"; done',
    'for f in $(ls {{p}}); do echo "$f"; done',
    'echo "$(ls {{p}})"',
  ])('may have it where a word may stand: %s', (template) => {
    expect(faultOfShell(template, NONE)).toBeUndefined();
  });

  it.each([
    'echo "{{p}}"',
    "echo 'a{{p}}b'",
    "echo $'{{p}}'",
    'echo \\{{p}}',
    'cat <<EOF\n{{p}}\nEOF',
    "cat <<'EOF'\n{{p}}\nEOF",
    'echo $(({{p}}+1))',
    'echo "${y:-{{p}}}"',
    'echo ${#{{p}}}',
    'echo ${y:-{{p}}}',
    'echo $[{{p}}+1]',
    '(( {{p}} + 1 ))',
    'ls "$(echo "{{p}}")"',
    'echo `ls {{p}}`',
    'echo a # {{p}}',
  ])('may not have it elsewhere: %j', (template) => {
    expect(faultOfShell(template, NONE)).toMatch(/\{\{p\}\} must stand by itself/);
  });

  it.each(['if [ -e {{p}} ]; then', 'ls (', 'echo "open'])(
    'must be whole source: %s',
    (template) => {
      expect(faultOfShell(template, NONE)).toMatch(/no valid shell source/);
    },
  );

  it.each([
    'eval {{p}}',
    'sh -c {{p}}',
    'bash -c "ls" {{p}}',
    'ssh other ls {{p}}',
    'pct exec 101 -- ls {{p}}',
    'sudo ls {{p}}',
    'awk {{p}} /etc/passwd',
    'find / -name {{p}}',
    '[[ {{p}} -eq 1 ]]',
    'declare x={{p}}',
    'a[{{p}}]=1',
  ])('may not hand free text to what reads source: %s', (template) => {
    expect(faultOfShell(template, new Set(['p']))).toMatch(/reads its arguments as source/);
    expect(faultOfShell('logger {{p}}', new Set(['p']))).toBeUndefined();
  });
});
