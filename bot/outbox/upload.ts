import { z } from 'zod';
import type { Database } from '../../core/db/database.ts';
import type { MatrixOutbox } from '../../core/db/rows.ts';
import { encryptFile } from '../crypto/attachment.ts';
import type { NomosClient } from '../matrix/client.ts';
import { type Outgoing, resolveFile } from './resolve.ts';
import { rowContent } from './rows.ts';

const uploadShape = z.looseObject({ content_uri: z.string() });

/**
 * Uploads a file unless an earlier try did, and gives the event that shows it. For an encrypted room the file is encrypted
 * first, and the homeserver learns neither its name nor its kind.
 */
export async function upload(
  row: MatrixOutbox,
  secret: boolean,
  { database, client }: { database: Database; client: NomosClient },
): Promise<Outgoing> {
  const file = await resolveFile(database.read, row);
  let { url, key } = file;
  // A room that was made encrypted since an earlier try gets an encrypted file.
  if (url === undefined || (secret && key === undefined)) {
    const sealed = secret ? await encryptFile(file.bytes) : undefined;
    key = sealed?.key;
    const answer = await client.doRequest(
      'POST',
      '/_matrix/media/v3/upload',
      secret ? null : { filename: file.name },
      sealed?.encrypted ?? file.bytes,
      undefined,
      false,
      secret ? 'application/octet-stream' : file.mimetype,
    );
    url = uploadShape.parse(answer).content_uri;
    const content = {
      ...rowContent.upload.parse(row.content),
      url,
      ...(key === undefined ? {} : { key }),
    };
    await database.write(async ({ db }) =>
      db.matrixOutbox.updateMany({ where: { id: row.id }, data: { content } }),
    );
  }
  return {
    kind: 'event',
    eventType: row.eventType ?? 'm.room.message',
    content: file.event(url, key),
  };
}
