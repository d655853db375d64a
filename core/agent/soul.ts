import { readFile, stat } from 'node:fs/promises';
import { ConfigurationError, errorText } from '../errors.ts';
import { log } from '../log.ts';

const MAX_CHARACTERS = 40_000;

/** The persona and rules (L8), read again when the file has changed. */
export class SoulFile {
  readonly #path: string;
  #text: string;
  #version: string;

  private constructor(path: string, text: string, version: string) {
    this.#path = path;
    this.#text = text;
    this.#version = version;
  }

  /** Reads the file. Throws a `ConfigurationError` when it is missing, empty or longer than 40 000 characters. */
  static async open(path: string): Promise<SoulFile> {
    try {
      const version = await versionOf(path);
      return new SoulFile(path, check(await readFile(path, 'utf8')), version);
    } catch (error) {
      throw new ConfigurationError(
        `Cannot use ${path} as the agent's persona: ${errorText(error)}`,
        {
          cause: error,
          hint: 'Set NOMOS_SOUL to a readable text file, or leave it out for SOUL.md.',
        },
      );
    }
  }

  /** The text now. After a bad edit it stays the last good one, with a line in the log. */
  async text(): Promise<string> {
    try {
      const version = await versionOf(this.#path);
      if (version !== this.#version) {
        this.#text = check(await readFile(this.#path, 'utf8'));
        this.#version = version;
        log.info({ path: this.#path }, 'the persona was read again');
      }
    } catch (error) {
      log.warn(
        { path: this.#path, error: errorText(error) },
        'the persona cannot be read; the last one stays',
      );
    }
    return this.#text;
  }
}

// Size and inode too: two edits within one tick of the file system's clock look alike by time alone.
async function versionOf(path: string): Promise<string> {
  const { mtimeMs, size, ino } = await stat(path);
  return `${mtimeMs}/${size}/${ino}`;
}

function check(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new Error('it is empty');
  if (trimmed.length > MAX_CHARACTERS)
    throw new Error(`it has more than ${MAX_CHARACTERS} characters`);
  return trimmed;
}
