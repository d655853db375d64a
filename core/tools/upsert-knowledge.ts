import { z } from 'zod';
import { KNOWLEDGE_KINDS } from '../knowledge/queries.ts';
import { MAX_CONTENT, MAX_TAGS, MAX_TITLE, upsertKnowledge } from '../knowledge/upsert.ts';
import { defineTool } from './tool.ts';

/** Models write "nginx, tls" where a list is wanted. */
const commaList = (given: readonly string[]): string[] =>
  given.flatMap((one) => one.split(',')).flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));

/** Writes down what was found out (K6). */
export const upsertKnowledgeTool = defineTool({
  name: 'upsert_knowledge',
  description:
    'Writes a note for later tasks: what was wrong and why, what mended it, what to look out for. Take it at the end of a task that found out something which is not plain to see, before complete_task; a single fact about a machine goes into update_entity_attributes instead. The same title again updates that note: search_knowledge first, and keep the title. Needs no approval. No secrets: they are masked.',
  kind: 'task',
  input: z.strictObject({
    title: z
      .string()
      .trim()
      .min(3)
      .max(MAX_TITLE)
      .describe('Short and specific, such as "nginx fails to start after an OpenSSL upgrade".'),
    content: z
      .string()
      .trim()
      .min(1)
      .max(MAX_CONTENT)
      .describe(
        'Markdown, for somebody who meets it for the first time: symptom, cause, what was done with the exact commands, what to check.',
      ),
    kind: z
      .enum(KNOWLEDGE_KINDS)
      .default('investigation')
      .describe(
        'investigation: what was found; document: how something is; runbook: how something is done.',
      ),
    tags: z
      .array(z.string())
      .max(50)
      .transform(commaList)
      .optional()
      .describe(`Up to ${MAX_TAGS} words.`),
    about: z
      .array(z.string())
      .max(100)
      .transform(commaList)
      .default([])
      .describe('Slugs of what it is about: one or many. They show it in get_entity_knowledge.'),
  }),
  entity: ({ about }) => about[0],
  entities: ({ about }) => about,
  async handler({ unit, sessionId }, args) {
    const written = await upsertKnowledge(unit, { sessionId, by: 'agent', ...args });
    const { title, added, linked, unknown, ambiguous } = written;
    return {
      ok: true,
      value: {
        title,
        result: added ? 'written' : 'updated the note of this title',
        about: linked,
        ...(unknown.length === 0
          ? {}
          : {
              unknown,
              hint: 'No entity is called that, so it is not linked there. list_entities shows what there is; the same title again with the right slug links it.',
            }),
        ...(ambiguous.length === 0 ? {} : { ambiguous }),
        ...(title === args.title.trim() && !title.includes('[masked]')
          ? {}
          : { note: 'The title is stored as shown here.' }),
      },
      ...(linked[0] === undefined ? {} : { entity: linked[0] }),
    };
  },
});
