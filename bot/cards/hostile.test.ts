import { describe, expect, it } from 'vitest';
import { byteLength } from '../../core/text/clip.ts';
import { answerCard, answerIsLong, callCard } from './answer.ts';
import { batchCard } from './batch.ts';
import type { Card } from './card.ts';
import { fits } from './card.ts';
import { digestCard } from './digest.ts';
import { errorCard } from './error.ts';
import {
  ANN,
  at,
  exampleApproval,
  exampleCall,
  exampleExecution,
  exampleRun,
  exampleTask,
  EXAMPLE_VIEW as view,
} from './example-state.ts';
import { executionCard } from './execution.ts';
import { turnRootCard } from './lobby.ts';
import { foundCard, newestCard, noteCard } from './knowledge.ts';
import { roomName } from './mark.ts';
import { planCard } from './plan.ts';
import { progressCard } from './progress.ts';
import { questionCard } from './question.ts';
import { heard, reminderCard } from './replies.ts';
import { offerCard, runbookCard, runbooksCard } from './runbook.ts';
import { signalCard, signalLine, signalStormCard, signalToldAgain } from './signal.ts';
import { exampleSignal } from './signal-examples.ts';
import { cardOf } from './card.ts';
import { list } from './rich.ts';
import { taskCard } from './task.ts';
import { allowedTags } from './test-html.ts';

const HOSTILE: ReadonlyArray<readonly [name: string, text: string]> = [
  ['HTML', '<img src=x onerror=alert(1)><a href="javascript:x">x</a></code></pre><table><tr><td>'],
  [
    'a room mention',
    '@room everybody <mx-reply>@ann:example.org</mx-reply> [ann](https://matrix.to/#/@ann:example.org)',
  ],
  ['direction overrides', 'rm \u202e-rf /\u202c and \u2066x\u2069'],
  ['zero-width characters', 'ap\u200bprove \u00ad\u2060\ufeff now'],
  ['entities', '&lt;b&gt; &amp;amp; &#60;'],
  ['quotes and backslashes', '\'"`\\"\'`$(x)'],
  ['NUL and controls', 'a\u0000b\u001b[31mred\u0007'],
  ['lone surrogates', 'a\ud800b\udc00'],
  ['64 KiB of letters', 'x'.repeat(65_536)],
  ['64 KiB of quotes', '"'.repeat(65_536)],
  ['64 KiB of ampersands', '&'.repeat(65_536)],
  ['64 KiB of hidden characters', '\u200b'.repeat(21_845)],
  ['10,000 lines', 'line\n'.repeat(10_000)],
  ['markdown that nests', '*'.repeat(5_000) + '> '.repeat(5_000) + '[[[['.repeat(5_000)],
  ['fences that never close', '```\n'.repeat(999)],
];

/** Every card with one text in all the places that text from outside can reach. */
function cardsWith(text: string): Array<[string, Card]> {
  const execution = {
    purpose: text,
    target: text,
    address: text,
    command: text,
    reasons: Array.from({ length: 30 }, () => text),
    blast: [{ names: Array.from({ length: 30 }, () => text), count: 99 }],
    tail: text,
    stdoutBytes: 65_536,
    error: text,
  };
  const denied = exampleApproval({
    status: 'denied',
    decidedBy: text,
    decidedAt: at('15:00:00'),
    reason: text,
  });
  const steps = Array.from({ length: 60 }, (_, index) => ({
    seq: index + 1,
    generation: 1,
    title: text,
    status: 'pending' as const,
  }));
  const link = { roomId: null, eventId: null };
  return [
    ['waiting', executionCard(exampleExecution(execution), view, { callFor: [ANN] })],
    ['running', executionCard(exampleRun(execution), view)],
    [
      'failed',
      executionCard(
        exampleRun({ ...execution, status: 'failed', exitCode: 1, endedAt: at('15:04:30') }),
        view,
      ),
    ],
    [
      'denied',
      executionCard(exampleExecution({ ...execution, status: 'denied', approval: denied }), view),
    ],
    [
      'batch',
      batchCard(
        {
          shortId: 'x',
          approval: exampleApproval(),
          executions: Array.from({ length: 40 }, (_, index) =>
            exampleExecution({ ...execution, command: `${index} ${text}` }),
          ),
        },
        view,
        [ANN],
      ),
    ],
    [
      'plan',
      planCard(
        {
          steps: steps.map((step) => ({ ...step, detail: step.title })),
          approval: exampleApproval(),
        },
        view,
      ),
    ],
    [
      'task',
      taskCard(
        exampleTask({
          title: text,
          summary: text,
          pausedReason: text,
          steps,
          waiting: Array.from({ length: 30 }, () => ({
            kind: 'approval' as const,
            label: text,
            target: text,
            risk: 'destructive' as const,
            until: null,
            link,
          })),
          running: Array.from({ length: 30 }, () => ({
            label: text,
            target: text,
            startedAt: null,
            link,
          })),
        }),
        view,
      ),
    ],
    [
      'progress',
      progressCard(
        {
          state: 'running',
          calls: Array.from({ length: 60 }, () =>
            exampleCall({ name: text, target: text, arguments: { purpose: text } }),
          ),
          startedAt: null,
          endedAt: null,
          stopRequestedBy: text,
        },
        view,
      ),
    ],
    ...knowledgeCards(text),
    ['heard', heard(text)],
    ['answer', answerCard({ text, growing: false })],
    ['growing answer', answerCard({ text, growing: true })],
    ['call', callCard(text, [ANN])],
    [
      'question',
      questionCard(
        {
          prompt: text,
          why: text,
          options: Array.from({ length: 40 }, () => text),
          entities: Array.from({ length: 40 }, () => text),
          status: 'open',
          answer: null,
          answeredBy: null,
          answeredAt: null,
        },
        view,
      ),
    ],
    [
      'error',
      errorCard(
        {
          message: text,
          hint: text,
          code: text,
          fault: text,
          taskState: text,
          retry: true,
          dealtWith: null,
        },
        view,
      ),
    ],
    [
      'digest',
      digestCard({
        shortId: 'x',
        title: text,
        status: 'done',
        outcome: 'partial',
        summary: text,
        byStatus: [],
        allowed: { byClass: 0, byGrant: 0, byApproval: 0, denied: 0 },
        entities: Array.from({ length: 99 }, () => text),
        knowledge: [text],
        durationMs: 1,
        passes: 1,
        toolCalls: 1,
        tokensIn: 1,
        tokensOut: 1,
        cost: 0,
        notes: [text],
      }),
    ],
    ...signalCards(text),
    ['turn root', turnRootCard({ text, by: text, origin: 'lobby' })],
    [
      'reminder',
      reminderCard({ shortId: 'x', label: text, target: text, risk: null, link }, null, view, [
        ANN,
      ]),
    ],
  ];
}

function knowledgeCards(text: string): Array<[string, Card]> {
  const note = {
    id: text,
    title: text,
    kind: 'document' as const,
    content: text,
    tags: Array.from({ length: 40 }, () => text),
    about: Array.from({ length: 40 }, () => text),
    sessionId: null,
    task: text,
    outcome: null,
    createdAt: at('15:00:00'),
    updatedAt: at('15:00:00'),
    snippet: text,
    whole: true,
  };
  const notes = Array.from({ length: 40 }, () => note);
  const runbook = {
    slug: text,
    title: text,
    summary: text,
    body: text,
    parameters: {
      target: { type: 'text' as const, description: text, max_length: 9, default: text },
    },
    steps: Array.from({ length: 40 }, () => ({ title: text, target: text, run: text })),
  };
  const listed = { slug: text, title: text, summary: text, origin: text, used: 9, succeeded: 1 };
  return [
    ['found', foundCard(text, notes, view)],
    ['newest', newestCard(notes, 99, view)],
    ['note', noteCard(note, view)],
    ['runbook', runbookCard(runbook, 'active')],
    [
      'runbooks',
      runbooksCard(
        Array.from({ length: 99 }, (_, index) => ({
          ...listed,
          status: index % 2 === 0 ? 'active' : 'offered',
          updatedAt: at('15:00:00'),
        })),
      ),
    ],
  ];
}

function signalCards(text: string): Array<[string, Card]> {
  const signal = exampleSignal({
    title: text,
    text,
    entity: text,
    labels: Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`${text.slice(0, 2_000)}${index}`, text]),
    ),
    url: text,
    changedBy: text,
    blast: [{ names: Array.from({ length: 30 }, () => text), count: 99 }],
    task: { shortId: text, roomId: null },
  });
  const many = Array.from({ length: 60 }, () => signal);
  return [
    ['signal', signalCard(signal, view, [ANN])],
    ['signal: muted', signalCard({ ...signal, state: 'muted' }, view, [ANN])],
    ['signal: acting', signalCard({ ...signal, state: 'acting' }, view, [ANN])],
    ['signal: resolved', signalCard({ ...signal, state: 'resolved' }, view, [ANN])],
    ['signal told again', signalToldAgain(signal)],
    ['signals', cardOf([list(many.slice(0, 10).map((one) => signalLine(one, view)))])],
    ['storm', signalStormCard({ first: many.slice(0, 12), open: 60, total: 99 }, view, [ANN])],
  ];
}

describe('C15, Z2: text from outside', () => {
  it.each(HOSTILE)('%s stays text on every card, calls nobody, and fits', (_, text) => {
    for (const [name, card] of cardsWith(text)) {
      expect([name, allowedTags(card.formatted_body)]).toEqual([name, []]);
      expect([name, card.mentions.every((user) => user === ANN)]).toEqual([name, true]);
      expect([name, hiddenIn(card.body), hiddenIn(card.formatted_body)]).toEqual([name, [], []]);
      expect([name, fits(card) || byteLength(JSON.stringify(card))]).toEqual([name, true]);
      expect(card.formatted_body).not.toContain('href="https://matrix.to/#/@');
    }
  });

  it('K11, C15: a runbook that is offered shows every command whole, at the largest that is offered', () => {
    // As `learn.ts` weighs them: 5,000 bytes in all, what must be escaped counts six times.
    for (const character of ['&', '"', 'x', 'ä']) {
      const each = Math.floor(5_000 / 12 / (character === 'x' ? 1 : character === 'ä' ? 2 : 6));
      const steps = Array.from({ length: 12 }, (_, index) => ({
        title: character.repeat(120),
        target: `{{target_${index + 1}}}`,
        run: character.repeat(each),
      }));
      const parameters = Object.fromEntries(
        steps.map((_, index) => [
          `target_${index + 1}`,
          { type: 'entity' as const, entity_types: ['host'], description: 'Where it is done.' },
        ]),
      );
      const title = character.repeat(100);
      const runbook = { slug: 'x', title, summary: 'y'.repeat(300), body: '', parameters, steps };
      const card = offerCard(
        { runbook, status: 'offered', decidedBy: null, decidedAt: null },
        view,
      );
      expect([character, fits(card) || byteLength(JSON.stringify(card))]).toEqual([
        character,
        true,
      ]);
      expect(card.body.split('\n').filter((line) => line === steps[0]?.run)).toHaveLength(12);
    }
  });

  it('T7: a room name is one line without hidden characters', () => {
    for (const [, text] of HOSTILE) {
      const name = roomName(exampleTask({ title: text }));
      expect(name).not.toMatch(/[\n\r]/);
      expect(hiddenIn(name)).toEqual([]);
      expect([...name].length).toBeLessThan(200);
    }
  });

  it('A16: a command that is too long says that it is attached, and shows none of its hidden parts as nothing', () => {
    const long = executionCard(
      exampleExecution({ command: `echo ${'x'.repeat(5_000)}; rm -rf /srv` }),
      view,
    );
    expect(long.body).toContain('attached whole as a file');
    const hidden = executionCard(exampleExecution({ command: 'rm\u200b -rf\u00a0/srv' }), view);
    expect(hidden.body).toContain('rm‹U+200B› -rf‹U+00A0›/srv');
  });

  it('C11: of a long output 12 lines and 1 KiB are shown', () => {
    const card = executionCard(exampleRun({ tail: 'line\n'.repeat(500) }), view);
    expect(card.body.match(/^line$/gm)).toHaveLength(12);
    const wide = executionCard(exampleRun({ tail: 'y'.repeat(9_000) }), view);
    expect(/y+/.exec(wide.body)?.[0].length).toBeLessThanOrEqual(1024);
  });

  it('C15: an answer that does not fit says that all of it is attached', () => {
    const text = 'word '.repeat(20_000);
    expect(answerIsLong(text)).toBe(true);
    expect(answerIsLong('short')).toBe(false);
    expect(answerCard({ text, growing: false }).body).toMatch(/attached as a file\.$/);
  });
});

function hiddenIn(text: string): string[] {
  return [
    ...text.matchAll(
      /[\u0000-\u0008\u000b-\u001f\u007f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    ),
  ].map((match) => `U+${match[0].charCodeAt(0).toString(16)}`);
}
