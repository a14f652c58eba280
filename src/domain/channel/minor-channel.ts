// Channels of one Kubernetes minor version. A recipe with a matrix makes versions for several of them at once, and a
// channel points at one: so each has its own beside the plain one, `production-1-34` beside `production`.

const pattern = /^(.+)-([0-9]+-[0-9]+)$/;

export interface ChannelLine {
  /** The channel whose place it takes for this Kubernetes version. */
  readonly base: string;
  /** As the name ends: `1-34`. */
  readonly line: string;
}

/** `undefined` for a plain channel. */
export function channelLine(channel: string): ChannelLine | undefined {
  const [, base, line] = pattern.exec(channel) ?? [];
  return base === undefined || line === undefined ? undefined : { base, line };
}

/** The channel that stands for `base` in the line of a Kubernetes version, `1.34` or `1.34.2`. */
export function lineChannel(base: string, kubernetes: string): string {
  return `${base}-${lineOfKubernetes(kubernetes)}`;
}

export function lineOfKubernetes(kubernetes: string): string {
  return kubernetes.replace(/^v/, '').split('.').slice(0, 2).join('-');
}
