import { z } from 'zod';
import { foreignFileShape, type ForeignFile } from '../crypto/attachment.ts';

const mediaShape = z.looseObject({
  msgtype: z.string(),
  body: z.string().catch(''),
  filename: z.string().optional().catch(undefined),
  url: z.string().optional().catch(undefined),
  file: foreignFileShape.optional().catch(undefined),
  'm.relates_to': z.looseObject({ rel_type: z.string().optional() }).optional().catch(undefined),
  info: z
    .looseObject({ size: z.number().int().nonnegative().optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

/** Where the bytes of a media message lie, and what its sender says about them. */
export interface MediaSource {
  readonly msgtype: string;
  readonly server: string;
  readonly mediaId: string;
  /** The file's name; not to be believed, and never a path. */
  readonly name: string;
  /** What its sender says, in bytes. */
  readonly claimedSize: number | undefined;
  /** Set for a file of an encrypted room: how it is opened. */
  readonly encrypted: ForeignFile | undefined;
}

const MXC = /^mxc:\/\/([A-Za-z0-9.:[\]-]{1,255})\/([A-Za-z0-9_=-]{1,255})$/;

/** Reads a media message's content; undefined for an edit, and for one without an address that can be asked for. */
export function mediaSource(content: Record<string, unknown>): MediaSource | undefined {
  const parsed = mediaShape.safeParse(content);
  if (!parsed.success || parsed.data['m.relates_to']?.rel_type === 'm.replace') return undefined;
  const { msgtype, body, filename, url, file, info } = parsed.data;
  const [, server, mediaId] = MXC.exec(file?.url ?? url ?? '') ?? [];
  if (server === undefined || mediaId === undefined) return undefined;
  return {
    msgtype,
    server,
    mediaId,
    name: (filename ?? body).slice(0, 200) || 'file',
    claimedSize: info?.size,
    encrypted: file,
  };
}
