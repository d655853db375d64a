/** What bytes are, by themselves: what the sender called them is not believed. */
export type Sniffed =
  | { readonly kind: 'picture' | 'audio'; readonly mimetype: string; readonly extension: string }
  /** A kind of picture, recording or document that is not taken in, by name. */
  | { readonly kind: 'other'; readonly what: string }
  | { readonly kind: 'text' }
  | { readonly kind: 'binary' };

type Known = Exclude<Sniffed, { kind: 'text' | 'binary' }>;

const picture = (mimetype: string, extension: string): Known => ({
  kind: 'picture',
  mimetype,
  extension,
});
const audio = (mimetype: string, extension: string): Known => ({
  kind: 'audio',
  mimetype,
  extension,
});
const other = (what: string): Known => ({ kind: 'other', what });

/** The first bytes of formats: at offset 0 unless said otherwise. From the formats' own specifications. */
const SIGNATURES: ReadonlyArray<{ at?: number; bytes: string; and?: [number, string]; is: Known }> =
  [
    { bytes: '\x89PNG\r\n\x1a\n', is: picture('image/png', 'png') },
    { bytes: '\xff\xd8\xff', is: picture('image/jpeg', 'jpg') },
    { bytes: 'GIF87a', is: picture('image/gif', 'gif') },
    { bytes: 'GIF89a', is: picture('image/gif', 'gif') },
    { bytes: 'RIFF', and: [8, 'WEBP'], is: picture('image/webp', 'webp') },
    { at: 4, bytes: 'ftyphei', is: other('a HEIC picture') },
    { at: 4, bytes: 'ftypmif1', is: other('a HEIF picture') },
    { at: 4, bytes: 'ftypavif', is: other('an AVIF picture') },
    { bytes: 'BM', and: [6, '\0\0\0\0'], is: other('a BMP picture') },
    { bytes: 'II*\0', is: other('a TIFF picture') },
    { bytes: 'MM\0*', is: other('a TIFF picture') },
    { bytes: 'OggS', is: audio('audio/ogg', 'ogg') },
    { bytes: 'RIFF', and: [8, 'WAVE'], is: audio('audio/wav', 'wav') },
    { bytes: 'fLaC', is: audio('audio/flac', 'flac') },
    { bytes: 'ID3', is: audio('audio/mpeg', 'mp3') },
    { bytes: '\xff\xfb', is: audio('audio/mpeg', 'mp3') },
    { bytes: '\xff\xf3', is: audio('audio/mpeg', 'mp3') },
    { bytes: '\xff\xf2', is: audio('audio/mpeg', 'mp3') },
    { bytes: '\x1a\x45\xdf\xa3', is: audio('audio/webm', 'webm') },
    { at: 4, bytes: 'ftyp', is: audio('audio/mp4', 'm4a') },
    { bytes: '%PDF-', is: other('a PDF document') },
    { bytes: 'PK\x03\x04', is: other('a ZIP archive or an office document') },
    { bytes: '\x1f\x8b', is: other('a gzip archive') },
    { bytes: '\x7fELF', is: other('a program') },
  ];

/** Looks at the first bytes, and, for text, at all that are there. */
export function sniff(bytes: Uint8Array): Sniffed {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const known = SIGNATURES.find(
    ({ at = 0, bytes: mark, and }) =>
      head.startsWith(mark, at) && (and === undefined || head.startsWith(and[1], and[0])),
  );
  if (known !== undefined) return known.is;
  return isUtf16(bytes) || !hasControls(bytes) ? { kind: 'text' } : { kind: 'binary' };
}

/**
 * The text of a file: UTF-8, UTF-16 with its mark, else Windows-1252, which every byte sequence is. A character that was cut
 * in two at the end is left out.
 */
export function decodeText(bytes: Uint8Array): string {
  if (isUtf16(bytes)) {
    return new TextDecoder(bytes[0] === 0xfe ? 'utf-16be' : 'utf-16le').decode(bytes);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

function isUtf16(bytes: Uint8Array): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

// Text has tabs, line ends, form feeds, and, where it was logged from a terminal, escapes.
const TEXT_CONTROLS: ReadonlySet<number> = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x1b]);

function hasControls(bytes: Uint8Array): boolean {
  return bytes.some((byte) => byte < 0x20 && !TEXT_CONTROLS.has(byte));
}
