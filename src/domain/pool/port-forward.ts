// Ports of nodes that can be reached from the computer that runs them, as people write them: `80`, or `8080:80`.
import { ImagoError } from '../error/imago-error.ts';

/** A type, and no interface, because it is stored as JSON with the model of a pool. */
export type PortForward = {
  readonly guestPort: number;
  /**
   * On 127.0.0.1 of that computer. Of a pool this is the port of its first node: each further one has the port
   * above. Absent: a free one is chosen whenever the node starts.
   */
  readonly hostPort?: number;
};

/** A port that is there: the two that belong together. */
export type OpenForward = Required<PortForward>;

const mostPort = 65_535;

/** Throws `input-invalid`. */
export function parsePortForward(text: string): PortForward {
  const match = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text);
  const [host, guest] = [match?.[1], match?.[2]].map((part) =>
    part === undefined ? undefined : Number(part),
  );
  if (guest === undefined || !isPort(guest) || (host !== undefined && !isPort(host))) {
    throw new ImagoError('input-invalid', `${JSON.stringify(text)} is no port to forward.`, {
      hint: 'Write the port of the node, as in 80, or that of this computer before it, as in 8080:80.',
    });
  }
  return { guestPort: guest, ...(host === undefined ? {} : { hostPort: host }) };
}

export function formatPortForward({ guestPort, hostPort }: PortForward): string {
  return hostPort === undefined ? String(guestPort) : `${hostPort}:${guestPort}`;
}

/** What the node with that number in its pool is given. Throws `input-invalid` past the last port that there is. */
export function forwardOfNode(forward: PortForward, ordinal: number): PortForward {
  if (forward.hostPort === undefined) return forward;
  const hostPort = forward.hostPort + ordinal;
  if (isPort(hostPort)) return { ...forward, hostPort };
  throw new ImagoError(
    'input-invalid',
    `There is no port ${hostPort} for node number ${ordinal} of the pool.`,
    {
      hint: 'Choose a lower port of this computer, or let free ones be chosen.',
    },
  );
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= mostPort;
}
