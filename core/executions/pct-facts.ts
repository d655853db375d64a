import { z } from 'zod';
import { STORAGE_NAME, TEMPLATE_ID } from './pct-create.ts';

/** Numbers of all guests of the cluster, on whichever node, running or not. */
export const GUESTS_COMMAND = 'pvesh get /cluster/resources --type vm --output-format json';
/** The next free number, by the cluster's own rules. */
export const NEXT_ID_COMMAND = 'pvesh get /cluster/nextid';
/** The storages that can hold templates. */
export const TEMPLATE_STORAGES_COMMAND = 'pvesm status --content vztmpl';

/** The templates on these storages. */
export function templatesCommand(storages: readonly string[]): string {
  return storages.map((storage) => `pveam list ${storage}`).join('; ');
}

const guests = z.array(z.looseObject({ vmid: z.int().positive() }));

/** The numbers that are taken, from what `GUESTS_COMMAND` printed; undefined if that is something else. */
export function takenIds(printed: string): ReadonlySet<number> | undefined {
  try {
    return new Set(guests.parse(JSON.parse(printed)).map(({ vmid }) => vmid));
  } catch {
    // Not JSON, or other JSON: the caller says what the host answered.
    return undefined;
  }
}

/** The number that `NEXT_ID_COMMAND` printed; undefined if it printed none. */
export function nextId(printed: string): number | undefined {
  const [, digits] = /^"?(\d{3,9})"?\s*$/.exec(printed.trim()) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The active storages, from what `TEMPLATE_STORAGES_COMMAND` printed. */
export function storagesOf(printed: string): string[] {
  return printed
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([name = '', , status]) => status === 'active' && STORAGE_NAME.test(name))
    .map(([name = '']) => name);
}

/** The templates, from what `pveam list` printed for any number of storages. */
export function templatesOf(printed: string): string[] {
  return printed
    .split('\n')
    .map((line) => line.trim().split(/\s+/)[0] ?? '')
    .filter((name) => TEMPLATE_ID.test(name));
}

/** A number for a new container: the one that was asked for if it is free, else the next one from `next` on that is. */
export function chooseId(
  asked: number | undefined,
  facts: { taken: ReadonlySet<number>; reserved: ReadonlySet<number>; next: number },
): number {
  const free = (id: number): boolean => !facts.taken.has(id) && !facts.reserved.has(id);
  if (asked !== undefined && asked !== 0 && free(asked)) return asked;
  let id = facts.next;
  while (!free(id)) id += 1;
  return id;
}

/** How a template was found. `none` was asked for, or what was asked for is not there: `instead`. */
export interface ChosenTemplate {
  readonly template: string;
  readonly how: 'exact' | 'prefix' | 'newest' | 'instead';
}

const byVersion = new Intl.Collator('en', { numeric: true });

/**
 * A template for what was asked: that very one, else the newest whose name begins so, else the newest Debian, else the newest.
 * Undefined if the host has none at all.
 */
export function chooseTemplate(
  asked: string | undefined,
  there: readonly string[],
): ChosenTemplate | undefined {
  const wanted = asked?.toLowerCase();
  if (wanted !== undefined) {
    const exact = there.find((id) => names(id).includes(wanted));
    if (exact !== undefined) return { template: exact, how: 'exact' };
    const begun = newest(there.filter((id) => names(id).some((name) => name.startsWith(wanted))));
    if (begun !== undefined) return { template: begun, how: 'prefix' };
  }
  const template = newest(there.filter((id) => /^debian-\d/i.test(fileOf(id)))) ?? newest(there);
  return template === undefined
    ? undefined
    : { template, how: asked === undefined ? 'newest' : 'instead' };
}

/** The plain system of the highest version; appliances (`…-turnkey-…`) only where there is nothing else. */
function newest(among: readonly string[]): string | undefined {
  const plain = among.filter((id) => !/-turnkey-/i.test(fileOf(id)));
  return (plain.length > 0 ? plain : among).toSorted((a, b) =>
    byVersion.compare(fileOf(b), fileOf(a)),
  )[0];
}

const fileOf = (id: string): string => id.slice(id.indexOf('/') + 1);

// As people and models write it: with the storage, with or without the folder, or the file alone.
function names(id: string): string[] {
  const file = fileOf(id);
  const storage = id.slice(0, id.indexOf(':'));
  return [id, `${storage}:${file}`, file].map((name) => name.toLowerCase());
}
