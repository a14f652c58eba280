// Looks into the file of a Windows update while it is locked: whether it is one, and of which KB. Older updates are
// cabinets, whose members name the KB; newer ones are WIM files, which do not say it in a place that is read here.
import { createHash } from 'node:crypto';
import { ImagoError } from '../../domain/error/imago-error.ts';

const maxHead = 1024 * 1024;
const maxMembers = 10_000;

export interface UpdateWish {
  readonly kb: string;
  /** What it may be called in messages. */
  readonly label: string;
  /** The address or path that it came from. */
  readonly source: string;
  readonly log: (line: string) => void;
}

/** Throws `patch-invalid` for what is not an update, or one of another KB. */
export async function checkUpdate(content: AsyncIterable<Uint8Array>, wish: UpdateWish): Promise<void> {
  const sha1 = createHash('sha1');
  const pieces: Uint8Array[] = [];
  let kept = 0;
  for await (const piece of content) {
    sha1.update(piece);
    if (kept >= maxHead) continue;
    pieces.push(piece);
    kept += piece.length;
  }
  const head = Buffer.concat(pieces);
  compareKb(head, wish);
  const named = /_([0-9a-f]{40})\.(?:msu|cab)$/i.exec(wish.source)?.[1]?.toLowerCase();
  if (named === undefined || named === sha1.digest('hex')) return;
  wish.log(`${wish.label}: its SHA-1 is not the one in its name, as happens in Microsoft's catalog.`);
}

function compareKb(head: Buffer, { kb, label, source, log }: UpdateWish): void {
  const kind = head.toString('latin1', 0, 5);
  if (kind === 'MSWIM') {
    const isNamed = source.toUpperCase().includes(kb.toUpperCase());
    log(
      `${label}: a WIM file; ${isNamed ? 'its name has the KB, and' : 'whether it is that KB is not known:'} its content was not compared.`,
    );
    return;
  }
  if (!kind.startsWith('MSCF')) {
    throw new ImagoError(
      'patch-invalid',
      `The file of ${label} is not an update: neither a cabinet nor a WIM.`,
    );
  }
  const found = new Set(
    cabinetNames(head).flatMap((name) => /KB\d{6,8}/i.exec(name)?.[0].toUpperCase() ?? []),
  );
  if (found.has(kb)) return;
  const other = [...found].join(', ') || 'none';
  throw new ImagoError('patch-invalid', `The file of ${label} is not of that KB: its members name ${other}.`);
}

/** The names of a cabinet's members. Throws `patch-invalid` for one that is truncated or damaged. */
function cabinetNames(head: Buffer): string[] {
  const damaged = () => new ImagoError('patch-invalid', 'The cabinet of an update is damaged.');
  if (head.length < 36) throw damaged();
  const count = head.readUInt16LE(28);
  if (count > maxMembers) throw damaged();
  const names: string[] = [];
  let at = head.readUInt32LE(16);
  for (let index = 0; index < count; index += 1) {
    const end = head.indexOf(0, at + 16);
    if (at + 16 > head.length || end < 0 || end - at > 300) throw damaged();
    names.push(head.toString('utf8', at + 16, end));
    at = end + 1;
  }
  return names;
}
