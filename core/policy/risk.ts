/** The four risk classes of a command (P1), from harmless to irreversible. The order is the order of strictness. */
export const RISKS = ['read_only', 'reversible_low', 'config_mutation', 'destructive'] as const;

/** One of the four risk classes; stored as this very word in the database, the API and the cards. */
export type Risk = (typeof RISKS)[number];

/** The stricter of two classes. A verdict is always combined with this, so it can only rise (P1). */
export function stricter(a: Risk, b: Risk): Risk {
  return RISKS.indexOf(a) >= RISKS.indexOf(b) ? a : b;
}

/** True when the text is the name of a risk class. */
export function isRisk(text: unknown): text is Risk {
  return typeof text === 'string' && (RISKS as readonly string[]).includes(text);
}
