/** Package managers of programming languages. */
import { changes } from '../model.ts';
import { sure } from './lenient.ts';
import { each, reads, verbs } from './rules.ts';
import type { Table } from './rules.ts';

/** Calls of npm that read what is installed. `outdated`, `view` and `audit` ask the registry and keep its answers. */
const NPM_ASKS =
  /^((-g|--global) )?(ls|list|la|ll|root|prefix|explain|why)( (-g|--global|-a|--all|-l|--long|--json|--parseable|--depth[= ]\d+|--omit=\w+|[@\w][\w@./-]*))*$/;

export const languages: Table = {
  ...each(
    'pip pip2 pip3',
    verbs({
      globals: '--version -V --disable-pip-version-check --no-color',
      read: {
        'list show freeze check': reads(
          '-olufev --outdated --local --user --format: --not-required --all --uptodate --verbose --files',
        ),
        '': reads('--version -V'),
      },
      inert: true,
    }),
  ),
  ...each(
    'pipx uv',
    verbs({ read: { list: reads('--short --json'), '': reads('--version -V') }, inert: true }),
  ),
  // Yarn and pnpm keep their own books of every call; npm does not in the pinned environment.
  ...each('npm pnpm yarn', {
    check: (call) =>
      /^(--version|-v)$/.test(sure(call)) || (call.name === 'npm' && NPM_ASKS.test(sure(call)))
        ? []
        : [changes(`${call.name} writes its logs or changes packages`)],
    inert: true,
  }),
  gem: verbs({
    read: {
      'list environment specification': reads('-lard --local --all --versions'),
      '': reads('--version -v'),
    },
    inert: true,
  }),
  cargo: verbs({ globals: '--version -V --list', read: { '': reads('') } }),
  go: verbs({ read: { version: reads('') } }),
};
