/** All tables of command families, looked up by a program's bare name. */
import type { Rule } from '../model.ts';
import { text } from './text.ts';
import { files } from './files.ts';

const programs: ReadonlyMap<string, Rule> = new Map(Object.entries({ ...text, ...files }));

/** The rule for a program, or undefined when no table names it. */
export function ruleFor(name: string): Rule | undefined {
  return programs.get(name);
}
