// How many bytes an .xz file unpacks to, as the index at its end says: files of one stream only, as xz writes them.

/** Undefined when it is no such file, or more than one stream. */
export function xzSize(file: Buffer): number | undefined {
  const footer = file.length - 12;
  if (footer < 12 || file.toString('latin1', footer + 10) !== 'YZ') return undefined;
  // Written in units of four bytes, less one.
  const start = footer - (file.readUInt32LE(footer + 4) + 1) * 4;
  if (start < 12 || file[start] !== 0) return undefined;
  let at = start + 1;
  const number = () => {
    let value = 0;
    for (let factor = 1; at < footer; factor *= 128) {
      const byte = file[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) break;
    }
    return value;
  };
  let size = 0;
  let stored = 12;
  for (let blocks = number(); blocks > 0 && at < footer; blocks -= 1) {
    stored += Math.ceil(number() / 4) * 4;
    size += number();
  }
  return stored === start ? size : undefined;
}
