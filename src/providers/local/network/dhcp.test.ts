import { describe, expect, it } from 'vitest';
import { answerDhcp, dhcpServer } from './dhcp.ts';

const mac = '02:11:22:33:44:02';
const known = (asked: string) => (asked === mac ? '198.18.0.10' : undefined);

interface RequestChange {
  readonly type?: number;
  readonly mac?: string;
  readonly options?: readonly number[];
  readonly broadcast?: boolean;
}

function request({ type = 1, mac: from = mac, options = [], broadcast = false }: RequestChange = {}): Buffer {
  const bytes = from.split(':').map((part) => Number.parseInt(part, 16));
  const bootp = Buffer.alloc(300);
  bootp.set([1, 1, 6, 0, 0xde, 0xad, 0xbe, 0xef]);
  if (broadcast) bootp.writeUInt16BE(0x8000, 10);
  bootp.set(bytes, 28);
  bootp.set([0x63, 0x82, 0x53, 0x63, 53, 1, type, ...options, 255], 236);
  const frame = Buffer.alloc(42 + bootp.length);
  frame.set([255, 255, 255, 255, 255, 255, ...bytes, 8, 0, 0x45]);
  frame.writeUInt16BE(28 + bootp.length, 16);
  frame.set([64, 17], 22);
  frame.set([0, 0, 0, 0, 255, 255, 255, 255, 0, 68, 0, 67], 26);
  frame.writeUInt16BE(8 + bootp.length, 38);
  bootp.copy(frame, 42);
  return frame;
}

function read(frame: Buffer | undefined) {
  if (frame === undefined) return undefined;
  const bootp = frame.subarray(42);
  return {
    to: frame.subarray(0, 6).toString('hex'),
    transaction: bootp.subarray(4, 8).toString('hex'),
    address: bootp.subarray(16, 20).join('.'),
    type: bootp[242],
    lease: bootp.subarray(251, 255).toString('hex'),
  };
}

describe('addresses in the network of a pool', () => {
  it('offers and confirms the address of the card that asks, for ever', () => {
    expect(read(answerDhcp(request(), known))).toEqual({
      to: '021122334402',
      transaction: 'deadbeef',
      address: '198.18.0.10',
      type: 2,
      lease: 'ffffffff',
    });
    const right = [50, 4, 198, 18, 0, 10, 54, 4, ...dhcpServer.address.split('.').map(Number)];
    expect(read(answerDhcp(request({ type: 3, options: right }), known))?.type).toBe(5);
  });

  it('refuses an address that is not its own, to everyone, as the rules want it', () => {
    const wrong = read(answerDhcp(request({ type: 3, options: [50, 4, 198, 18, 0, 99] }), known));
    expect(wrong).toMatchObject({ type: 6, to: 'ffffffffffff', address: '0.0.0.0' });
  });

  it('answers by broadcast when the machine cannot take another', () => {
    expect(read(answerDhcp(request({ broadcast: true }), known))?.to).toBe('ffffffffffff');
  });

  it('is silent to strangers, to other servers, and to what is no request', () => {
    expect(answerDhcp(request({ mac: '02:11:22:33:44:99' }), known)).toBeUndefined();
    expect(answerDhcp(request({ type: 3, options: [54, 4, 1, 2, 3, 4] }), known)).toBeUndefined();
    expect(answerDhcp(request({ type: 7 }), known)).toBeUndefined();
    expect(answerDhcp(Buffer.alloc(60), known)).toBeUndefined();
    expect(answerDhcp(Buffer.alloc(0), known)).toBeUndefined();
    const cut = request();
    for (let length = 0; length < 282; length += 1)
      expect(answerDhcp(cut.subarray(0, length), known)).toBeUndefined();
  });

  it('has a header whose checksum is right', () => {
    const header = answerDhcp(request(), known)?.subarray(14, 34);
    let sum = 0;
    for (let at = 0; at < 20; at += 2) sum += header?.readUInt16BE(at) ?? 0;
    expect((sum & 0xffff) + (sum >>> 16)).toBe(0xffff);
  });
});
