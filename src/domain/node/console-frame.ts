// Documents on a serial console, between the lines of the kernel and of login prompts: each line of a document is
// complete or ignored. A machine without a port of its own reports this way.

/** A node's report, or the answer to a command. */
export type FrameKind = 'report' | 'answer';

const partLength = 160;
const line = /^imago-(report|answer) 1 ([0-9a-f]{8}) (\d{1,5})\/(\d{1,5}) ([0-9a-f]{8}) \|(.*)\|\s*$/;
const mostParts = 10_000;

/** Returns the lines of a JSON document. */
export function toFrames(kind: FrameKind, json: string): readonly string[] {
  const text = json.replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const id = checksum(text);
  const count = Math.ceil(text.length / partLength);
  return Array.from({ length: count }, (_, index) => {
    const part = text.slice(index * partLength, (index + 1) * partLength);
    const place = `${id} ${index + 1}/${count}`;
    return `imago-${kind} 1 ${place} ${checksum(`${place} ${part}`)} |${part}|`;
  });
}

export function isFrame(text: string): boolean {
  return line.test(text);
}

/** Returns the documents that are complete, the last one last. A damaged line counts as missing. */
export function readFrames(kind: FrameKind, lines: readonly string[]): readonly string[] {
  const found: string[] = [];
  const open = new Map<string, Map<number, string>>();
  for (const text of lines) {
    const [, said, id = '', index = '', count = '', sum, part = ''] = line.exec(text) ?? [];
    if (said !== kind || checksum(`${id} ${index}/${count} ${part}`) !== sum) continue;
    if (Number(count) > mostParts || Number(index) < 1 || Number(index) > Number(count)) continue;
    const key = `${id}/${count}`;
    const parts = open.get(key) ?? new Map<number, string>();
    open.set(key, parts.set(Number(index), part));
    if (parts.size < Number(count)) continue;
    open.delete(key);
    const whole = Array.from({ length: parts.size }, (_, at) => parts.get(at + 1)).join('');
    if (checksum(whole) === id) found.push(whole);
  }
  return found;
}

/** CRC-32, as in Ethernet: it finds every damage of a few characters. */
function checksum(text: string): string {
  let sum = 0xffffffff;
  for (let at = 0; at < text.length; at += 1) {
    sum ^= text.charCodeAt(at);
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ((sum ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0');
}
