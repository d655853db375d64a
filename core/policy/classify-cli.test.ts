import { describe, expect, test } from 'vitest';
import { runClassify } from './classify-cli.ts';

async function run(argv: string[], input: readonly (string | Uint8Array)[] = []) {
  const out: string[] = [];
  const err: string[] = [];
  async function* stdin(): AsyncGenerator<string | Uint8Array> {
    yield* input;
  }
  const code = await runClassify(argv, {
    stdin: stdin(),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
  });
  return { code, out: out.join(''), err: err.join('') };
}

const answers = (out: string): unknown[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

describe('P5: nomos classify', () => {
  test('one command: class and reasons as text', async () => {
    expect(await run(['rm -r /srv/data'])).toEqual({
      code: 0,
      out: 'destructive\n  rm -r deletes recursively: /srv/data\n',
      err: '',
    });
  });

  test('--json gives one object; the command may come on standard input', async () => {
    const { code, out } = await run(['--json'], ['uptime\n']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      command: 'uptime',
      risk: 'read_only',
      reasons: ['every part of it only reads'],
    });
  });

  test('P1: --declared raises', async () => {
    const { out } = await run(['--json', '--declared', 'destructive', 'uptime']);
    expect(JSON.parse(out)).toMatchObject({
      risk: 'destructive',
      reasons: ['declared as destructive'],
    });
  });

  test('--jsonl answers line by line, in order, across chunks and inside characters', async () => {
    const text = [
      { command: 'echo „ü“' },
      { command: 'ls > x', declared: 'read_only' },
      { command: 'ls', declared: 'config_mutation' },
    ]
      .map((line) => JSON.stringify(line))
      .join('\n');
    const bytes = new TextEncoder().encode(text);
    const chunks = [...bytes].map((byte) => new Uint8Array([byte]));
    const { code, out, err } = await run(['--jsonl'], chunks);
    expect(err).toBe('');
    expect(code).toBe(0);
    expect(answers(out)).toMatchObject([
      { command: 'echo „ü“', risk: 'read_only' },
      { command: 'ls > x', risk: 'config_mutation' },
      { command: 'ls', risk: 'config_mutation' },
    ]);
  });

  test('bytes that are no valid UTF-8 never make a read, and are told in words', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"command":"cat /srv/'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}\n'),
    ]);
    const { code, out } = await run(['--jsonl'], [bytes]);
    expect(code).toBe(0);
    expect(answers(out)).toMatchObject([
      {
        risk: 'config_mutation',
        reasons: [expect.stringContaining('the bytes were no valid UTF-8')],
      },
    ]);
  });

  test('a bad line is told with its number, and the others are answered', async () => {
    const lines = [
      '{"command":"ls"}',
      '{"command":7}',
      'no',
      '[]',
      '{"command":"ls","declared":"mild"}',
      '{"command":"ls","risk":1}',
      '',
      '{"command":"df"}',
    ];
    const { code, out, err } = await run(['--jsonl'], [`${lines.join('\n')}\n`]);
    expect(code).toBe(2);
    expect(answers(out)).toMatchObject([{ command: 'ls' }, { command: 'df' }]);
    expect(err).toMatch(/line 2: "command" must be a string/);
    expect(err).toMatch(/line 3: not JSON/);
    expect(err).toMatch(/line 4: must be an object/);
    expect(err).toMatch(/line 5: "declared" must be one of read_only, .* not "mild"/);
    expect(err).toMatch(/line 6: unknown key "risk"/);
  });

  test.each([
    [['--declared', 'mild', 'ls'], 'must be one of'],
    [['--bogus'], 'unknown option "--bogus"'],
    [['ls', '-la'], 'more than one COMMAND'],
    [['--jsonl', 'ls'], 'takes no COMMAND'],
  ])('bad usage is told: %j', async (argv, why) => {
    const { code, out, err } = await run(argv);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(why);
  });

  test('--help tells the options and the exit codes', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    for (const word of ['--jsonl', '--json', '--declared', 'Exit codes'])
      expect(out).toContain(word);
  });
});
