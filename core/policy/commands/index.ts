/** All tables of command families, looked up by a program's bare name. */
import type { Rule } from '../model.ts';
import { firewall } from './firewall.ts';
import { processes } from './processes.ts';
import { accounts } from './accounts.ts';
import { volumes } from './volumes.ts';
import { findTable } from './find.ts';
import { search } from './search.ts';
import { users } from './users.ts';
import { interfaces } from './interfaces.ts';
import { machines } from './machines.ts';
import { stores } from './stores.ts';
import { awkTable } from './awk.ts';
import { builtins } from './builtins.ts';
import { containers } from './containers.ts';
import { databases } from './databases.ts';
import { disks } from './disks.ts';
import { files } from './files.ts';
import { gitTable } from './git.ts';
import { http } from './http.ts';
import { keys } from './keys.ts';
import { kubernetes } from './kubernetes.ts';
import { more } from './more.ts';
import { network } from './network.ts';
import { packages } from './packages.ts';
import { proxmox } from './proxmox.ts';
import { sedTable } from './sed.ts';
import { servers } from './servers.ts';
import { services } from './services.ts';
import { shells } from './shells.ts';
import { system } from './system.ts';
import { text } from './text.ts';
import { wrappers } from './wrappers.ts';

const programs: ReadonlyMap<string, Rule> = new Map(
  [
    firewall,
    processes,
    accounts,
    volumes,
    findTable,
    search,
    users,
    interfaces,
    machines,
    stores,
    awkTable,
    builtins,
    containers,
    databases,
    disks,
    files,
    gitTable,
    http,
    keys,
    kubernetes,
    more,
    network,
    packages,
    proxmox,
    sedTable,
    servers,
    services,
    shells,
    system,
    text,
    wrappers,
  ].flatMap((table) => Object.entries(table)),
);

/** The rule for a program, or undefined when no table names it. `mkfs.*` stands for every file system. */
export function ruleFor(name: string): Rule | undefined {
  return programs.get(name) ?? (/^mkfs\.\w+$/.test(name) ? programs.get('mkfs') : undefined);
}
