import { z } from 'zod';
import { answerSchema } from '../../core/api/json-schema.ts';
import type { Route } from '../../core/api/route.ts';
import { openRoutes, ROUTES } from '../../core/api/routes/index.ts';

interface Contract {
  route: Route;
  pattern: RegExp;
  answer: z.ZodType | undefined;
}

let contracts: Contract[] | undefined;

/**
 * Holds a successful answer against what the API's own description says that its route gives (H4): no field missing, none of
 * another type, none that is not described. Throws an Error that names the route and what is wrong.
 */
export function checkAnswer(method: string, path: string, body: unknown): void {
  contracts ??= [...openRoutes, ...ROUTES].map((route) => ({
    route,
    pattern: new RegExp(`^${route.path.replaceAll(/:\w+/g, '[^/]+')}/?$`),
    answer: fromSchema(route),
  }));
  const [bare = ''] = path.split('?');
  const found = contracts.find(
    ({ route, pattern }) => route.method.toUpperCase() === method && pattern.test(bare),
  );
  if (found === undefined) throw new Error(`${method} ${path} answered, but no route is described`);
  const checked = found.answer?.safeParse(body);
  if (checked?.success === false) {
    throw new Error(
      `${method} ${found.route.path} does not answer as described:\n${z.prettifyError(checked.error)}`,
    );
  }
}

function fromSchema({ answer }: Route): z.ZodType | undefined {
  return answer === undefined ? undefined : z.fromJSONSchema(answerSchema(answer, { exact: true }));
}
