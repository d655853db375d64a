import { z } from 'zod';
import { failed, networkTrouble, ok, warning, type Finding } from './finding.ts';

const TIMEOUT_MS = 15_000;
const SHOWN = 5;

const listShape = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

/** The model endpoint: reachable, takes the key, and has the models that are asked for. Nothing is generated. */
export async function checkModel(
  baseUrl: string,
  apiKey: string,
  models: readonly string[],
): Promise<Finding[]> {
  const name = 'model';
  let status: number;
  let text: string;
  try {
    const response = await fetch(`${baseUrl}/models`, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    status = response.status;
    text = await response.text();
  } catch (error) {
    return [
      failed(
        name,
        `${baseUrl}: ${networkTrouble(error)}`,
        'Check OPENAI_BASE_URL and that this machine may reach it.',
      ),
    ];
  }
  if (status === 401 || status === 403) {
    return [
      failed(
        name,
        `${baseUrl} refuses the key (${status})`,
        'OPENAI_API_KEY is wrong, expired, or for another endpoint than OPENAI_BASE_URL: make a new key there.',
      ),
    ];
  }
  const listed = status === 200 ? readList(text) : undefined;
  if (listed === undefined) {
    return [
      warning(
        name,
        `${baseUrl} answers ${status} and no list of models`,
        'Some endpoints have none. If the first task fails, check OPENAI_BASE_URL: it usually ends in /v1.',
      ),
    ];
  }
  const missing = models.filter((model) => !listed.includes(model));
  if (missing.length === 0) return [ok(name, `${models.join(', ')} at ${baseUrl}`)];
  const shown = listed.slice(0, SHOWN).join(', ');
  return [
    warning(
      name,
      `${baseUrl} does not list ${missing.join(', ')}`,
      `Check NOMOS_MODEL. It lists ${listed.length}: ${shown}${listed.length > SHOWN ? ' …' : ''}.`,
    ),
  ];
}

function readList(text: string): string[] | undefined {
  try {
    const parsed = listShape.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data.data.map((model) => model.id) : undefined;
  } catch {
    // No JSON: the answer of something else.
    return undefined;
  }
}
