import type { Mask } from '../executions/finish.ts';
import { isNoSecret, isSecretName } from '../executions/masking/names.ts';
import { isRowId } from '../ids.ts';

const MASKED = '[masked]';
/** A text shorter than this holds no secret and its name: `pw=abc` is one. */
const SHORTEST = 6;

/**
 * A copy of a value, fit for JSON, with the secrets masked in every text inside it (X9), and the whole of a text whose field
 * is named like a secret. Dates become ISO text, bigints numbers; ids of rows are left alone. Throws a TypeError for a bigint
 * that no JSON number can hold.
 */
export function maskDeep(value: unknown, mask: Mask): unknown {
  // A page says the same words many times: states, names, ids.
  const known = new Map<string, string>();
  return copy(value, (text) => {
    if (text.length < SHORTEST || isRowId(text)) return text;
    const masked = known.get(text) ?? mask(text);
    known.set(text, masked);
    return masked;
  });
}

function copy(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') return mask(value);
  if (typeof value === 'bigint') {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) throw new TypeError(`${value} is no JSON number`);
    return number;
  }
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => copy(item, mask));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      typeof item === 'string' && isSecretName(key) && !isNoSecret(item)
        ? MASKED
        : copy(item, mask),
    ]),
  );
}
