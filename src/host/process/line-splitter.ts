// Splits the output of a process into lines of limited length: output without line breaks cannot fill the memory.
import { StringDecoder } from 'node:string_decoder';

const maxLineLength = 64 * 1024;

export interface LineSplitter {
  /** Returns the lines that the chunk completes. A longer line is returned in parts of the maximum length. */
  add(chunk: Uint8Array): string[];
  /** Returns the last line if it has no line break. */
  end(): string[];
}

export function lineSplitter(maxLength = maxLineLength): LineSplitter {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return {
    add(chunk) {
      // A carriage return at the end stays: the line feed that belongs to it can follow.
      const lines = (rest + decoder.write(Buffer.from(chunk))).split(/\r\n|\n|\r(?!$)/);
      const parts = partsOf(lines.pop() ?? '', maxLength);
      rest = parts.pop() ?? '';
      return [...lines.flatMap((line) => partsOf(line, maxLength)), ...parts];
    },
    end() {
      const last = (rest + decoder.end()).replace(/\r$/, '');
      rest = '';
      return last === '' ? [] : [last];
    },
  };
}

function partsOf(line: string, maxLength: number): string[] {
  const parts = [];
  for (let start = 0; start + maxLength < line.length; start += maxLength) {
    parts.push(line.slice(start, start + maxLength));
  }
  return [...parts, line.slice(parts.length * maxLength)];
}
