import { lookup as systemLookup } from 'node:dns';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { NomosError, errorText } from '../errors.ts';
import { isPublicAddress } from './addresses.ts';

const MAX_REDIRECTS = 5;
const MAX_URL = 2_000;

/** What stands between a request and the network; tests put their own in. */
export interface WebAccess {
  /** Every address of a name, as `dns.lookup` gives it. */
  readonly lookup: LookupFunction;
  isPublic(address: string): boolean;
}

/** The internet, and nothing else. */
export const publicWeb: WebAccess = {
  lookup: (hostname, options, callback) => systemLookup(hostname, { ...options }, callback),
  isPublic: isPublicAddress,
};

/** What came back, after redirects. */
export interface WebAnswer {
  /** Where it came from in the end. */
  readonly url: string;
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Whether there is more than was read. */
  readonly cut: boolean;
}

/**
 * Gets a page of the public internet (F2, Z6). Only addresses that `isPublic` names are connected to: each connection goes to an
 * address that was checked in the very look-up that it is made with, so that no name, redirect, form of an address or change
 * of a name in between leads elsewhere. Reads at most `maxBytes`; `signal` ends it.
 *
 * Throws `url_refused` for what must not be asked, `web_failed` for what did not answer.
 */
export async function getPage(
  web: WebAccess,
  address: string,
  options: { signal: AbortSignal; maxBytes: number },
): Promise<WebAnswer> {
  let url = readUrl(web, address);
  for (let redirects = 0; ; redirects++) {
    const answer = await ask(web, url, options);
    if (!isRedirect(answer.status) || answer.location === undefined) {
      const { status, contentType, body, cut } = answer;
      return { url: url.href, status, contentType, body, cut };
    }
    if (redirects === MAX_REDIRECTS) {
      throw new NomosError(
        'web_failed',
        'target',
        `${url.href} redirects more than ${MAX_REDIRECTS} times.`,
      );
    }
    const next = URL.parse(answer.location, url.href);
    if (next === null) {
      throw new NomosError('web_failed', 'target', `${url.href} redirects to what is no address.`);
    }
    url = readUrl(web, next.href);
  }
}

function refused(why: string): NomosError {
  return new NomosError('url_refused', 'model', why, {
    hint: 'http_get reads public http and https pages. For a machine of the fleet, run curl on it or on a neighbour.',
  });
}

/** Reads an address as browsers do, so that `http://0x7f.1` is what they would connect to, and refuses what is not public. */
function readUrl(web: WebAccess, address: string): URL {
  const url = address.length > MAX_URL ? null : URL.parse(address);
  if (url === null) throw refused(`"${address.slice(0, 200)}" is no address of a page.`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refused(`${url.protocol} is not read; only http: and https: are.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw refused('An address with a user name or a password in it is not read.');
  }
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  // A literal address is connected to without a look-up, so it is judged here.
  if (isIP(literal) !== 0 && !web.isPublic(literal))
    throw refused(`${literal} is not a public address.`);
  return url;
}

/** A look-up that gives only public addresses: what is connected to is what was checked. */
function checkedLookup(web: WebAccess): LookupFunction {
  return (hostname, options, callback) => {
    web.lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '');
      const addresses =
        typeof found === 'string' ? [{ address: found, family: isIP(found) }] : found;
      const hidden = addresses.find(({ address }) => !web.isPublic(address));
      // One address that is not public is enough: the name is not one of the public internet.
      if (hidden !== undefined || addresses.length === 0) {
        const why =
          hidden === undefined
            ? `${hostname} has no address.`
            : `${hostname} leads to ${hidden.address}, which is not a public address.`;
        return callback(refused(why), '');
      }
      const [first] = addresses;
      if (options.all === true) callback(null, addresses);
      else callback(null, first?.address ?? '', first?.family);
    });
  };
}

interface Raw extends Omit<WebAnswer, 'url'> {
  location: string | undefined;
}

async function ask(
  web: WebAccess,
  url: URL,
  { signal, maxBytes }: { signal: AbortSignal; maxBytes: number },
): Promise<Raw> {
  const secure = url.protocol === 'https:';
  // An agent of its own: no connection of an earlier request, and no proxy of the environment, takes the place of the checked one.
  const agent = secure ? new HttpsAgent() : new HttpAgent();
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = secure ? httpsRequest : httpRequest;
      const sent = send(url, {
        method: 'GET',
        agent,
        lookup: checkedLookup(web),
        signal,
        headers: {
          accept: 'text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5',
          'accept-encoding': 'identity',
          'user-agent': 'Nomos',
        },
      });
      sent.on('response', resolve);
      sent.on('error', reject);
      sent.end();
    });
    const body = isRedirect(response.statusCode ?? 0)
      ? undefined
      : await readBody(response, maxBytes);
    response.destroy();
    return {
      status: response.statusCode ?? 0,
      location: response.headers.location,
      contentType: response.headers['content-type'] ?? '',
      body: body?.bytes ?? Buffer.alloc(0),
      cut: body?.cut ?? false,
    };
  } catch (error) {
    throw failure(error, url, signal);
  } finally {
    agent.destroy();
  }
}

async function readBody(
  response: IncomingMessage,
  maxBytes: number,
): Promise<{ bytes: Buffer; cut: boolean }> {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new Error(`it sent "${encoding}" content though none was asked for`);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), cut: bytes > maxBytes };
}

function failure(error: unknown, url: URL, signal: AbortSignal): NomosError {
  if (error instanceof NomosError) return error;
  const why = signal.aborted ? 'it took too long' : errorText(error);
  return new NomosError('web_failed', 'target', `${url.origin} did not answer: ${why}.`);
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}
