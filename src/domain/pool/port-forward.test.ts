import { expect, it } from 'vitest';
import { formatPortForward, forwardOfNode, parsePortForward } from './port-forward.ts';

it('ports are written alone or with that of the computer, and nothing else is taken for one', () => {
  for (const text of ['80', '8080:80', '65535:1'])
    expect(formatPortForward(parsePortForward(text))).toBe(text);
  for (const text of ['', '0', '70000', '80:', ':80', '1:2:3', 'ssh', '-1', '0:80']) {
    expect(() => parsePortForward(text)).toThrow(/no port to forward/);
  }
});

it('each node of a pool has the next port, and none past the last', () => {
  const forward = parsePortForward('65534:22');
  expect(forwardOfNode(forward, 1)).toEqual({ guestPort: 22, hostPort: 65_535 });
  expect(() => forwardOfNode(forward, 2)).toThrow(/no port 65536/);
  expect(forwardOfNode({ guestPort: 22 }, 7)).toEqual({ guestPort: 22 });
});
