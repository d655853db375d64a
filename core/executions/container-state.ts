/** The command, for the Proxmox host, that shows how a container is now and how it is set up. */
export function containerStateCommand(pveId: number): string {
  return `pct status ${pveId} --verbose && echo && pct config ${pveId}`;
}

/** How a container is, by its own host's word. Figures as Proxmox gives them: bytes, seconds. */
export interface ContainerState {
  /** `running`, `stopped`, or another word of Proxmox's. */
  readonly status: string;
  readonly live: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, string>>;
}

/** Reads what the command printed; undefined if it is something else. */
export function readContainerState(output: string): ContainerState | undefined {
  const [first = '', ...rest] = output.split('\n\n');
  const { status, ...live } = pairs(first);
  if (status === undefined) return undefined;
  return { status, live, config: pairs(rest.join('\n')) };
}

function pairs(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const [, key, value] = /^([a-z][a-z0-9_.-]*): +(.*)$/i.exec(line) ?? [];
    if (key !== undefined && value !== undefined) found[key] = value.trim();
  }
  return found;
}
