import type { ModelTool } from '../agent/model/types.ts';
import type { BadCall, ReadyCall, Tool } from './tool.ts';

/** The tools that the agent has, in the fixed order in which the model is told about them. */
export class ToolRegistry {
  readonly #tools: ReadonlyMap<string, Tool>;
  /** For the model. The same object every time: it is part of the prefix that providers cache. */
  readonly forModel: readonly ModelTool[];

  /** Throws when two tools have one name: that is a fault of the program. */
  constructor(tools: readonly Tool[]) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    if (this.#tools.size !== tools.length) throw new Error('two tools have the same name');
    this.forModel = tools.map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    }));
  }

  /** The tool of that name. */
  find(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** Reads a call as the model wrote it. A bad one says what is wrong and what there is instead. */
  prepare(
    name: string,
    args: string,
  ): BadCall | ReadyCall<'read'> | ReadyCall<'task'> | ReadyCall<'change'> {
    const tool = this.#tools.get(name);
    if (tool === undefined) {
      return {
        ok: false,
        problem: `There is no tool "${name}". There are: ${[...this.#tools.keys()].join(', ')}.`,
      };
    }
    const parsed = parseArguments(args);
    if (parsed === undefined) {
      return { ok: false, problem: `The arguments of ${name} are not JSON. Send one JSON object.` };
    }
    return tool.prepare(parsed.value);
  }
}

/** The arguments' text as a value; nothing at all counts as no arguments. Undefined if it is not JSON. */
export function parseArguments(text: string): { value: unknown } | undefined {
  if (text.trim() === '') return { value: {} };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    // The caller tells the model.
    return undefined;
  }
}
