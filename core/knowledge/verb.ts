import {
  forEachChild,
  MAX_PARSED_LENGTH,
  parseShell,
  type SyntaxNode,
} from '../policy/shell/parse.ts';

/** What a command that tells no verb counts as. */
export const NO_VERB = 'script';

/** Set-up and words around the work itself. */
const ASIDE = new Set(
  'cd set export unset umask echo printf true false : test [ sleep wait exit local declare trap mkdir shopt alias'.split(
    ' ',
  ),
);

/** Programs that run another, and how many words of their own stand before it. */
const WRAPPERS: Readonly<Record<string, number>> = {
  sudo: 0,
  doas: 0,
  env: 0,
  nice: 0,
  ionice: 0,
  nohup: 0,
  time: 0,
  exec: 0,
  command: 0,
  stdbuf: 0,
  setsid: 0,
  timeout: 1,
  chroot: 1,
  flock: 1,
};
/** Options of wrappers that take the next word. */
const WITH_VALUE = /^-(?:u|g|n|c|s|k|C|h|p)$/;

/** Programs whose first word says what they do. */
const WITH_VERB = new Set(
  'systemctl service apt apt-get aptitude dpkg dnf yum pacman apk snap pct qm pvesh pveam pvesm zpool zfs docker podman kubectl helm git ip nmcli ufw nft certbot npm pip pip3 cargo rclone restic borg mc loginctl timedatectl hostnamectl resolvectl networkctl machinectl rabbitmqctl openssl nginx apachectl consul vault nomad ceph'.split(
    ' ',
  ),
);
/** Of these the second word says it: `docker compose up`. */
const WITH_TWO = new Set('compose container image volume network system'.split(' '));

/**
 * What a command does in one or two words (K11): `systemctl restart`, `apt-get upgrade`, `df`. Of several commands the last one that
 * does something counts, as what comes before prepares it. `script` for what cannot be told.
 */
export function verbOf(command: string): string {
  return verbIn(command, 0) ?? NO_VERB;
}

function verbIn(source: string, depth: number): string | undefined {
  if (source.length > MAX_PARSED_LENGTH || depth > 3) return undefined;
  const { script, fault } = parseShell(source);
  if (fault !== undefined) return undefined;
  let found: string | undefined;
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Command') {
      const words = [node.name, ...node.suffix].flatMap((word) =>
        word !== undefined && word.type === 'Word' ? [word.value] : [],
      );
      found = verbOfWords(words, depth) ?? found;
      return;
    }
    // The first of a pipe is what is done; the rest makes its output fit to read.
    if (node.type === 'Pipeline') {
      const [first] = node.commands;
      if (first !== undefined) visit(first);
      return;
    }
    forEachChild(node, visit);
  };
  visit(script);
  return found;
}

function verbOfWords(given: readonly string[], depth: number): string | undefined {
  let words = [...given];
  for (let rounds = 0; rounds < 6; rounds++) {
    const program = words[0]?.split('/').at(-1) ?? '';
    const own = WRAPPERS[program];
    if (own === undefined) break;
    words = afterOptions(words.slice(1), own);
  }
  const program = words[0]?.split('/').at(-1) ?? '';
  if (!/^[A-Za-z0-9_.+-]{1,40}$/.test(program) || ASIDE.has(program)) return undefined;
  if (/^(?:ba|da|a|z|k)?sh$/.test(program)) {
    const at = words.findIndex((word) => /^-[a-z]*c$/.test(word));
    const inner = at < 0 ? undefined : words[at + 1];
    return (inner === undefined ? undefined : verbIn(inner, depth + 1)) ?? NO_VERB;
  }
  if (/^(?:pct|docker|podman|kubectl|lxc-attach)$/.test(program) && words.includes('exec')) {
    const inner = innerOf(words);
    if (inner.length > 0) return verbOfWords(inner, depth + 1) ?? NO_VERB;
  }
  if (!WITH_VERB.has(program)) return program;
  const verbs = words.slice(1).filter((word) => /^[a-z][a-z-]{0,30}$/.test(word));
  const [verb, more] = verbs;
  if (verb === undefined) return program;
  return WITH_TWO.has(verb) && more !== undefined
    ? `${program} ${verb} ${more}`
    : `${program} ${verb}`;
}

/** What stands behind a wrapper's options, assignments and own words. */
function afterOptions(words: readonly string[], own: number): string[] {
  let at = 0;
  while (at < words.length) {
    const word = words[at] ?? '';
    if (word === '--') {
      at += 1;
      break;
    }
    if (WITH_VALUE.test(word)) at += 2;
    else if (word.startsWith('-') || /^\w+=/.test(word)) at += 1;
    else break;
  }
  return words.slice(at + own);
}

/** `pct exec 101 -- df -h`, `docker exec -it web df -h`: the words that run inside. */
function innerOf(words: readonly string[]): string[] {
  const dashes = words.indexOf('--');
  if (dashes >= 0) return words.slice(dashes + 1);
  return afterOptions(words.slice(words.indexOf('exec') + 1), 1);
}
