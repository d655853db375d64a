import { describe, expect, it } from 'vitest';
import { markdown } from './markdown.ts';
import { allowedTags } from './test-html.ts';
import { cpuMs } from '../../test/support/cpu-time.ts';

function html(source: string): string {
  return markdown(source).html;
}

describe('C17: a model’s Markdown', () => {
  it.each([
    [
      '**bold** and *slanted* and `code`',
      '<p><strong>bold</strong> and <em>slanted</em> and <code>code</code></p>',
    ],
    ['# Heading', '<p><strong>Heading</strong></p>'],
    ['one\ntwo', '<p>one<br>two</p>'],
    ['one\n\ntwo', '<p>one</p><p>two</p>'],
    ['- a\n- b', '<ul><li>a</li><li>b</li></ul>'],
    ['1. a\n2. b', '<p>1. a<br>2. b</p>'],
    ['> said', '<blockquote><p>said</p></blockquote>'],
    ['```sh\nls -l\n```', '<pre><code>ls -l</code></pre>'],
    ['```\nopen', '<pre><code>open</code></pre>'],
    ['---', ''],
    ['- [x] done\n- [ ] open', '<ul><li>✅ done</li><li>⬜ open</li></ul>'],
    ['snake_case_name and 2*3*4', '<p>snake_case_name and 2*3*4</p>'],
    ['`a * b` *', '<p><code>a * b</code> *</p>'],
    ['a **b', '<p>a **b</p>'],
    ['- a\n\ntext', '<ul><li>a</li></ul><p>text</p>'],
  ])('%j', (source, expected) => {
    expect(html(source)).toBe(expected);
  });

  it('Z2: links lead only to the web, say where when their words lie, and never become a mention', () => {
    expect(html('[docs](https://nginx.org/en/)')).toBe(
      '<p><a href="https://nginx.org/en/">docs</a></p>',
    );
    expect(html('[x](javascript:alert(1))')).not.toContain('<a');
    expect(html('[x](data:text/html,x)')).not.toContain('<a');
    expect(html('[ann](https://matrix.to/#/@ann:example.org)')).not.toContain('<a');
    expect(html('[x](https://user:pass@example.org/)')).not.toContain('<a');
    expect(markdown('[docs](https://nginx.org/en/)').text).toBe('docs (https://nginx.org/en/)');
    for (const words of ['bank.example', 'https://bank.example/login', 'go to www.bank.example']) {
      const shown = markdown(`[${words}](https://k.example/x)`);
      expect(shown.html).toContain(`>${words}</a> (https://k.example/x)`);
      expect(shown.text).toBe(`${words} (https://k.example/x)`);
    }
    // The name of the real host within the words is no proof that they say where it leads.
    expect(html('[https://k.example.bank.example/](https://k.example/)')).toContain(
      '(https://k.example/)',
    );
    for (const words of ['https://nginx.org/en/', 'nginx.org/en/']) {
      const shown = markdown(`[${words}](https://nginx.org/en/)`);
      expect(shown).toEqual({
        text: words,
        html: `<p><a href="https://nginx.org/en/">${words}</a></p>`,
      });
    }
  });

  it('C17: a table becomes aligned lines, a wide one lines of head and value', () => {
    expect(markdown('| host | used |\n|---|---|\n| web-1 | 41 % |').text).toBe(
      'host   used\nweb-1  41 %',
    );
    const wide = markdown(`| host | note |\n|---|---|\n| web-1 | ${'long '.repeat(12)}|`);
    expect(wide.text.startsWith('host: web-1\nnote: long')).toBe(true);
  });

  it('takes time in line with its length', () => {
    const spent = cpuMs(() => {
      for (const bad of [
        '*',
        '_',
        '**',
        '[',
        '[a](',
        '`',
        '~~',
        '> ',
        '|',
        '|-',
        '1. ',
        '- ',
        '#',
      ]) {
        expect(allowedTags(html(bad.repeat(8_000)))).toEqual([]);
      }
    });
    expect(spent).toBeLessThan(5_000);
  });
});
