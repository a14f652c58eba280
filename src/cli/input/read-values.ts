// Reads values of arguments and flags that have a form of their own.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { parseReference } from '../../domain/image/reference.ts';
import { type ArgumentSpec, invalidFlag } from '../spec/command.ts';

/** Reads a region and its number of replicas, `REGION` or `REGION=N`. */
export function readRegion(
  word: string,
  flag: string,
): { readonly region: string; readonly replicas: number } {
  const [, region, count = '1'] = /^([\w-]+)(?:=(\d{1,3}))?$/.exec(word) ?? [];
  if (region !== undefined && Number(count) >= 1) return { region, replicas: Number(count) };
  throw invalidFlag(flag, `must be REGION or REGION=N, not ${JSON.stringify(word)}.`);
}

export function splitChannel(text: string): { readonly image: string; readonly channel: string } {
  const reference = parseReference(text);
  if (reference.kind === 'channel') return { image: reference.image, channel: reference.channel };
  throw new ImagoError('reference-malformed', `${text} is not a channel reference.`, {
    hint: 'Write NAME:CHANNEL.',
  });
}

/** A channel, as the fields `image` and `channel`. */
export const channelArgument: ArgumentSpec = {
  name: 'CHANNEL',
  description: 'NAME:CHANNEL',
  completes: 'image',
  expand: splitChannel,
};
