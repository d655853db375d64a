/** All tables of command families, looked up by a program's bare name. */
import type { Rule } from '../model.ts';
import { archives } from './archives.ts';
import { accounts } from './accounts.ts';
import { awkTable } from './awk.ts';
import { builtins } from './builtins.ts';
import { clusters } from './clusters.ts';
import { containers } from './containers.ts';
import { copying } from './copying.ts';
import { databases } from './databases.ts';
import { disks } from './disks.ts';
import { files } from './files.ts';
import { findTable } from './find.ts';
import { firewall } from './firewall.ts';
import { gitTable } from './git.ts';
import { asksForHelp } from './help.ts';
import { http } from './http.ts';
import { interfaces } from './interfaces.ts';
import { keys } from './keys.ts';
import { kubernetes } from './kubernetes.ts';
import { languages } from './languages.ts';
import { machines } from './machines.ts';
import { more } from './more.ts';
import { network } from './network.ts';
import { packages } from './packages.ts';
import { processes } from './processes.ts';
import { proxmox } from './proxmox.ts';
import { runtimes } from './runtimes.ts';
import { search } from './search.ts';
import { sedTable } from './sed.ts';
import { servers } from './servers.ts';
import { services } from './services.ts';
import { shells } from './shells.ts';
import { stores } from './stores.ts';
import { system } from './system.ts';
import { text } from './text.ts';
import { tools } from './tools.ts';
import { users } from './users.ts';
import { volumes } from './volumes.ts';
import { wrappers } from './wrappers.ts';

const tables = [
  accounts,
  archives,
  awkTable,
  builtins,
  clusters,
  containers,
  copying,
  databases,
  disks,
  files,
  findTable,
  firewall,
  gitTable,
  http,
  interfaces,
  keys,
  kubernetes,
  languages,
  machines,
  more,
  network,
  packages,
  processes,
  proxmox,
  runtimes,
  search,
  sedTable,
  servers,
  services,
  shells,
  stores,
  system,
  text,
  tools,
  users,
  volumes,
  wrappers,
];

/** The rule of a program that is also asked for its version or its help. */
const answering = (rule: Rule): Rule => ({
  ...rule,
  check: (call, shell) => (asksForHelp(call) ? [] : rule.check(call, shell)),
});

const programs = new Map<string, Rule>();
for (const table of tables) {
  for (const [name, rule] of Object.entries(table)) {
    if (programs.has(name)) throw new TypeError(`two tables of command families name ${name}`);
    programs.set(name, answering(rule));
  }
}

/** The rule for a program, or undefined when no table names it. `mkfs.*` stands for every file system. */
export function ruleFor(name: string): Rule | undefined {
  return programs.get(name) ?? (/^mkfs\.\w+$/.test(name) ? programs.get('mkfs') : undefined);
}
