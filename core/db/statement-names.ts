/** A text gets a name once it was asked for so often: what is asked for once gains nothing from being prepared. */
const NAMED_FROM = 3;
/** Texts that have a name. Each costs every connection that uses it some 20 KB of PostgreSQL's memory. */
const NAMES = 300;
/** Texts that are counted on the way to a name; older ones are forgotten, so that memory stays flat (R13). */
const COUNTED = 1_000;

/**
 * Names for prepared statements, by their text. PostgreSQL parses and plans a statement with a name once for each connection, one without
 * a name each time, which is half of what a look-up by key costs. An empty name is none. A name is never given back: once all are taken,
 * what comes later runs without one.
 */
export function statementNames(): (query: { readonly sql: string }) => string {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= NAMES) return '';
    const count = (counts.get(sql) ?? 0) + 1;
    // A map keeps the order of insertion: taken out and put in again, this one is the newest.
    counts.delete(sql);
    if (count >= NAMED_FROM) {
      const name = `nomos_${names.size}`;
      names.set(sql, name);
      return name;
    }
    counts.set(sql, count);
    const oldest = counts.keys().next();
    if (counts.size > COUNTED && oldest.done === false) counts.delete(oldest.value);
    return '';
  };
}
