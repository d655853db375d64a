import { z } from 'zod';
import type { Reader } from '../../db/database.ts';
import { NotFoundError } from '../../errors.ts';
import { parseRunbook, RUNBOOK_SLUG } from '../../knowledge/runbook-file.ts';
import { allowedWords } from '../../knowledge/runbook-parameters.ts';
import { decideRunbook, listRunbooks, writeRunbook } from '../../knowledge/runbooks.ts';
import { act } from '../actor.ts';
import { plainText } from '../fields.ts';
import { ApiError } from '../problem.ts';
import { changeRoute, lookRoute, type Route } from '../route.ts';

const MAX_YAML = 64 * 1024;

const byName = z.strictObject({
  name: z
    .string()
    .regex(RUNBOOK_SLUG, 'no name of a runbook: lower-case letters, digits and -, at most 60')
    .meta({ examples: ['free-disk-space'] }),
});
const head = {
  name: z.string(),
  title: z.string(),
  summary: z.string(),
  origin: z.string().describe('`file`, or `learned` from what succeeded.'),
  status: z
    .string()
    .describe('`active`, `offered` (it waits for an operator’s word) or `refused`.'),
};
const one = z.object({
  ...head,
  parameters: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      takes: z.string(),
      default: z.union([z.string(), z.number(), z.boolean()]).nullable(),
      required: z.boolean(),
    }),
  ),
  yaml: z.string(),
  decidedBy: z.string().nullable(),
  decidedAt: z.date().nullable(),
  updatedAt: z.date(),
});

/** Runbooks (K10), and the word on one that was learned (K11). */
export const runbookRoutes: readonly Route[] = [
  lookRoute({
    path: '/api/v1/runbooks',
    tag: 'knowledge',
    summary: 'The runbooks, with how often each was used and succeeded',
    notes: 'Those that are offered and wait for an operator’s word are among them.',
    answer: z.object({
      runbooks: z.array(
        z.object({
          ...head,
          used: z.int().describe('Tasks in which it was proposed as a plan.'),
          succeeded: z.int(),
          updatedAt: z.date(),
        }),
      ),
    }),
    async handle({ deps }) {
      const rows = await listRunbooks(deps.database.read, { offered: true });
      return { runbooks: rows.map(({ slug, ...row }) => ({ name: slug, ...row })) };
    },
  }),
  lookRoute({
    path: '/api/v1/runbooks/:name',
    tag: 'knowledge',
    summary: 'One runbook: what it takes, and its YAML',
    params: byName,
    answer: one,
    problems: ['not_found'],
    handle: ({ deps, params }) => shown(deps.database.read, params.name),
  }),
  changeRoute({
    method: 'put',
    path: '/api/v1/runbooks/:name',
    tag: 'knowledge',
    summary: 'Write a runbook, new or in the place of the one of this name',
    notes:
      'It is checked as a file is. A change made here is kept when the files are loaded again.',
    scope: 'operate',
    role: 'approver',
    params: byName,
    body: z.strictObject({ yaml: plainText(MAX_YAML) }),
    answer: one,
    problems: ['file_invalid', 'decision_not_allowed'],
    async handle({ deps, params: { name }, body: { yaml }, actor }) {
      await act(deps.database, actor, { action: 'runbook.write', subject: name }, (unit) =>
        writeRunbook(unit, { slug: name, body: yaml, by: actor.operator.userId }),
      );
      return shown(deps.database.read, name);
    },
  }),
  changeRoute({
    method: 'post',
    path: '/api/v1/runbooks/:name/decision',
    tag: 'knowledge',
    summary: 'Keep or drop a runbook that is offered',
    scope: 'approve',
    params: byName,
    body: z.strictObject({ decision: z.enum(['approve', 'deny']) }),
    answer: one,
    problems: ['not_found', 'already_decided', 'decision_not_allowed'],
    async handle({ deps, params: { name }, body: { decision }, actor }) {
      const row = await deps.database.read.runbook.findUnique({ where: { slug: name } });
      if (row === null) throw new NotFoundError('runbook', name);
      const result = await act(
        deps.database,
        actor,
        { action: 'runbook.decision', subject: name },
        (unit) =>
          decideRunbook(unit, {
            id: row.id,
            verdict: decision,
            operator: actor.operator,
            means: 'api',
            eventId: `token:${actor.token}`,
          }),
      );
      if (result.kind === 'not_allowed') throw new ApiError('decision_not_allowed', result.why);
      if (result.kind === 'already') {
        throw new ApiError('already_decided', `It is ${result.status}, and not offered.`, {
          fields: { status: result.status, by: result.by, at: result.at },
        });
      }
      return shown(deps.database.read, name);
    },
  }),
];

async function shown(db: Reader, name: string): Promise<z.input<typeof one>> {
  const row = await db.runbook.findUnique({ where: { slug: name } });
  if (row === null) throw new NotFoundError('runbook', name);
  const { parameters } = parseRunbook(row.body, `runbook ${name}`, name);
  return {
    name,
    title: row.title,
    summary: row.summary,
    origin: row.origin,
    status: row.status,
    parameters: Object.entries(parameters).map(([key, parameter]) => ({
      name: key,
      description: parameter.description,
      takes: allowedWords(parameter),
      default: parameter.default ?? null,
      required: parameter.default === undefined,
    })),
    yaml: row.body,
    decidedBy: row.decidedBy,
    decidedAt: row.decidedAt,
    updatedAt: row.updatedAt,
  };
}
