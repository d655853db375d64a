import { maskSecrets } from '../../core/executions/masking/masker.ts';
import type { MessageContent } from './relations.ts';

const TAG = /(<[^<>]*>)/;
const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

/**
 * A message without the secrets that a purpose, a question, a goal, a title or an error may carry (X9, Z4): the last look at what
 * leaves for a room. Cards hide what commands printed by themselves, and with them the secrets that only the configuration
 * knows. Formatting that would still show one is left out.
 */
export function maskMessage(message: MessageContent): MessageContent {
  const body = maskSecrets(message.body);
  if (body === message.body) return message;
  return { ...message, body, formatted_body: maskHtml(message.formatted_body) };
}

function maskHtml(html: string | undefined): string | undefined {
  if (html === undefined) return undefined;
  const masked = html
    .split(TAG)
    .map((part) => (TAG.test(part) ? part : maskSecrets(part)))
    .join('');
  const text = masked
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? entity);
  return maskSecrets(text) === text ? masked : undefined;
}
