import type { FoundNote } from '../../core/knowledge/queries.ts';
import { parseRunbook } from '../../core/knowledge/runbook-file.ts';
import { at, EXAMPLE_VIEW } from './example-state.ts';
import type { Example } from './examples.ts';
import { foundCard, newestCard, noteCard } from './knowledge.ts';
import { offerCard, runbookCard, runbooksCard } from './runbook.ts';

const NOTE: FoundNote = {
  id: 'a',
  title: 'nginx stops after a bad reload',
  kind: 'investigation',
  content:
    'The site `shop` named a certificate that was gone.\n\n- `nginx -t` says which\n- take the line out, then reload',
  tags: ['nginx', 'tls'],
  about: ['host:web-1', 'service:nginx@web-1'],
  sessionId: 'b',
  task: 'k7f3q',
  outcome: 'success',
  createdAt: at('14:00:00'),
  updatedAt: at('14:30:00'),
  snippet: 'The site shop named a certificate that was gone',
  whole: true,
};

const RUNBOOK = parseRunbook(
  `version: 1
title: The cache is well on {{target.name}}
summary: 'Learned: the same 2 changes made 3 tasks succeed, the last one task k7f3q.'
parameters:
  target: { type: entity, entity_types: [host], description: Where it is done., example: host:web-1 }
steps:
  - { title: Stop the cache, target: '{{target}}', run: systemctl stop cache }
  - { title: Start it anew, target: '{{target}}', run: rm -f /var/lib/cache/index && systemctl start cache }
`,
  'example',
  'the-cache-is-well-3f2a1b',
);

const LISTED = {
  title: RUNBOOK.title,
  summary: RUNBOOK.summary,
  origin: 'learned',
  updatedAt: at('14:30:00'),
};

/** The cards of knowledge and runbooks, each in its telling states. */
export function knowledgeExamples(): Example[] {
  const view = EXAMPLE_VIEW;
  return [
    { name: 'Knowledge: found', card: foundCard('nginx reload', [NOTE], view) },
    { name: 'Knowledge: nothing found', card: foundCard('volcano', [], view) },
    { name: 'Knowledge: the newest', card: newestCard([NOTE], 12, view) },
    { name: 'Knowledge: one note', card: noteCard(NOTE, view) },
    {
      name: 'Runbooks',
      card: runbooksCard([
        { ...LISTED, slug: 'free-disk-space', status: 'active', used: 4, succeeded: 3 },
        { ...LISTED, slug: RUNBOOK.slug, status: 'offered', used: 0, succeeded: 0 },
      ]),
    },
    { name: 'Runbook', card: runbookCard(RUNBOOK, 'active') },
    {
      name: 'Runbook: offered',
      card: offerCard(
        { runbook: RUNBOOK, status: 'offered', decidedBy: null, decidedAt: null },
        view,
      ),
    },
    {
      name: 'Runbook: kept',
      card: offerCard(
        {
          runbook: RUNBOOK,
          status: 'active',
          decidedBy: '@ann:example.org',
          decidedAt: at('15:04:12'),
        },
        view,
      ),
    },
  ];
}
