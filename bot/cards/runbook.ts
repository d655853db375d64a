import type { RunbookFile } from '../../core/knowledge/runbook-file.ts';
import { openText } from '../../core/knowledge/runbook-template.ts';
import { allowedWords } from '../../core/knowledge/runbook-parameters.ts';
import type { RunbookListing } from '../../core/knowledge/runbooks.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { answerTo } from './replies.ts';
import { code, list, para, pre, rich, strong, type Rich } from './rich.ts';
import { clock, type View } from './view.ts';
import { count, label, nameOf, slug } from './words.ts';

/** What became of an offer. */
export interface OfferState {
  readonly runbook: RunbookFile;
  readonly status: string;
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
}

// The words around the commands give way, the commands never.
const TITLES = [120, 60, 20];

/**
 * A sequence that succeeded several times, offered as a runbook (K11); later what was decided. It shows every command whole: what
 * could not be shown is not offered.
 */
export function offerCard(offer: OfferState, view: View): Card {
  return fitting(TITLES.map((titles) => () => offerForm(offer, view, titles)));
}

function offerForm(offer: OfferState, view: View, titles: number): Card {
  const { runbook, status } = offer;
  const when = offer.decidedAt === null ? '' : `, ${clock(offer.decidedAt, view)}`;
  const by = nameOf(offer.decidedBy);
  const title = label(openText(runbook.title), titles);
  const head =
    status === 'offered'
      ? rich`📘 Keep this as a runbook? ${title}`
      : status === 'active'
        ? rich`📘 Runbook ${title}`
        : rich`🚫 No runbook: ${title}`;
  return cardOf([
    para(
      strong(head),
      status === 'offered'
        ? undefined
        : rich`${status === 'active' ? 'Kept' : 'Dropped'} by ${by}${when}`,
      rich`${label(runbook.summary, 300)}`,
    ),
    takes(runbook, 40),
    ...stepsOf(runbook, { steps: 40, characters: 8_000, titles }),
    status === 'offered'
      ? para(
          rich`Tap ✅ to keep it, ❌ to drop it. Kept, it can be proposed as a plan; each of its changes is asked for as always.`,
          rich`Or write ${code(`!runbooks approve ${runbook.slug}`)} or ${code(`!runbooks deny ${runbook.slug}`)}.`,
        )
      : undefined,
  ]);
}

/** All runbooks with how often each was used. */
export function runbooksCard(runbooks: readonly RunbookListing[]): Card {
  if (runbooks.length === 0) return answerTo(rich`There are no runbooks.`);
  const active = runbooks.filter(({ status }) => status === 'active');
  const offered = runbooks.filter(({ status }) => status === 'offered');
  return fitting(
    [60, 20, 6].map(
      (most) => () =>
        cardOf([
          para(strong(count(active.length, 'runbook'))),
          list(active.slice(0, most).map(line)),
          active.length > most ? para(rich`and ${active.length - most} more`) : undefined,
          offered.length === 0
            ? undefined
            : para(strong(rich`${offered.length} offered, waiting for your word`)),
          list(offered.slice(0, most).map(line)),
          para(
            rich`!runbooks and a name shows one. Ask for it in words: “free disk space on web-1”.`,
          ),
        ]),
    ),
  );
}

// How many steps and parameters one form of the card shows, and how much of each command.
const EXTENTS = [
  { steps: 40, parameters: 40, characters: 8_000 },
  { steps: 40, parameters: 40, characters: 400 },
  { steps: 12, parameters: 12, characters: 120 },
  { steps: 8, parameters: 6, characters: 40 },
];

/** One runbook: what it takes, and its steps. */
export function runbookCard(runbook: RunbookFile, status: string): Card {
  return fitting(
    EXTENTS.map(({ steps, parameters, characters }) => () => {
      const left = runbook.steps.length - steps;
      return cardOf([
        para(
          strong(rich`📘 ${label(openText(runbook.title), 100)}`),
          rich`${label(runbook.summary, 300)}`,
          status === 'offered' ? rich`Offered, and not decided yet.` : undefined,
        ),
        takes(runbook, parameters),
        ...stepsOf(runbook, { steps, characters }),
        left > 0 ? para(rich`and ${count(left, 'more step')}; the API has all of it`) : undefined,
      ]);
    }),
  );
}

function line({ slug: name, title, used, succeeded }: RunbookListing): Rich {
  const record = used === 0 ? '' : ` · used ${used}×, ${succeeded} succeeded`;
  return rich`${slug(name)} ${label(openText(title), 80)}${record}`;
}

function takes({ parameters }: RunbookFile, most: number): Rich | undefined {
  return list(
    Object.entries(parameters)
      .slice(0, most)
      .map(([name, parameter]) => {
        const otherwise =
          parameter.default === undefined ? 'needed' : `otherwise ${String(parameter.default)}`;
        return rich`${slug(name)} ${label(parameter.description, 120)} (${label(allowedWords(parameter), 80)}; ${label(otherwise, 60)})`;
      }),
  );
}

/** The steps, each with the command or the call that does it. */
function stepsOf(
  { steps }: RunbookFile,
  most: { steps: number; characters: number; titles?: number },
): Array<Rich | undefined> {
  return steps.slice(0, most.steps).flatMap((step, index) => {
    const where = step.target === undefined ? '' : ` · on ${label(openText(step.target), 60)}`;
    const head = para(
      rich`${index + 1}. ${label(openText(step.title), most.titles ?? 120)}${where}`,
    );
    if (step.run !== undefined) return [head, pre(cut(step.run, most.characters))];
    if (step.tool !== undefined) return [head, para(rich`calls ${slug(step.tool)}`)];
    return [head, step.detail === undefined ? undefined : para(rich`${label(step.detail, 300)}`)];
  });
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)} …`;
}
