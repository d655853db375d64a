import { readIntent, type Intent } from '../../core/approvals/words/intent.ts';
import { whichFit } from '../../core/approvals/words/card-match.ts';
import { wordsOfCard, type WaitingApproval } from '../../core/approvals/waiting.ts';
import type { Question, Session } from '../../core/db/rows.ts';
import { asId, type TurnId } from '../../core/ids.ts';
import { partialAssent, whichOne, type WaitingName } from '../cards/replies.ts';
import { waitingName, waitingQuestion } from '../projector/waiting-name.ts';
import { answer, type HandlerContext } from './context.ts';
import { answerByWords, optionIn } from './question.ts';
import { assentToWords } from './spoken-plan.ts';
import { giveWord } from './verdict.ts';

/** What waits in a turn, and which of it words may approve. */
export interface TurnWaits {
  readonly session: Session;
  readonly turnId: TurnId;
  readonly approvals: readonly WaitingApproval[];
  readonly questions: readonly Question[];
  /** Something waits in the task that came only after the words at hand. */
  readonly newer: boolean;
  /** The pass that came last in the turn: words approve what it left waiting, and nothing older (A4). */
  readonly lastPassId: string | null;
}

/** What became of a message's words: they decided something (or were answered), or they are for the agent to read. */
export type WordsOutcome = 'dealt_with' | 'for_agent';

/**
 * Reads a message by the configured word lists (A5). What was spoken is never a typed confirmation (C16), and what came with a
 * file is for the agent: a caption decides nothing.
 */
export function intentOf(context: HandlerContext, text: string): Intent {
  if (carriesFile(context)) return NO_INTENT;
  const intent = readIntent(text, context.languages);
  return context.spoken === true ? { ...intent, confirm: false, confirmRest: '' } : intent;
}

/** Whether the message brings a picture or a file. */
export function carriesFile({ attachments }: HandlerContext): boolean {
  return attachments?.some(({ kind }) => kind !== 'voice') ?? false;
}

const NO_INTENT: Intent = readIntent('');

/** A message in a turn's thread, or one that counts for that turn (A4, A6, A17, T15). */
export async function wordsInTurn(
  context: HandlerContext,
  waits: TurnWaits,
  text: string,
): Promise<WordsOutcome> {
  const intent = intentOf(context, text);
  const { approvals, questions } = waits;
  if (approvals.length === 0) {
    if (questions.length === 0 && waits.newer) return 'for_agent';
    return questions.length === 0
      ? assentToWords(context, waits.session, text, intent, waits.turnId)
      : answerByWords(context, waits.session, questions, text, intent);
  }
  const decides = intent.assent || intent.denial;
  const option = questions.find((question) => optionIn(question, text) !== undefined);
  // "yes" may be meant for the question as well as for the command: ask.
  if (decides && questions.length > 0 && intent.bare && !intent.confirm) {
    return ask(context, waits, approvals, false, questions);
  }
  if (option !== undefined && !decides) {
    return answerByWords(context, waits.session, [option], text, intent);
  }
  if (intent.confirm) return confirmInTurn(context, waits, text, intent);
  if (intent.assent) return assentInTurn(context, waits, text, intent);
  if (intent.denial) return denyInTurn(context, waits, text, intent);
  if (intent.partial && !intent.question) {
    await answer(context, partialAssent(await namesOf(context, waits.session, approvals)), {
      turnId: waits.turnId,
    });
  }
  return 'for_agent';
}

/** A rich reply to the card of an approval: about that card alone (A4, A17). */
export async function wordsOnCard(
  context: HandlerContext,
  session: Session,
  approval: WaitingApproval,
  text: string,
): Promise<WordsOutcome> {
  const intent = intentOf(context, text);
  const decides = intent.assent || intent.denial;
  if (approval.status !== 'pending' && !(decides && intent.bare)) return 'for_agent';
  if (intent.assent && whichFit(intent.reference, [wordsOfCard(approval)]).length === 0) {
    // The words name something else than the card that they answer.
    return ask(context, placeOf(session, approval), [approval], approval.needsTyped);
  }
  if (intent.assent) {
    await giveWord(context, approval, {
      verdict: 'approve',
      means: intent.confirm ? 'confirmation' : 'word',
      words: text,
      typedConfirmation: intent.confirm,
    });
    return 'dealt_with';
  }
  if (intent.denial) {
    await giveWord(context, approval, {
      verdict: 'deny',
      means: 'word',
      words: text,
      reason: text,
    });
    return 'dealt_with';
  }
  if (intent.partial && !intent.question) {
    const place = placeOf(session, approval);
    await answer(context, partialAssent(await namesOf(context, session, [approval])), {
      turnId: place.turnId,
    });
  }
  return 'for_agent';
}

/** "I confirm": for exactly one destructive thing (A3, A6). */
async function confirmInTurn(
  context: HandlerContext,
  waits: TurnWaits,
  text: string,
  intent: Intent,
): Promise<WordsOutcome> {
  const destructive = waits.approvals.filter((approval) => approval.needsTyped);
  if (destructive.length === 0) return assentInTurn(context, waits, text, intent);
  const fits = whichFit(intent.reference, destructive.map(wordsOfCard));
  const named = (intent.reference?.names.length ?? 0) > 0;
  const [index] = fits;
  const meant = index === undefined ? undefined : destructive[index];
  if (meant === undefined || fits.length > 1 || (destructive.length > 1 && !named)) {
    return ask(context, waits, destructive, true);
  }
  await giveWord(context, meant, {
    verdict: 'approve',
    means: 'confirmation',
    words: text,
    typedConfirmation: true,
  });
  return 'dealt_with';
}

/** "yes", "go ahead": for what the pass before it left waiting, except what is destructive (A4). */
async function assentInTurn(
  context: HandlerContext,
  waits: TurnWaits,
  text: string,
  intent: Intent,
): Promise<WordsOutcome> {
  const plain = waits.approvals.filter((approval) => !approval.needsTyped);
  const fresh = plain.filter((approval) => approval.passId === waits.lastPassId);
  if (fresh.length === 0) {
    const [first, ...others] = waits.approvals;
    // Only something destructive waits: the one card's hint says what to type.
    if (plain.length === 0 && first !== undefined && others.length === 0) {
      await giveWord(context, first, { verdict: 'approve', means: 'word', words: text });
      return 'dealt_with';
    }
    return ask(context, waits, waits.approvals, plain.length === 0);
  }
  const fits = whichFit(intent.reference, fresh.map(wordsOfCard));
  if (fits.length === 0) return ask(context, waits, waits.approvals, false);
  for (const index of fits) {
    const approval = fresh[index];
    if (approval === undefined) continue;
    await giveWord(context, approval, { verdict: 'approve', means: 'word', words: text });
  }
  return 'dealt_with';
}

/**
 * "no, because …": denies the one thing that waits. Where several wait, only a bare "no" counts, for all that the pass before
 * it left waiting; anything longer is for the agent, since it may be about one of them.
 */
async function denyInTurn(
  context: HandlerContext,
  waits: TurnWaits,
  text: string,
  intent: Intent,
): Promise<WordsOutcome> {
  const fresh = waits.approvals.filter((approval) => approval.passId === waits.lastPassId);
  const meant = waits.approvals.length === 1 ? waits.approvals : intent.bare ? fresh : [];
  for (const approval of meant) {
    await giveWord(context, approval, {
      verdict: 'deny',
      means: 'word',
      words: text,
      reason: text,
    });
  }
  return meant.length === 0 ? 'for_agent' : 'dealt_with';
}

/** Asks which of several is meant; nothing is granted. */
export async function ask(
  context: HandlerContext,
  place: { session: Session; turnId?: TurnId | undefined },
  approvals: readonly WaitingApproval[],
  destructive: boolean,
  questions: readonly Question[] = [],
): Promise<WordsOutcome> {
  const names = await namesOf(context, place.session, approvals, questions);
  await answer(context, whichOne(names, destructive), { turnId: place.turnId });
  return 'dealt_with';
}

async function namesOf(
  { unit }: HandlerContext,
  session: Session,
  approvals: readonly WaitingApproval[],
  questions: readonly Question[] = [],
): Promise<WaitingName[]> {
  const things = await Promise.all([
    ...approvals.map(({ id }) => waitingName(unit.db, session, id)),
    ...questions.map(({ id }) => waitingQuestion(unit.db, session, id)),
  ]);
  return things.filter((thing) => thing !== undefined).map((thing) => thing.name);
}

function placeOf(
  session: Session,
  approval: WaitingApproval,
): { session: Session; turnId?: TurnId } {
  return approval.turnId === null
    ? { session }
    : { session, turnId: asId<TurnId>(approval.turnId) };
}
