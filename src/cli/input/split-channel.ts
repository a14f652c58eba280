// `NAME:CHANNEL`, where a channel is needed.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { parseReference } from '../../domain/image/reference.ts';

export function splitChannel(text: string): { readonly image: string; readonly channel: string } {
  const reference = parseReference(text);
  if (reference.kind !== 'channel') {
    throw new ImagoError('reference-malformed', `${text} does not name a channel.`, {
      hint: 'Write NAME:CHANNEL.',
    });
  }
  return { image: reference.image, channel: reference.channel };
}
