import type { UserId } from '../../core/ids.ts';
import { headBytes } from '../../core/text/clip.ts';
import { formatDuration } from '../../core/text/duration.ts';
import { cardOf, fitting, type Card } from './card.ts';
import { markdown } from './markdown.ts';
import { MARK_SIGN, isEnded, type TaskMark } from './mark.ts';
import { para, rich, strong, type Rich } from './rich.ts';
import type { DigestState } from './state.ts';
import { beginsWithTitle, count, EXECUTION_MARK, label, names, number, slug } from './words.ts';

/** The balance of a task: at its end, where it calls who asked for it, and on `!digest` (C6). */
export function digestCard(digest: DigestState, callFor: readonly UserId[] = []): Card {
  return fitting(SUMMARY_BYTES.map((most) => () => digestForm(digest, callFor, most)));
}

// The agent's summary is what the operator reads: as much of it as fits.
const SUMMARY_BYTES = [4_000, 1_000, 300];

function digestForm(digest: DigestState, callFor: readonly UserId[], most: number): Card {
  const named = digest.title === null ? `Task ${digest.shortId}` : label(digest.title, 80);
  // A title that was made from the answer is said by its summary right below.
  const title = beginsWithTitle(digest.summary ?? '', digest.title) ? '' : `: ${named}`;
  return cardOf(
    [
      para(strong(`${headWords(digest)}${title}`)),
      digest.summary === null ? undefined : markdown(headBytes(digest.summary, most)),
      para(...points(digest)),
      para(rich`Task ${slug(digest.shortId)} · write here to open it again`),
    ],
    callFor.length > 0 ? { mentions: callFor, msgtype: 'm.text' } : {},
  );
}

function headWords(digest: DigestState): string {
  if (!isEnded(digest.status)) return '⏳ So far';
  const mark: TaskMark =
    digest.outcome === 'success' ? 'done' : digest.outcome === 'partial' ? 'partial' : 'failed';
  const words = {
    done: 'Done',
    partial: 'Done in part',
    failed: 'Failed',
    running: '',
    needs_you: '',
  };
  return `${MARK_SIGN[mark]} ${words[mark]}`;
}

function* points(digest: DigestState): Generator<Rich> {
  const total = digest.byStatus.reduce((sum, one) => sum + one.count, 0);
  if (total === 0) yield rich`No command was run`;
  else {
    const parts = digest.byStatus.map(
      ({ status, count: many }) =>
        `${EXECUTION_MARK[status]} ${many} ${status.replaceAll('_', ' ')}`,
    );
    yield rich`${count(total, 'command')}: ${parts.join(', ')}`;
    const { byClass, byGrant, byApproval, denied } = digest.allowed;
    const ways = [
      byClass > 0 ? `${byClass} by itself` : '',
      byGrant > 0 ? `${byGrant} by grant` : '',
      byApproval > 0 ? `${byApproval} by approval` : '',
      denied > 0 ? `${denied} denied` : '',
    ].filter((way) => way !== '');
    if (ways.length > 0) yield rich`Allowed: ${ways.join(', ')}`;
  }
  if (digest.entities.length > 0) yield rich`Touched ${names(digest.entities, 8)}`;
  if (digest.knowledge.length > 0) yield rich`Wrote down ${names(digest.knowledge, 5)}`;
  yield rich`${formatDuration(digest.durationMs)} · ${count(digest.passes, 'pass', 'passes')}, ${count(digest.toolCalls, 'tool call')} · ${number(digest.tokensIn)} tokens in, ${number(digest.tokensOut)} out${digest.cost > 0 ? `, cost ${digest.cost.toFixed(2)}` : ''}`;
  for (const note of digest.notes) yield rich`⚠️ ${label(note, 200)}`;
}
