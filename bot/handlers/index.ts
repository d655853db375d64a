import type { InboxHandler } from '../inbox/types.ts';
import { PictureRenderer } from '../pictures/render.ts';
import type { HandlerContext, HandlerSettings } from './context.ts';
import { onMessage } from './message.ts';
import { onReaction } from './reaction.ts';
import { onRedaction } from './redaction.ts';

export type { HandlerSettings } from './context.ts';

/**
 * Makes the handler of operators' events. An event of someone who is no operator (any more) changes nothing; the dispatcher
 * has seen to the audit entry (T12).
 */
export function createHandler(settings: HandlerSettings): InboxHandler {
  const pictures = new PictureRenderer();
  return async function handleEvent(unit, event) {
    const operator = settings.operators.find(event.sender);
    if (operator === undefined) return;
    const context: HandlerContext = {
      ...settings,
      unit,
      event,
      operator,
      pictures,
      view: { now: new Date(), timeZone: settings.timeZone },
    };
    switch (event.type) {
      case 'm.room.message':
        return onMessage(context);
      case 'm.reaction':
        return onReaction(context);
      case 'm.room.redaction':
        return onRedaction(context);
      default:
        return undefined;
    }
  };
}
