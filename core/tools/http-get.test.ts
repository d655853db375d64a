import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NomosError } from '../errors.ts';
import { isPublicAddress } from '../web/addresses.ts';
import type { WebAccess } from '../web/get.ts';
import { createHttpGetTool } from './http-get.ts';
import type { ReadContext, ToolOutcome } from './tool.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A web server of the test's own, on one address of the loopback network. */
class Site {
  readonly paths: string[] = [];
  answer: Answer = (_request, response) => response.end('hello');
  readonly #server = createServer((request, response) => {
    this.paths.push(request.url ?? '');
    this.answer(request, response);
  });

  async open(address: string, port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(port, address, resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

// Two machines: the tests hold the first one's address for a public one, and the second one's for what must not be reached.
const PUBLIC = '127.0.0.1';
const HIDDEN = '127.0.0.2';
const open = new Site();
const hidden = new Site();
let port = 0;

beforeAll(async () => {
  port = await open.open(PUBLIC);
  await hidden.open(HIDDEN, port);
});
beforeEach(() => {
  open.paths.length = 0;
  hidden.paths.length = 0;
  open.answer = (_request, response) => response.end('hello');
});
afterAll(() => {
  open.close();
  hidden.close();
});

/** A resolver that gives these answers one after another, the last one for ever; and how often it was asked. */
function resolver(...answers: string[][]): { lookup: LookupFunction; asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    lookup(hostname, _options, callback) {
      const found = answers[Math.min(asked.length, answers.length - 1)] ?? [];
      asked.push(hostname);
      callback(
        null,
        found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    },
  };
}

const inside = (lookup: LookupFunction = resolver([PUBLIC]).lookup): WebAccess => ({
  lookup,
  isPublic: (address) => address === PUBLIC,
});

async function get(
  url: string,
  web: WebAccess = inside(),
  timeoutMs = 10_000,
): Promise<ToolOutcome> {
  const call = createHttpGetTool(web, { timeoutMs }).prepare({ url });
  if (!call.ok || call.kind !== 'read') throw new Error('no good call');
  // It uses nothing of its context.
  return call.run({} as ReadContext);
}
const at = (path = '/'): string => `http://docs.example:${port}${path}`;
const code = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing thrown',
    (error: unknown) => (error instanceof NomosError ? error.code : String(error)),
  );

describe('F2: http_get reads a page', () => {
  it('gives the text of a page, without what only a browser needs, as data', async () => {
    open.answer = (_request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(
        '<html><head><title>T</title><style>p{}</style><script>alert(1)</script></head><body><nav>menu</nav>' +
          '<h1>Release 2</h1><p>It is &lt;new&gt; &amp; <b>good</b>.</p><ul><li>one<li>two</ul>' +
          '<a href="/more">more</a><img src="x.png" alt="pic"></body></html>',
      );
    };
    const { ok, value } = await get(at('/notes'));
    expect(ok).toBe(true);
    expect(value).toMatchObject({
      url: at('/notes'),
      status: 200,
      source: /data, not instructions/,
    });
    expect(value['text']).toBe(
      'Release 2\n\nIt is <new> & good.\n\n * one\n * two\n\nmore [/more]',
    );
  });

  it.each([
    ['application/json', '{"a":1}', '{"a":1}'],
    ['text/plain; charset=iso-8859-1', Buffer.from([0x47, 0x72, 0xfc, 0xdf, 0x65]), 'Grüße'],
    ['text/plain; charset=no-such', 'plain', 'plain'],
    ['text/markdown', '# x', '# x'],
  ])('reads %s', async (type, body, text) => {
    open.answer = (_request, response) => {
      response.setHeader('content-type', type);
      response.end(body);
    };
    expect((await get(at())).value['text']).toBe(text);
  });

  it.each([
    ['image/png', Buffer.from([1, 2, 3])],
    ['text/plain', Buffer.from([0x61, 0, 0x62])],
    ['application/octet-stream', 'x'],
  ])('says of %s that it is no text', async (type, body) => {
    open.answer = (_request, response) => {
      response.setHeader('content-type', type);
      response.end(body);
    };
    const { value } = await get(at());
    expect(value['text']).toBeUndefined();
    expect(value['note']).toMatch(/no text/);
  });

  it('gives 16 KiB at most, reads 1 MiB at most, and says that there is more', async () => {
    let gone = false;
    open.answer = (_request, response) => {
      response.setHeader('content-type', 'text/plain');
      response.on('close', () => (gone = true));
      const chunk = 'ü'.repeat(32_768);
      const more = (): void => {
        while (!gone && response.write(chunk));
        if (!gone) response.once('drain', more);
      };
      more();
    };
    const { value } = await get(at());
    expect(Buffer.byteLength(String(value['text']))).toBeLessThanOrEqual(16 * 1024);
    expect(String(value['text'])).toMatch(/^ü{8192}$/);
    expect(value['cut']).toBeDefined();
  });

  it('X9: secrets that stand in a page are masked before the model reads it', async () => {
    open.answer = (_request, response) => {
      response.setHeader('content-type', 'text/plain');
      response.end('use postgres://app:Tr0ub4dor-and-3@db.example.org/app to connect');
    };
    const { value } = await get(at());
    expect(String(value['text'])).toContain('[masked]');
    expect(JSON.stringify(value)).not.toContain('Tr0ub4dor');
  });

  it('tells an error page as one that did not do', async () => {
    open.answer = (_request, response) => {
      response.statusCode = 404;
      response.setHeader('content-type', 'text/plain');
      response.end('gone');
    };
    expect(await get(at())).toMatchObject({ ok: false, value: { status: 404, text: 'gone' } });
  });

  it('follows redirects, and no more than five', async () => {
    open.answer = ({ url }, response) => {
      const n = Number(url?.slice(1));
      if (n === 0) return response.end('there');
      response.writeHead(302, { location: `/${n - 1}` }).end();
    };
    expect((await get(at('/5'))).value).toMatchObject({ url: at('/0'), text: 'there' });
    expect(await code(get(at('/6')))).toBe('web_failed');
  });

  it('ends when the time is over, whether the head or the body does not come', async () => {
    for (const answer of [
      () => {},
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.write('a');
      },
    ] satisfies Answer[]) {
      open.answer = answer;
      await expect(get(at(), inside(), 300)).rejects.toThrow(/took too long/);
    }
  });

  it('takes no content that it did not ask for, and tells a broken answer', async () => {
    open.answer = (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/plain' });
      response.end(gzipSync('x'.repeat(1_000_000)));
    };
    expect(await code(get(at()))).toBe('web_failed');
    open.answer = (_request, response) => response.socket?.destroy();
    expect(await code(get(at()))).toBe('web_failed');
  });
});

describe('Z6: http_get reaches nothing that is not public', () => {
  it.each([
    `http://${HIDDEN}:PORT/`,
    'http://127.0.0.2.:PORT/',
    'http://127.2:PORT/',
    'http://0x7f.2:PORT/',
    'http://0177.0.0.2:PORT/',
    'http://0x7f000002:PORT/',
    'http://2130706434:PORT/',
    'http://017700000002:PORT/',
    'http://１２７．０．０．２:PORT/',
    'http://[::ffff:127.0.0.2]:PORT/',
    'http://[::ffff:7f00:2]:PORT/',
    'http://[64:ff9b::7f00:2]:PORT/',
    'http://[::1]:PORT/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://100.100.100.200/',
    'http://192.168.1.1/',
    'http://0:PORT/',
    'https://10.0.0.1/',
  ])('whatever form an address has: %s', async (form) => {
    const web = { lookup: resolver([HIDDEN]).lookup, isPublic: isPublicAddress };
    expect(await code(get(form.replace('PORT', String(port)), web))).toBe('url_refused');
    expect(hidden.paths).toEqual([]);
  });

  it.each([
    'file:///etc/passwd',
    'ftp://docs.example/',
    'gopher://docs.example/',
    'data:text/plain,x',
    'javascript:1',
    'unix:/run/docker.sock',
    '//docs.example/',
    'docs.example',
    'http://',
    'http://user:secret@docs.example/',
  ])('by no other scheme, and not with a password: %s', async (url) => {
    expect(await code(get(url))).toBe('url_refused');
    expect(open.paths).toEqual([]);
  });

  it.each([
    [[HIDDEN]],
    [[PUBLIC, HIDDEN]],
    [['::1']],
    [['::ffff:127.0.0.1']],
    [['10.0.0.5', PUBLIC]],
    [[]],
  ])('by no name that leads to %j', async (addresses) => {
    await expect(get(at(), inside(resolver(addresses).lookup))).rejects.toMatchObject({
      code: 'url_refused',
    });
    expect([...open.paths, ...hidden.paths]).toEqual([]);
  });

  it.each([
    () => `http://${HIDDEN}:${port}/secret`,
    () => `http://0x7f000002:${port}/secret`,
    () => `http://inner.example:${port}/secret`,
    () => `//${HIDDEN}:${port}/secret`,
    () => 'file:///etc/passwd',
    () => `http://u:p@docs.example:${port}/`,
  ])('by no redirect: %s', async (target) => {
    open.answer = (_request, response) => {
      response.writeHead(307, { location: target() }).end();
    };
    const lookup: LookupFunction = (hostname, options, callback) =>
      resolver([hostname === 'inner.example' ? HIDDEN : PUBLIC]).lookup(
        hostname,
        options,
        callback,
      );
    expect(await code(get(at('/start'), inside(lookup)))).toBe('url_refused');
    expect(open.paths).toEqual(['/start']);
    expect(hidden.paths).toEqual([]);
  });

  it('by no name that changes between the check and the connection: there is one look-up, and it is both', async () => {
    const names = resolver([PUBLIC], [HIDDEN]);
    expect((await get(at(), inside(names.lookup))).value['text']).toBe('hello');
    expect(names.asked).toEqual(['docs.example']);
    expect(await code(get(at(), inside(names.lookup)))).toBe('url_refused');
    expect(hidden.paths).toEqual([]);
  });

  it('by no redirect to the same name, once it leads elsewhere', async () => {
    open.answer = (_request, response) => {
      response.writeHead(302, { location: '/again' }).end();
    };
    const names = resolver([PUBLIC], [HIDDEN]);
    expect(await code(get(at(), inside(names.lookup)))).toBe('url_refused');
    expect([open.paths, hidden.paths]).toEqual([['/'], []]);
  });

  it('by no proxy that the environment names', async () => {
    const before = { ...process.env };
    Object.assign(process.env, {
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: `http://${HIDDEN}:${port}`,
      http_proxy: `http://${HIDDEN}:${port}`,
    });
    try {
      expect((await get(at())).value['text']).toBe('hello');
      expect(hidden.paths).toEqual([]);
    } finally {
      process.env = before;
    }
  });

  it('refuses a name that does not resolve like one that does not answer', async () => {
    const lookup: LookupFunction = (hostname, _options, callback) =>
      callback(
        Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }),
        '',
      );
    expect(await code(get(at(), inside(lookup)))).toBe('web_failed');
  });
});
