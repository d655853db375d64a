import { z } from 'zod';

/** A text from outside that the database can hold: no NUL character and no half of a surrogate pair. */
export function plainText(maxLength: number) {
  return z
    .string()
    .max(maxLength, `at most ${maxLength} characters`)
    .refine((text) => !text.includes('\0'), 'a NUL character cannot be stored')
    .refine((text) => text.isWellFormed(), 'half of a surrogate pair is no valid text');
}

/** As `plainText`, without white space around it, and not empty. */
export function words(maxLength: number) {
  return plainText(maxLength)
    .transform((text) => text.trim())
    .refine((text) => text !== '', 'it is empty');
}

/** A number in a query string: plain digits, nothing else that JavaScript would read as a number. */
export function count(bounds: { min: number; max: number }) {
  const allowed = `a whole number from ${bounds.min} to ${bounds.max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, allowed)
    .transform(Number)
    .refine((value) => value >= bounds.min && value <= bounds.max, allowed);
}
