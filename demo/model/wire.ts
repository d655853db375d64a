import { z } from 'zod';

/** A chat request, as far as the demo model reads it. */
export const chatRequest = z.object({
  model: z.string().optional(),
  stream: z.boolean().optional(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
  messages: z
    .array(
      z.object({
        role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
        content: z.string().nullish(),
        tool_call_id: z.string().optional(),
        tool_calls: z
          .array(
            z.object({
              id: z.string(),
              function: z.object({ name: z.string(), arguments: z.string() }),
            }),
          )
          .nullish(),
      }),
    )
    .min(1),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).nullish(),
});

/** See `chatRequest`. */
export type ChatRequest = z.infer<typeof chatRequest>;

/** A call that the demo model makes. */
export interface WantedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What the demo model answers. */
export interface Reply {
  readonly text: string;
  readonly calls: readonly WantedCall[];
}

/** An answer in words. */
export function say(...lines: ReadonlyArray<string | undefined>): Reply {
  return { text: lines.filter((line) => line !== undefined).join('\n'), calls: [] };
}

/** An answer that makes calls. */
export function make(...calls: readonly WantedCall[]): Reply {
  return { text: '', calls };
}
