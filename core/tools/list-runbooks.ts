import { z } from 'zod';
import { listRunbooks } from '../knowledge/runbooks.ts';
import { defineTool } from './tool.ts';

/** What runbooks there are (K10). */
export const listRunbooksTool = defineTool({
  name: 'list_runbooks',
  description:
    'The runbooks: tried ways to do what comes up often, with how often each was used and succeeded. Look here before you plan something of several steps, such as a new container, a full disk, upgrades or a certificate.',
  kind: 'read',
  input: z.strictObject({}),
  async handler({ db }) {
    const runbooks = await listRunbooks(db);
    return {
      ok: true,
      value: {
        count: runbooks.length,
        runbooks: runbooks.map(({ slug, title, summary, used, succeeded }) => ({
          name: slug,
          title,
          summary,
          ...(used === 0 ? {} : { used, succeeded }),
        })),
      },
    };
  },
});
