import { cutLabel } from '../text/label.ts';

const TITLE_CHARACTERS = 60;
/** A first sentence shorter than this says too little to stand alone. */
const LEAST_CHARACTERS = 4;
/** So much of an answer is looked at: the title is at its beginning or nowhere. */
const READ_CHARACTERS = 4_000;

/** A whole line, or sentence, that only greets or agrees, or is a heading like any other. */
const GREETING =
  /^(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|hallo|guten (?:morgen|tag|abend)|moin|hola|buen[oa]s (?:d[ií]as|tardes|noches)|bonjour|bonsoir|salut|dear)\b[^.!?:,]{0,40}|(?:summary|overview|results?|report|answer|status|findings?|tl;dr|zusammenfassung|ergebnis)|(?:sure|certainly|of course|absolutely|ok(?:ay)?|alright|great|perfect|understood|got it|done|thanks?|thank you|no problem|happy to help|with pleasure)(?: (?:thing|question|you|to help))?)[\s.!,:;…—–-]*$/iu;
/** Words in front of what is said, up to their comma or the like. */
const OPENING =
  /^(?:(?:sure(?: thing)?|certainly|of course|absolutely|ok(?:ay)?|alright|all right|great|perfect|understood|got it|well|so|now|first|thanks|thank you|hi|hello|hey|hallo|hola|bonjour)(?:\s+\p{Lu}[\p{L}\d_-]*)?\s*[,.!:;…—–-]+\s+)/iu;
/** The writer speaking of what is done: what follows is what it is about. */
const LEAD_IN =
  /^(?:i['’]?ll|i will|i['’]?ve|i have|i['’]?m(?: now)? going to|i am(?: now)? going to|i['’]?m|i am|let me|let us|let['’]s|we['’]?ll|we will|here['’]?s|here is|here are|this is|these are|below is|below are|the following is)\s+(?:(?:now|first|just|go ahead and|start by|begin by|quickly|also)\s+)*/iu;
/** An end of a sentence, or a colon before what follows; a dot inside of a name, a number or `e.g.` is none. */
const SENTENCE_END =
  /(?<!\b(?:e\.g|i\.e|etc|vs|no|nr|z\.B|ca|approx))[.!?]+["”’)\]]*(?=\s|$)|[。！？]+|[:：](?=\s|$)|\s[—–]\s/iu;

/** An emoji or a bullet in front is no word. */
const BEFORE_WORDS = /^[^\p{L}\p{N}/~$"“(]+/u;

/**
 * A task's title, from its first answer (T8): the first sentence that says something, without greeting, lead-in and marks of
 * markdown, at most 60 characters. "Sure! I'll check the disks on all hosts." gives "Check the disks on all hosts". Undefined
 * where the answer has no such sentence, or only says the request again, word for word.
 */
export function titleFrom(answer: string, request?: string): string | undefined {
  for (const line of plainLines(answer)) {
    const title = titleOfLine(line);
    if (title === undefined) continue;
    return request !== undefined && sameWords(title, request) ? undefined : title;
  }
  return undefined;
}

/** The lines of an answer that hold words, without the marks of markdown. */
function* plainLines(text: string): Generator<string> {
  let fenced = false;
  for (const line of text.slice(0, READ_CHARACTERS).split('\n')) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      fenced = !fenced;
      continue;
    }
    // Code and tables are what is talked about, not the talk.
    if (fenced || /^\s*\|/.test(line)) continue;
    const plain = line
      .replace(/^(?:\s*(?:#{1,6}|[-*+>]|\d+[.)])\s+)+/, '')
      .replace(/\[([^\]\n]{1,200})\]\([^)\s]{1,2000}\)/g, '$1')
      .replace(/\*\*|__|~~|`+/g, '')
      .replace(/(?<![\w*])[*_](\S[^*_\n]{0,300}?)[*_](?![\w*])/g, '$1')
      .trim();
    if (/[\p{L}\p{N}]/u.test(plain)) yield plain;
  }
}

function titleOfLine(line: string): string | undefined {
  let rest = line;
  while (rest !== '') {
    const [sentence, behind] = firstSentence(rest);
    const bare = sentence.replace(BEFORE_WORDS, '').trim();
    const said = withoutLead(bare);
    if (!GREETING.test(bare) && [...said].length >= LEAST_CHARACTERS) {
      return cutLabel(capital(said), TITLE_CHARACTERS);
    }
    rest = behind;
  }
  return undefined;
}

function firstSentence(text: string): [sentence: string, behind: string] {
  const end = SENTENCE_END.exec(text);
  return end === null
    ? [text, '']
    : [text.slice(0, end.index), text.slice(end.index + end[0].length).trimStart()];
}

function withoutLead(sentence: string): string {
  let said = sentence;
  for (let before = ''; before !== said;) {
    before = said;
    said = said.replace(OPENING, '').replace(LEAD_IN, '');
  }
  return said.replace(/[\s,;:.…—–-]+$/u, '');
}

function capital(text: string): string {
  const first = /^\p{Ll}[\p{Ll}'’]*(?=[\s,]|$)/u.exec(text)?.[0];
  // A name such as `nginx` or `web-1` keeps its letters; so does a word that no one can tell from one.
  return first === undefined || PROPER.has(first)
    ? text
    : first.slice(0, 1).toUpperCase() + text.slice(1);
}

const PROPER: ReadonlySet<string> = new Set(
  'nginx sshd systemd apt dpkg docker podman zfs lvm pct qm postgres redis valkey grafana prometheus jellyfin nextcloud'.split(
    ' ',
  ),
);

function sameWords(a: string, b: string): boolean {
  const fold = (text: string): string =>
    text
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, ' ')
      .trim();
  return fold(a) === fold(b);
}
