// The words that make a name a secret's when they stand last in it: DB_PASSWORD, clientSecret,
// api-key. "token_count" or "password_file" end in another word and name no secret.
const SECRET_WORDS = new Set(
  `password passwd passwort passphrase passcode pwd pw pass secret token apikey psk credential
  authtoken accesstoken refreshtoken secretkey privatekey presharedkey accesskey authkey passwordhash
  rootpw bindpw userpassword masterpassword sessionid`.split(/\s+/),
);
// A key is a secret by what stands before it; "public_key", "sort_key" and "cache_key" are none.
const KEY_KINDS = new Set(
  `api secret private access encryption encrypt decryption signing sign signature auth authentication master storage
  account app jwt hmac crypto session service deploy license preshared shared account admin root
  client recovery unlock cluster gossip webhook ssh wg data`.split(/\s+/),
);
// Endings that leave a secret a secret.
const ENDINGS = new Set(
  'hash hashed value plain plaintext base64 b64 base hex raw old new current prev previous confirm confirmation repeat string text data encrypted'.split(
    ' ',
  ),
);

/** Longest name that is looked at, in characters. */
export const LONGEST_NAME = 80;

const judged = new Map<string, boolean>();

/**
 * Whether the name of a variable, option or field says that its value is a secret. Words are told
 * apart by punctuation and by capitals: `DB_PASSWORD`, `clientSecret`, `api-key`.
 */
export function isSecretName(name: string): boolean {
  let secret = judged.get(name);
  if (secret === undefined) {
    secret = judge(name);
    // The same few names fill a log; any number of names must not fill the memory.
    if (judged.size >= 2000) judged.clear();
    judged.set(name, secret);
  }
  return secret;
}

function judge(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.replace(/\d+$/, ''))
    .filter((word) => word !== '');
  while (words.length > 1 && ENDINGS.has(words.at(-1) ?? '')) words.pop();
  const last = words.at(-1) ?? '';
  const before = words.at(-2);
  // PWD is the working directory, unless something stands before it: DB_PWD.
  if (last === 'pwd' || last === 'pw') return before !== undefined && before !== 'old';
  if (last === 'key') return before !== undefined && KEY_KINDS.has(before);
  if (last === 'base') return before === 'key';
  // PGPASSWORD, MYSQLPASS and the like are written in one piece.
  return (
    SECRET_WORDS.has(last) ||
    /(?:password|passwd|passphrase|apikey|secretkey|authtoken|(?:smtp|imap|mail|ldap|bind|db|root|admin|user|proxy|ftp|http|mysql|pg)pass)$/.test(
      last,
    )
  );
}

// What stands in a secret's place without being one: switches, states, placeholders, variables.
const NO_SECRET =
  /^(?:true|false|yes|no|on|off|y|n|none|null|nil|undefined|unset|set|empty|hidden|redacted|required|optional|requisite|sufficient|include|prompt|ask|auto|default|never|always|enabled|disabled|expired|invalid|valid|missing|denied|incorrect|changed|unchanged|updated|ok|failed|error|unknown|string|value|file|env|password|token|secret|basic|bearer|[~^]\d[\w.+-]*|\d{0,3}|x{1,8}|\*{1,16}|\.{2,8}|-{1,8}|<[^<>]{0,64}>|\{\{.*|\[masked\]?|\$\{?[a-z_]\w*\}?|\$\(.*|`.*|%\(.*|%[a-z_]+%|&[a-z].*|[|>][+-]?)$/i;

/** Options that switch something on or off, or show or make a secret; no value follows them. */
const SWITCH =
  /^-{1,2}(?:no|ask|show|list|print|get|generate|gen|new|reset|rotate|require|use|with|without|prompt|hide|allow|enable|disable|skip|verify|force)(?:-|$)/;

/** Whether an option with a secret's name takes its value in the next word: `--password x`. */
export function takesSecret(option: string): boolean {
  return /^--?[A-Za-z]/.test(option) && !SWITCH.test(option) && isSecretName(option);
}

/** Whether a value shows no secret although its name says so: `${VAR}`, `<password>`, `required`. */
export function isNoSecret(value: string): boolean {
  return value === '' || NO_SECRET.test(value);
}
