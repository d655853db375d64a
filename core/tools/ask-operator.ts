import { z } from 'zod';
import { askQuestion } from '../tasks/questions.ts';
import { defineTool } from './tool.ts';

/** Puts a question to the operator and ends the pass (K5). */
export const askOperatorTool = defineTool({
  name: 'ask_operator',
  description:
    'Asks the operator a question that only a person can answer, and ends this pass; the answer wakes you. Not for permission to run a command: run asks for that by itself. Offer options where you can, so that one tap answers.',
  kind: 'task',
  endsPass: true,
  input: z.strictObject({
    prompt: z.string().trim().min(3).max(1000).describe('The question.'),
    why: z.string().trim().max(500).optional().describe('Why it matters, or what you found.'),
    options: z
      .array(z.string().trim().min(1).max(120))
      .max(9)
      .default([])
      .describe('Up to nine answers to choose from.'),
    entities: z.array(z.string()).max(20).default([]).describe('Slugs that it is about.'),
  }),
  entity: ({ entities }) => entities[0],
  entities: ({ entities }) => entities,
  async handler({ unit, sessionId, turnId, passId }, { prompt, why, options, entities }) {
    await askQuestion(unit, { sessionId, turnId, passId, prompt, why, options, entities });
    return { ok: true, value: { asked: prompt, note: 'The answer will wake you.' } };
  },
});
