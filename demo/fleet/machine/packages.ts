/** A package that is installed, and the newer version that the archive has, if there is one. */
export interface PackageSpec {
  readonly name: string;
  readonly version: string;
  readonly candidate?: string;
  readonly security?: boolean;
  readonly sizeKib?: number;
  /** Units that are restarted when it is upgraded. */
  readonly restarts?: readonly string[];
  readonly description?: string;
}

interface Installed {
  readonly spec: PackageSpec;
  version: string;
}

/** What a package manager knows on one machine. */
export class Packages {
  readonly #installed = new Map<string, Installed>();
  readonly #available = new Map<string, PackageSpec>();
  /** When the lists were last fetched, in milliseconds since 1970. */
  listsAtMs: number;

  constructor(specs: readonly PackageSpec[], available: readonly PackageSpec[], listsAtMs: number) {
    for (const spec of specs) this.#installed.set(spec.name, { spec, version: spec.version });
    for (const spec of available) this.#available.set(spec.name, spec);
    this.listsAtMs = listsAtMs;
  }

  /** Name and version of all that is installed, sorted by name. */
  list(): { name: string; version: string; spec: PackageSpec }[] {
    return [...this.#installed.values()]
      .map(({ spec, version }) => ({ name: spec.name, version, spec }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** What an upgrade would bring, sorted by name. */
  upgradable(): { name: string; from: string; to: string; spec: PackageSpec }[] {
    return this.list().flatMap(({ name, version, spec }) =>
      spec.candidate !== undefined && spec.candidate !== version
        ? [{ name, from: version, to: spec.candidate, spec }]
        : [],
    );
  }

  /** The installed version, or undefined. */
  version(name: string): string | undefined {
    return this.#installed.get(name)?.version;
  }

  /** What the archive has by that name: a newer version of an installed package, or a new one. */
  find(name: string): PackageSpec | undefined {
    return this.#installed.get(name)?.spec ?? this.#available.get(name);
  }

  /** Brings a package to its newest version. */
  upgrade(name: string): void {
    const installed = this.#installed.get(name);
    if (installed) installed.version = installed.spec.candidate ?? installed.version;
  }

  install(spec: PackageSpec): void {
    this.#installed.set(spec.name, { spec, version: spec.candidate ?? spec.version });
  }

  remove(name: string): boolean {
    const installed = this.#installed.get(name);
    if (installed) this.#available.set(name, { ...installed.spec, version: installed.version });
    return this.#installed.delete(name);
  }
}
