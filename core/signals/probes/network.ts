import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type { CheckParameters } from '../check-kinds.ts';
import { errorText } from '../../errors.ts';
import { failed, type Observation } from './observation.ts';

/** So much of an answer is read to look for a text in it. */
const MAX_ANSWER_BYTES = 256 * 1024;
const DAY_MS = 24 * 3_600_000;

/** Whether a port takes connections, and how long that took. Never rejects. */
export async function tcpProbe(
  to: { address: string; port: number },
  signal: AbortSignal,
): Promise<Observation> {
  const began = performance.now();
  try {
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host: to.address, port: to.port, signal }, resolve);
      socket.on('error', reject);
      socket.once('connect', () => socket.destroy());
    });
  } catch (error) {
    return failed(`${to.address}:${to.port}: ${reason(error, signal)}`);
  }
  const ms = Math.round(performance.now() - began);
  return {
    status: 'ok',
    value: ms,
    detail: `${to.address}:${to.port} takes connections`,
    metrics: [{ name: 'tcp.ms', value: ms }],
  };
}

/** Asks a web address once, without following redirects. Never rejects. */
export async function httpProbe(
  wanted: CheckParameters & { kind: 'http' } & { url: string },
  signal: AbortSignal,
): Promise<Observation> {
  const began = performance.now();
  let got: { status: number; text: string };
  try {
    got = await answerOf(wanted, signal);
  } catch (error) {
    return failed(`no answer: ${reason(error, signal)}`);
  }
  const ms = Math.round(performance.now() - began);
  const metrics = [{ name: 'http.ms', value: ms }];
  const good =
    wanted.status === undefined
      ? got.status >= 200 && got.status < 400
      : wanted.status.includes(got.status);
  if (!good) return { status: 'fail', value: ms, detail: `answers ${got.status}`, metrics };
  if (wanted.contains !== undefined && !got.text.includes(wanted.contains)) {
    return {
      status: 'fail',
      value: ms,
      detail: `answers ${got.status}, but “${wanted.contains.slice(0, 60)}” is not in it`,
      metrics,
    };
  }
  return { status: 'ok', value: ms, detail: `answers ${got.status} in ${ms} ms`, metrics };
}

function answerOf(
  { url, contains, certificate }: CheckParameters & { kind: 'http' } & { url: string },
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      method: 'GET',
      agent: false as const,
      signal,
      headers: { 'user-agent': 'Nomos check' },
    };
    const target = new URL(url);
    const sent =
      target.protocol === 'https:'
        ? httpsRequest(target, { ...options, rejectUnauthorized: certificate === 'valid' })
        : httpRequest(target, options);
    sent.on('error', reject);
    sent.on('response', (response) => {
      const status = response.statusCode ?? 0;
      const chunks: Buffer[] = [];
      let bytes = 0;
      const done = (): void => {
        resolve({ status, text: Buffer.concat(chunks).toString('utf8') });
        sent.destroy();
      };
      response.on('error', reject);
      if (contains === undefined) return done();
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes >= MAX_ANSWER_BYTES) done();
      });
      response.on('end', done);
    });
    sent.end();
  });
}

/** How many days the certificate is good for that a server shows. Never rejects. */
export async function certificateProbe(
  to: { address: string; port: number; warn: number; fail: number },
  signal: AbortSignal,
  now: () => number = Date.now,
): Promise<Observation> {
  let ends: number;
  try {
    ends = await validTo(to, signal);
  } catch (error) {
    return failed(`${to.address}:${to.port}: ${reason(error, signal)}`);
  }
  const days = Math.floor((ends - now()) / DAY_MS);
  const until = new Date(ends).toISOString().slice(0, 10);
  return {
    status: days <= to.fail ? 'fail' : days <= to.warn ? 'warn' : 'ok',
    value: days,
    detail: days < 0 ? `ended on ${until}` : `good for ${days} days, until ${until}`,
    metrics: [{ name: 'certificate.days', value: days }],
  };
}

function validTo(to: { address: string; port: number }, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = tlsConnect({
      host: to.address,
      port: to.port,
      // One that nobody vouches for has an end all the same; nothing is sent over it.
      rejectUnauthorized: false,
      ...(isIP(to.address) === 0 ? { servername: to.address } : {}),
    });
    const stop = (): void => void socket.destroy(new Error('stopped'));
    signal.addEventListener('abort', stop, { once: true });
    socket.on('close', () => signal.removeEventListener('abort', stop));
    socket.on('error', reject);
    socket.once('secureConnect', () => {
      const ends = Date.parse(socket.getPeerCertificate().valid_to ?? '');
      socket.destroy();
      if (Number.isNaN(ends)) reject(new Error('it shows no certificate'));
      else resolve(ends);
    });
    if (signal.aborted) stop();
  });
}

function reason(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'no answer in time';
  const text = errorText(error);
  // Several addresses were tried: the words are in the parts.
  const parts: unknown[] = error instanceof AggregateError ? error.errors : [];
  return (text || parts.map(errorText).join('; ') || 'it cannot be reached').slice(0, 200);
}
