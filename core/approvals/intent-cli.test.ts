import { describe, expect, test } from 'vitest';
import { runIntent } from './intent-cli.ts';

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(
  argv: readonly string[],
  input: readonly (string | Uint8Array)[] = [],
  env: Record<string, string> = {},
): Promise<Run> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runIntent(argv, {
    stdin: (async function* () {
      yield* input;
    })(),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    env,
  });
  return { code, out: out.join(''), err: err.join('') };
}

describe('nomos intent --jsonl', () => {
  test('answers every line in order with the four fields', async () => {
    const texts = ['yes', 'I confirm', 'no', 'yesterday', "don't"];
    const { code, out, err } = await run(
      ['--jsonl'],
      texts.map((text) => `${JSON.stringify({ text })}\n`),
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
    ).toEqual([
      { text: 'yes', assent: true, confirm: false, negation: false },
      { text: 'I confirm', assent: true, confirm: true, negation: false },
      { text: 'no', assent: false, confirm: false, negation: true },
      { text: 'yesterday', assent: false, confirm: false, negation: false },
      { text: "don't", assent: false, confirm: false, negation: true },
    ]);
  });

  test('a line that cannot be read is named by its number, and the others are answered', async () => {
    const input =
      '{"text":"yes"}\nrubbish\n\n{"words":"yes"}\n{"text":5}\n[1]\nnull\n{"text":"no"}';
    const { code, out, err } = await run(['--jsonl'], [input]);
    expect(code).toBe(2);
    expect(out.match(/"text":"\w+"/g)).toEqual(['"text":"yes"', '"text":"no"']);
    expect(err.trimEnd().split('\n')).toEqual([
      'nomos intent: line 2: not JSON; expected {"text": "…"}',
      'nomos intent: line 4: the field "text" is missing; expected {"text": "…"}',
      'nomos intent: line 5: the field "text" is not a string; expected {"text": "…"}',
      'nomos intent: line 6: not a JSON object; expected {"text": "…"}',
      'nomos intent: line 7: not a JSON object; expected {"text": "…"}',
    ]);
  });

  test('bytes may be cut anywhere, also inside a letter', async () => {
    const bytes = new TextEncoder().encode('{"text":"don’t"}\r\n{"text":"sí"}\n');
    const { out } = await run(
      ['--jsonl', '--languages', 'es'],
      Array.from(bytes, (byte) => Uint8Array.of(byte)),
    );
    expect(out).toBe(
      '{"text":"don’t","assent":false,"confirm":false,"negation":true}\n{"text":"sí","assent":true,"confirm":false,"negation":false}\n',
    );
  });

  test('an empty input is no fault', async () => {
    expect(await run(['--jsonl'])).toEqual({ code: 0, out: '', err: '' });
  });
});

describe('nomos intent TEXT', () => {
  test('prints what was read', async () => {
    const { code, out } = await run(['go', 'ahead']);
    expect(code).toBe(0);
    expect(out).toContain('assent: yes\nconfirm: no\nnegation: no\n');
  });

  test('names what is confirmed', async () => {
    const { out } = await run(['I confirm the deletion of lxc:old']);
    expect(out).toContain('confirms: the deletion of lxc:old\nnames: lxc:old, delete\n');
  });

  test('--json prints all of it', async () => {
    const { out } = await run(['--json', 'no, later']);
    expect(JSON.parse(out)).toMatchObject({
      text: 'no, later',
      negation: true,
      denial: true,
      bare: true,
    });
  });

  test('reads standard input without TEXT', async () => {
    expect((await run(['--json'], ['> quo', 'ted\n', 'yes\n'])).out).toContain(
      '"text":"> quoted\\nyes"',
    );
  });

  test('a message that begins with a dash goes after --', async () => {
    expect((await run(['--json', '--', '-1'])).out).toContain('"negation":true');
  });
});

describe('languages', () => {
  test('come from NOMOS_LANGUAGES, and --languages goes before', async () => {
    expect((await run(['--json', 'ja'])).out).toContain('"assent":false');
    expect((await run(['--json', 'ja'], [], { NOMOS_LANGUAGES: 'de, fr' })).out).toContain(
      '"assent":true',
    );
    expect(
      (await run(['--json', '--languages=es', 'ja'], [], { NOMOS_LANGUAGES: 'de' })).out,
    ).toContain('"assent":false');
  });

  test('an unknown one is refused, by the name of the option', async () => {
    const { code, err } = await run(['--languages', 'de,xx', 'ja']);
    expect({ code, err }).toEqual({
      code: 2,
      err: 'nomos intent: --languages: "xx" has no word list; allowed are en, de, es, fr\n',
    });
    expect((await run(['ja'], [], { NOMOS_LANGUAGES: 'klingon' })).err).toContain(
      'NOMOS_LANGUAGES: "klingon"',
    );
  });
});

test.each([
  [['--bogus'], 'unknown option --bogus'],
  [['--jsonl', 'yes'], 'takes no TEXT'],
  [['--languages'], 'needs a list'],
  [['  '], 'no message given'],
  [[], 'no message given'],
])('wrong use %j is told and ends with 2', async (argv, message) => {
  const { code, out, err } = await run(argv);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(message);
});

test('--help tells the use and ends with 0', async () => {
  const { code, out } = await run(['--help']);
  expect(code).toBe(0);
  expect(out).toContain('Usage: nomos intent');
});
