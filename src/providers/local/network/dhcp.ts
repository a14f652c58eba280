// Answers the machines of a pool that ask for their address (RFC 2131), as frames of Ethernet. Leases never
// end, so that a running machine needs no one to renew them.

/** The station that answers; the network has no other use for it. */
export const dhcpServer = { mac: '02:00:00:00:00:fe', address: '198.18.0.1', mask: '255.255.0.0' } as const;

const COOKIE = 0x63825363;
const HEADERS = 14 + 20 + 8;
const BOOTP = 236;

const messages = { discover: 1, offer: 2, request: 3, decline: 4, ack: 5, nak: 6, inform: 8 } as const;

interface DhcpRequest {
  readonly type: number;
  readonly mac: string;
  readonly transaction: Buffer;
  readonly flags: number;
  /** The address that the machine asks for or has. */
  readonly wanted: string | undefined;
  readonly server: string | undefined;
}

/** The frame to send back; `undefined` when it is no request, or from a machine that is not known. */
export function answerDhcp(
  frame: Buffer,
  addressOf: (mac: string) => string | undefined,
): Buffer | undefined {
  const request = readRequest(frame);
  if (request === undefined) return undefined;
  const address = addressOf(request.mac);
  if (address === undefined) return undefined;
  if (request.type === messages.discover) return answer(request, messages.offer, address);
  if (request.type !== messages.request) return undefined;
  if (request.server !== undefined && request.server !== dhcpServer.address) return undefined;
  const right = request.wanted === undefined || request.wanted === address;
  return answer(request, right ? messages.ack : messages.nak, address);
}

function readRequest(frame: Buffer): DhcpRequest | undefined {
  if (frame.length < HEADERS + BOOTP + 4 || frame.readUInt16BE(12) !== 0x0800) return undefined;
  const ip = frame.subarray(14);
  const headerLength = (ip.readUInt8(0) & 15) * 4;
  const fragment = ip.readUInt16BE(6) & 0x3fff;
  if (ip.readUInt8(0) >> 4 !== 4 || headerLength < 20 || ip.readUInt8(9) !== 17 || fragment !== 0)
    return undefined;
  const udp = ip.subarray(headerLength);
  if (udp.length < 8 + BOOTP + 4 || udp.readUInt16BE(2) !== 67) return undefined;
  const bootp = udp.subarray(8);
  if (bootp.readUInt8(0) !== 1 || bootp.readUInt8(2) !== 6 || bootp.readUInt32BE(BOOTP) !== COOKIE)
    return undefined;
  const options = readOptions(bootp.subarray(BOOTP + 4));
  const type = options.get(53)?.at(0);
  if (type === undefined) return undefined;
  const has = addressText(bootp.subarray(12, 16));
  return {
    type,
    mac: [...bootp.subarray(28, 34)].map((byte) => byte.toString(16).padStart(2, '0')).join(':'),
    transaction: Buffer.from(bootp.subarray(4, 8)),
    flags: bootp.readUInt16BE(10),
    wanted: addressText(options.get(50)) ?? (has === '0.0.0.0' ? undefined : has),
    server: addressText(options.get(54)),
  };
}

function readOptions(bytes: Buffer): Map<number, Buffer> {
  const options = new Map<number, Buffer>();
  let at = 0;
  while (at < bytes.length) {
    const code = bytes.readUInt8(at);
    if (code === 255) break;
    at += 1;
    if (code === 0) continue;
    const length = bytes.at(at);
    if (length === undefined || at + 1 + length > bytes.length) break;
    options.set(code, bytes.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return options;
}

function answer(request: DhcpRequest, type: number, address: string): Buffer {
  const refused = type === messages.nak;
  const broadcast = refused || (request.flags & 0x8000) !== 0;
  const options = [
    ...[53, 1, type, 54, 4, ...addressBytes(dhcpServer.address)],
    ...(refused ? [] : [51, 4, 255, 255, 255, 255, 1, 4, ...addressBytes(dhcpServer.mask)]),
    255,
  ];
  const bootp = Buffer.alloc(Math.max(300, BOOTP + 4 + options.length));
  bootp.set([2, 1, 6, 0]);
  request.transaction.copy(bootp, 4);
  bootp.writeUInt16BE(request.flags, 10);
  if (!refused) bootp.set(addressBytes(address), 16);
  bootp.set(addressBytes(dhcpServer.address), 20);
  bootp.set(macBytes(request.mac), 28);
  bootp.writeUInt32BE(COOKIE, BOOTP);
  bootp.set(options, BOOTP + 4);
  return frameOf(bootp, {
    mac: broadcast ? 'ff:ff:ff:ff:ff:ff' : request.mac,
    address: broadcast ? '255.255.255.255' : address,
  });
}

function frameOf(payload: Buffer, to: { readonly mac: string; readonly address: string }): Buffer {
  const frame = Buffer.alloc(HEADERS + payload.length);
  frame.set([...macBytes(to.mac), ...macBytes(dhcpServer.mac), 8, 0]);
  const ip = frame.subarray(14, 34);
  ip.set([0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17]);
  ip.writeUInt16BE(28 + payload.length, 2);
  ip.set(addressBytes(dhcpServer.address), 12);
  ip.set(addressBytes(to.address), 16);
  ip.writeUInt16BE(checksum(ip), 10);
  const udp = frame.subarray(34, 42);
  udp.writeUInt16BE(67, 0);
  udp.writeUInt16BE(68, 2);
  udp.writeUInt16BE(8 + payload.length, 4);
  payload.copy(frame, HEADERS);
  return frame;
}

function checksum(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < header.length; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

function addressText(bytes: Buffer | undefined): string | undefined {
  return bytes?.length === 4 ? bytes.join('.') : undefined;
}

function addressBytes(address: string): number[] {
  return address.split('.').map(Number);
}

function macBytes(mac: string): number[] {
  return mac.split(':').map((part) => Number.parseInt(part, 16));
}
