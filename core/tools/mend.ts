type Schema = Readonly<Record<string, unknown>>;

const TRUE = new Set(['1', 'true', 'yes', 'y', 'on']);
const FALSE = new Set(['0', 'false', 'no', 'n', 'off']);

/**
 * Mends what models get slightly wrong about arguments, as far as the schema leaves no doubt (L3): numbers and booleans
 * given as text, 0/1/"yes" for a boolean, a number for a text, one item for a list, an object or list given as JSON text,
 * null for "not given", another letter case in a fixed choice. What it cannot mend it leaves for the check that follows.
 * `schema` is a JSON Schema.
 */
export function mend(value: unknown, schema: Schema): unknown {
  const choices = alternatives(schema);
  if (choices !== undefined) return mendAny(value, choices);
  if (Array.isArray(schema['enum'])) return mendEnum(value, schema['enum']);
  switch (schema['type']) {
    case 'object':
      return mendObject(value, schema);
    case 'array':
      return mendArray(value, schema);
    case 'integer':
    case 'number':
      return mendNumber(value);
    case 'boolean':
      return mendBoolean(value);
    case 'string':
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
    default:
      return value;
  }
}

function alternatives(schema: Schema): Schema[] | undefined {
  const listed = schema['anyOf'] ?? schema['oneOf'];
  return Array.isArray(listed) ? listed.filter(isRecord) : undefined;
}

// A list or object that was given as JSON text is what it says where one is taken; else the value as it is wins over any
// mending; else the first alternative that changes it into its own type.
function mendAny(value: unknown, choices: readonly Schema[]): unknown {
  const given = typeof value === 'string' ? parsed(value, isCompound) : undefined;
  const compound =
    given === undefined ? undefined : choices.find((choice) => hasType(given, choice));
  if (compound !== undefined) return mend(given, compound);
  if (choices.some((choice) => hasType(value, choice))) {
    const own = choices.find((choice) => hasType(value, choice));
    return own === undefined ? value : mend(value, own);
  }
  for (const choice of choices) {
    const mended = mend(value, choice);
    if (hasType(mended, choice)) return mended;
  }
  return value;
}

function hasType(value: unknown, schema: Schema): boolean {
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(value);
  switch (schema['type']) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === schema['type'];
  }
}

function mendEnum(value: unknown, allowed: readonly unknown[]): unknown {
  if (typeof value !== 'string' || allowed.includes(value)) return value;
  const folded = value
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');
  return allowed.find((item) => typeof item === 'string' && item.toLowerCase() === folded) ?? value;
}

function mendObject(value: unknown, schema: Schema): unknown {
  const given = typeof value === 'string' ? parsed(value, isRecord) : value;
  if (!isRecord(given)) return value;
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  // In an object with keys of the model's own choice a null says something.
  const open = isRecord(schema['additionalProperties']);
  const mended: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(given)) {
    if (item === null && !required.includes(key) && !open) continue;
    const property = properties[key];
    mended[key] = isRecord(property) ? mend(item, property) : item;
  }
  return mended;
}

function mendArray(value: unknown, schema: Schema): unknown {
  const items = isRecord(schema['items']) ? schema['items'] : {};
  let given = value;
  if (typeof value === 'string')
    given = parsed(value, Array.isArray) ?? (value.trim() === '' ? [] : [value]);
  else if (value !== null && value !== undefined && !Array.isArray(value)) given = [value];
  return Array.isArray(given) ? given.map((item) => mend(item, items)) : value;
}

function mendNumber(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[+-]?\d+(\.\d+)?\s*$/.test(value)) return value;
  return Number(value);
}

function mendBoolean(value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const word = String(value).trim().toLowerCase();
  if (TRUE.has(word)) return true;
  return FALSE.has(word) ? false : value;
}

function parsed<T>(text: string, is: (value: unknown) => value is T): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return is(value) ? value : undefined;
  } catch {
    // Not JSON: the text stays what it is.
    return undefined;
  }
}

function isCompound(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
