// Makes a unified kernel image: systemd's EFI stub with the kernel, its initrd and its arguments as
// further PE sections, so that firmware can start the whole from one file. No objcopy: the bytes
// follow from the input alone.
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface UkiInput {
  /** linuxx64.efi.stub of systemd. */
  readonly stub: Uint8Array;
  readonly kernel: Uint8Array;
  readonly initrd: Uint8Array;
  readonly cmdline: string;
  readonly osRelease: Uint8Array;
  readonly kernelVersion: string;
}

const sectionHeaderSize = 40;
const readableData = 0x4000_0040;

function invalid(message: string): ImagoError {
  return new ImagoError('boot-files-invalid', `the EFI stub cannot be used: ${message}`);
}

function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}

interface PeLayout {
  readonly header: number;
  readonly optional: number;
  readonly sectionTable: number;
  readonly sections: number;
  readonly fileAlignment: number;
  readonly sectionAlignment: number;
  readonly headersSize: number;
  readonly virtualEnd: number;
}

function readLayout(stub: Buffer): PeLayout {
  if (stub.length < 1024 || stub.toString('latin1', 0, 2) !== 'MZ') throw invalid('it is not an EFI program');
  const header = stub.readUInt32LE(0x3c);
  if (header + 24 + 112 > stub.length || stub.toString('latin1', header, header + 4) !== 'PE\0\0') {
    throw invalid('it has no PE header');
  }
  const optional = header + 24;
  if (stub.readUInt16LE(optional) !== 0x20b) throw invalid('it is not a 64-bit program');
  const sections = stub.readUInt16LE(header + 6);
  const sectionTable = optional + stub.readUInt16LE(header + 20);
  if (sectionTable + sections * sectionHeaderSize > stub.length)
    throw invalid('its section table is truncated');
  let virtualEnd = 0;
  for (let index = 0; index < sections; index++) {
    const at = sectionTable + index * sectionHeaderSize;
    virtualEnd = Math.max(virtualEnd, stub.readUInt32LE(at + 12) + stub.readUInt32LE(at + 8));
  }
  return {
    header,
    optional,
    sectionTable,
    sections,
    sectionAlignment: Math.max(4096, stub.readUInt32LE(optional + 32)),
    fileAlignment: Math.max(512, stub.readUInt32LE(optional + 36)),
    headersSize: stub.readUInt32LE(optional + 60),
    virtualEnd,
  };
}

/** The EFI program. Throws `boot-files-invalid` when the stub is not one or has no room for sections. */
export function makeUki(input: UkiInput): Buffer {
  const stub = Buffer.from(input.stub);
  const layout = readLayout(stub);
  const added: [string, Uint8Array][] = [
    ['.osrel', input.osRelease],
    ['.cmdline', Buffer.from(input.cmdline)],
    ['.uname', Buffer.from(input.kernelVersion)],
    ['.initrd', input.initrd],
    ['.linux', input.kernel],
  ];
  const tableEnd = layout.sectionTable + (layout.sections + added.length) * sectionHeaderSize;
  if (tableEnd > layout.headersSize) throw invalid('its header has no room for more sections');

  const parts: Buffer[] = [stub];
  let fileEnd = stub.length;
  let virtualEnd = layout.virtualEnd;
  let dataSize = 0;
  for (const [index, [name, content]] of added.entries()) {
    const offset = alignUp(fileEnd, layout.fileAlignment);
    const rawSize = alignUp(content.length, layout.fileAlignment);
    const address = alignUp(virtualEnd, layout.sectionAlignment);
    const at = layout.sectionTable + (layout.sections + index) * sectionHeaderSize;
    stub.fill(0, at, at + sectionHeaderSize);
    stub.write(name, at, 'latin1');
    stub.writeUInt32LE(content.length, at + 8);
    stub.writeUInt32LE(address, at + 12);
    stub.writeUInt32LE(rawSize, at + 16);
    stub.writeUInt32LE(offset, at + 20);
    stub.writeUInt32LE(readableData, at + 36);
    parts.push(Buffer.alloc(offset - fileEnd), Buffer.from(content), Buffer.alloc(rawSize - content.length));
    fileEnd = offset + rawSize;
    virtualEnd = address + content.length;
    dataSize += rawSize;
  }
  stub.writeUInt16LE(layout.sections + added.length, layout.header + 6);
  stub.writeUInt32LE(stub.readUInt32LE(layout.optional + 8) + dataSize, layout.optional + 8);
  stub.writeUInt32LE(alignUp(virtualEnd, layout.sectionAlignment), layout.optional + 56);
  stub.writeUInt32LE(0, layout.optional + 64);
  return Buffer.concat(parts);
}

/** The sections of a unified kernel image by name, as it stores them. */
export function readUkiSections(uki: Buffer): Map<string, Buffer> {
  const layout = readLayout(uki);
  const sections = new Map<string, Buffer>();
  for (let index = 0; index < layout.sections; index++) {
    const at = layout.sectionTable + index * sectionHeaderSize;
    const name = uki.toString('latin1', at, at + 8).replace(/\0+$/, '');
    const size = Math.min(uki.readUInt32LE(at + 8), uki.readUInt32LE(at + 16));
    const offset = uki.readUInt32LE(at + 20);
    if (offset + size > uki.length) throw invalid(`its section ${name} is truncated`);
    sections.set(name, uki.subarray(offset, offset + size));
  }
  return sections;
}
