/** Private keys and password files that a program is handed which does more than read. */
import { destroys, shown } from '../model.ts';
import type { Call, Finding } from '../model.ts';
import { secrecyOf } from '../secrets.ts';

/** Programs that look after files without reading them, or that use a key for what it is there for. */
const KEEPS_KEYS =
  /^(chmod|chown|chgrp|setfacl|chattr|rm|unlink|mv|touch|mkdir|rmdir|ls|stat|test|\[|shred|ssh|ssh-add|ssh-copy-id|ssh-keygen|mosh|autossh|echo|printf|cd|nginx|certbot|age-keygen|restorecon|inotifywait)$/;
/** Options whose value is the key that a program works with. */
const KEY_OPTION =
  /^(-i|-I|-key|--key|--ssl-key|--tls-key|--private-key(-file)?|--identity(-file)?|--client-key|--keyfile|--key-file|--tls-?keyfile|-keyfile|--ssh-key|-out|-keyout|--out|-o|--output)$/;

/** A private key or password file among the words of a program that does more than read: it may read that as well. */
export function keysHandedTo(
  { name, args, input }: Call,
  directories: ReadonlySet<string>,
): Finding[] {
  if (KEEPS_KEYS.test(name)) return [];
  const words = args.flatMap((arg, at) => {
    const text = arg.guess || arg.value;
    const own =
      KEY_OPTION.test(args[at - 1]?.value ?? '') || KEY_OPTION.test(text.split('=')[0] ?? '');
    return own || text.length > 200 || /\s/.test(text)
      ? []
      : [text.replace(/^(-\w|[\w-]*=)?@?(?=[/~.])/, '')];
  });
  const lines = /^(cpio|tar|rsync|zip|pax|parallel)$/.test(name)
    ? input.texts.flatMap((text) => text.split(/\s+/))
    : [];
  return [...words, ...lines]
    .filter(
      (text) =>
        /[/.]/.test(text) && places(text, directories).some((path) => secrecyOf(path) === 'key'),
    )
    .map((text) => destroys(`${name} is handed a private key or password file: ${shown(text)}`));
}

/** A path as it is, and from every place that the command goes to. */
function places(path: string, directories: ReadonlySet<string>): string[] {
  return /^[/~]/.test(path)
    ? [path]
    : [path, ...[...directories].map((directory) => `${directory}/${path}`)];
}
