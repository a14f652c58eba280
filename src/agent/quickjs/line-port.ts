// A line-based serial port to the host of the machine. The host can be absent: writes never wait for it, and a port without
// a peer is polled periodically, because it always reports that it is readable.
import type { System } from '../system/system.ts';
import { decodeUtf8, encodeUtf8 } from '../system/utf8.ts';
import type { QuickJsModules } from './modules.ts';

const nonBlocking = 0o4000;
const wouldBlock = -11;
const pollMs = 2000;
const maxLineBytes = 4 * 1024 * 1024;

export interface LinePort {
  /** Sends the latest line. A partially sent line is completed first; other pending lines are dropped. */
  send(line: string): void;
  /** Waits until the line is sent completely, or the peer is absent. */
  sendAll(line: string): Promise<boolean>;
}

/** Returns the device of the port with that name. The kernel creates the device before udev names it. */
export function portDevice(system: System, name: string): string | undefined {
  const ports = '/sys/class/virtio-ports';
  const found = system.list(ports).find((port) => system.readText(`${ports}/${port}/name`)?.trim() === name);
  return found === undefined ? undefined : `/dev/${found}`;
}

/** Returns `undefined` if the machine has no such port. */
export function openLinePort(
  { os }: QuickJsModules,
  path: string,
  onLine: (line: string) => void,
): LinePort | undefined {
  const fd = os.open(path, os.O_RDWR | nonBlocking);
  if (fd < 0) return undefined;
  const buffer = new Uint8Array(65_536);
  let rest = new Uint8Array(0);
  let outgoing: Uint8Array<ArrayBuffer> | undefined;
  let next: string | undefined;
  let flushing = false;

  function listen(): void {
    os.setReadHandler(fd, () => {
      const count = os.read(fd, buffer.buffer, 0, buffer.length);
      if (count === wouldBlock) return;
      if (count <= 0) {
        os.setReadHandler(fd, null);
        rest = new Uint8Array(0);
        os.setTimeout(listen, pollMs);
        return;
      }
      take(buffer.slice(0, count));
    });
  }

  function take(bytes: Uint8Array): void {
    const all = new Uint8Array(rest.length + bytes.length);
    all.set(rest);
    all.set(bytes, rest.length);
    let start = 0;
    for (let at = all.indexOf(10); at >= 0; at = all.indexOf(10, start)) {
      const line = decodeUtf8(all.subarray(start, at)).trim();
      start = at + 1;
      if (line !== '') onLine(line);
    }
    rest = all.length - start > maxLineBytes ? new Uint8Array(0) : all.slice(start);
  }

  /** Returns `false` if the port accepts no more for now. */
  function flush(): boolean {
    while (outgoing !== undefined) {
      const written = os.write(fd, outgoing.buffer, 0, outgoing.length);
      if (written <= 0) return false;
      outgoing = written === outgoing.length ? undefined : outgoing.slice(written);
    }
    return true;
  }

  function pump(): void {
    flushing = true;
    if (!flush()) {
      os.setTimeout(pump, 100);
      return;
    }
    flushing = false;
    const line = next;
    next = undefined;
    if (line !== undefined) start(line);
  }

  function start(line: string): void {
    outgoing = encodeUtf8(`${line}\n`);
    pump();
  }

  listen();
  return {
    send(line) {
      if (flushing) next = line;
      else start(line);
    },
    async sendAll(line) {
      outgoing = encodeUtf8(`${line}\n`);
      for (let waited = 0; !flush(); waited += 20) {
        if (waited > 30_000) {
          outgoing = undefined;
          return false;
        }
        await new Promise<void>((resolve) => os.setTimeout(resolve, 20));
      }
      return true;
    },
  };
}
