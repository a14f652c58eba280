// How people name images: NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST. A version begins with a
// digit and a channel with a letter, so that nothing has to be looked up to know what was asked for.

import { ImagoError } from '../error/imago-error.ts';
import { likelyName, nameProblem } from '../value/name.ts';
import { quote } from '../value/quote.ts';
import { likelyNumber, readNumber } from './version-number.ts';

export type Reference =
  | { readonly kind: 'image'; readonly image: string }
  | { readonly kind: 'version'; readonly image: string; readonly version: string }
  | { readonly kind: 'channel'; readonly image: string; readonly channel: string }
  | { readonly kind: 'digest'; readonly image: string; readonly digest: string };

const digestPattern = /^sha256:[0-9a-f]{64}$/;

export function isDigest(text: string): boolean {
  return digestPattern.test(text);
}

/** Strict: no spaces, no upper case, no digest that is cut short. Throws `reference-malformed`. */
export function parseReference(text: string): Reference {
  const read = readReference(text);
  if (typeof read !== 'string') return read;
  const likely = likelyReference(text);
  throw new ImagoError('reference-malformed', `The reference ${quote(text)} ${read}.`, {
    ...(likely === undefined ? {} : { hint: `Did you mean \`${likely}\`?` }),
  });
}

/** The image that a reference names. Throws `reference-malformed`. */
export function imageOf(text: string): string {
  return parseReference(text).image;
}

export function formatReference(reference: Reference): string {
  switch (reference.kind) {
    case 'image':
      return reference.image;
    case 'version':
      return `${reference.image}:${reference.version}`;
    case 'channel':
      return `${reference.image}:${reference.channel}`;
    case 'digest':
      return `${reference.image}@${reference.digest}`;
  }
}

/** The reference, or what is wrong with it as the end of a sentence. */
function readReference(text: string): Reference | string {
  const split = /[:@]/.exec(text);
  const image = split === null ? text : text.slice(0, split.index);
  const problem = nameProblem('image', image);
  if (problem !== undefined) return image === '' ? 'names no image' : `names an image that ${problem}`;
  if (split === null) return { kind: 'image', image };
  const rest = text.slice(split.index + 1);
  if (split[0] === '@') {
    if (isDigest(rest)) return { kind: 'digest', image, digest: rest };
    return 'has something else than sha256: and 64 hexadecimal digits after the @';
  }
  if (rest === '') return 'has nothing after the colon';
  if (/^[0-9]/.test(rest)) {
    if (readNumber(rest) !== undefined) return { kind: 'version', image, version: rest };
    return 'has a version that is not three whole numbers without leading zeros';
  }
  const channelProblem = nameProblem('channel', rest);
  if (channelProblem !== undefined) return `has a channel that ${channelProblem}`;
  return { kind: 'channel', image, channel: rest };
}

/** What was probably meant, for hints: always a reference that `parseReference` accepts. */
function likelyReference(text: string): string | undefined {
  const plain = text.trim();
  const split = /[:@/= ]/.exec(plain);
  const image = likelyName('image', split === null ? plain : plain.slice(0, split.index));
  if (image === undefined) return undefined;
  const rest = split === null ? '' : plain.slice(split.index + 1).trim();
  if (rest === '') return image;
  const digest = /^(?:[^@]*@)?(?:sha256[:-])?([0-9a-f]{64})$/i.exec(rest)?.[1];
  if (digest !== undefined) return `${image}@sha256:${digest.toLowerCase()}`;
  if (/^sha256/i.test(rest)) return undefined;
  const tag = likelyNumber(rest) ?? likelyName('channel', rest);
  return tag === undefined ? undefined : `${image}:${tag}`;
}
