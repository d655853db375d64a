import { log } from '../../core/log.ts';
import type { Card } from '../cards/card.ts';
import { answerTo } from '../cards/replies.ts';
import { rich } from '../cards/rich.ts';
import type { PictureAnswer } from '../handlers/context.ts';
import { PictureError } from '../pictures/render.ts';
import type { Png } from '../pictures/state.ts';

/** A picture with the same in words; the words alone where it could not be drawn. */
export async function pictureOrWords(
  name: string,
  words: string,
  draw: () => Promise<Png>,
): Promise<PictureAnswer | Card> {
  try {
    return { png: await draw(), name, words };
  } catch (error) {
    if (!(error instanceof PictureError)) throw error;
    log.warn({ error: error.message }, 'a picture could not be drawn');
    return answerTo(rich`${words}`, rich`The picture of it could not be drawn; the log says why.`);
  }
}
