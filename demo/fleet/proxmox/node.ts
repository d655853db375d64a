import type { Machine } from '../machine/machine.ts';
import type { Shell } from '../machine/shell.ts';

/** A container of the Proxmox look-alike. It runs while its machine is up. */
export interface Container {
  readonly id: number;
  readonly machine: Machine;
  readonly shell: Shell;
  /** The lines of `pct config`, in order. */
  readonly config: Map<string, string>;
  readonly snapshots: { readonly name: string; readonly atMs: number }[];
}

/** A virtual machine, which is only listed here: it has no shell of its own in the demo fleet. */
export interface VirtualMachine {
  readonly id: number;
  readonly name: string;
  readonly memoryMib: number;
  readonly diskGib: number;
  status: 'running' | 'stopped';
}

/** A storage of the node. */
export interface NodeStorage {
  readonly name: string;
  readonly type: string;
  readonly content: string;
  readonly totalKib: number;
  readonly usedKib: number;
}

/** How a new container comes to be; given by the fleet, which knows what a machine needs. */
export type MakeContainer = (
  id: number,
  hostname: string,
  address: string,
) => Pick<Container, 'machine' | 'shell'>;

/** What a Proxmox node knows beside being a machine. */
export class ProxmoxNode {
  readonly machine: Machine;
  readonly containers = new Map<number, Container>();
  readonly vms: readonly VirtualMachine[];
  readonly templates: readonly string[];
  readonly storages: readonly NodeStorage[];
  readonly make: MakeContainer;
  #leases = 0;

  constructor(
    machine: Machine,
    parts: Pick<ProxmoxNode, 'vms' | 'templates' | 'storages' | 'make'>,
  ) {
    this.machine = machine;
    this.vms = parts.vms;
    this.templates = parts.templates;
    this.storages = parts.storages;
    this.make = parts.make;
    machine.watch((up) => {
      for (const { machine: inner, config } of this.containers.values()) {
        if (!up) inner.halt();
        else if (config.get('onboot') === '1') inner.boot();
      }
    });
  }

  add(container: Container): void {
    this.containers.set(container.id, container);
  }

  /** The lowest number that neither a container nor a virtual machine has. */
  nextId(): number {
    const taken = new Set([...this.containers.keys(), ...this.vms.map(({ id }) => id)]);
    let id = 100;
    while (taken.has(id)) id += 1;
    return id;
  }

  isTaken(id: number): boolean {
    return this.containers.has(id) || this.vms.some((vm) => vm.id === id);
  }

  /** An address as the network's DHCP server would give. */
  lease(): string {
    this.#leases += 1;
    return `10.20.0.${100 + (this.#leases % 100)}`;
  }
}
