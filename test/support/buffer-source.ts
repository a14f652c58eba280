// A disk in memory.
import type { ByteSource } from '../../src/disk/bytes/byte-source.ts';

export function bufferSource(bytes: Uint8Array): ByteSource {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    size: view.length,
    async read(position, target) {
      if (position + target.length > view.length) throw new RangeError('read outside of the source');
      view.copy(target, 0, position, position + target.length);
      return target;
    },
  };
}
